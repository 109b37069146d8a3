//go:build vllm && linux

package vllm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/pintle-dev/pintle/e2e/servers"
	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/kvevents"
)

// TestEvents listens to a real engine with a small cache: what the index says of a prompt is what the engine finds in
// its cache, with evictions, adapters, salts, a reset, a subscriber that comes late, and the engine's death.
func TestEvents(t *testing.T) {
	e := eventsEngine(t)
	e.post(t, "/reset_prefix_cache", "")
	l := servers.Listen(t, e.address, model)
	t.Run("salts and adapters", func(t *testing.T) { keptApart(t, e, l) })
	t.Run("evictions", func(t *testing.T) { predicts(t, e, l) })
	t.Run("a late subscriber", func(t *testing.T) {
		want := l.Entries()
		late := servers.Listen(t, e.address, model)
		late.Wait("all that is there", func() bool { return late.Entries() == want })
	})
	t.Run("a reset", func(t *testing.T) {
		e.post(t, "/reset_prefix_cache", "")
		asked := newPrompt(t, e, "reset", 300)
		asked.Send()
		l.Wait("the new blocks alone", func() bool {
			return l.Entries() == int64(len(asked.Tokens)/blockTokens)
		})
	})
	if e.cmd == nil {
		return
	}
	t.Run("a kill", func(t *testing.T) {
		e.kill()
		l.Wait("nothing to be left", func() bool { return l.Entries() == 0 })
	})
	t.Run("a publisher that connects", func(t *testing.T) { connects(t, e) })
}

// connects starts the engine again so that its publisher connects to where the sidecar listens. What the index says of
// prompts is what the engine finds, and once it is killed, nothing is left.
func connects(t *testing.T, e *engine) {
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	to := fmt.Sprintf("tcp://127.0.0.1:%d", ports[0])
	e.more = []string{"--num-gpu-blocks-override", strconv.Itoa(smallCache), "--kv-events-config",
		fmt.Sprintf(`{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":%q,"topic":"kv@%s@%s"}`, to,
			e.address, model)}
	if err := e.launch(); err != nil {
		t.Fatal(err)
	}
	if err := e.await(); err != nil {
		t.Fatal(err)
	}
	l := servers.ListenFor(t, e.address, model, kvevents.Config{ZMQEndpoint: to})
	predicts(t, e, l)
	l.Wait("its connection", l.Connected)
	e.kill()
	l.Wait("nothing to be left", func() bool { return l.Entries() == 0 })
}

// blockTokens is the size of a block on CPU.
const blockTokens = 128

// eventsEngine starts an engine that publishes events and has room for 120 blocks, or takes that of
// PINTLE_VLLM_EVENTS.
func eventsEngine(t *testing.T) *engine {
	t.Helper()
	if given := os.Getenv("PINTLE_VLLM_EVENTS"); given != "" {
		return &engine{name: "events", address: given}
	}
	e := newEventsEngine(t, "events", "--lora-modules", "adapter-1="+adapter(1))
	if err := e.await(); err != nil {
		t.Fatal(err)
	}
	return e
}

// smallCache is how many blocks an engine has that publishes events.
const smallCache = 120

// newEventsEngine starts an engine that publishes events, without waiting until it is ready.
func newEventsEngine(t *testing.T, name string, more ...string) *engine {
	t.Helper()
	ports, err := harness.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	logs, err := harness.SocketPath("vllm-")
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{name: name, address: "127.0.0.1:" + strconv.Itoa(ports[0]), log: logs + name + ".log"}
	e.more = append([]string{"--num-gpu-blocks-override", strconv.Itoa(smallCache),
		"--kv-events-config", fmt.Sprintf(`{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:%d",`+
			`"replay_endpoint":"tcp://127.0.0.1:%d","topic":"kv@%s@%s"}`, ports[1], ports[2], e.address, model)}, more...)
	if err := e.launch(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.stop)
	e.logOnFailure(t)
	return e
}

func newPrompt(t *testing.T, e *engine, head string, words int) *servers.Prompt {
	t.Helper()
	return servers.NewPrompt(t, e.url(""), model, servers.Words(head, words))
}

// keptApart: a prompt is cached for its salt and its adapter alone.
func keptApart(t *testing.T, e *engine, l *servers.Listening) {
	plain := newPrompt(t, e, "apart", 400)
	salted, adapted, both := *plain, *plain, *plain
	salted.Salt, adapted.Model = "tenant", "adapter-1"
	both.Salt, both.Model = "tenant", "adapter-1"
	all := []*servers.Prompt{plain, &salted, &adapted, &both}
	whole := len(plain.Tokens) / blockTokens * blockTokens
	for i, p := range all {
		for j, other := range all[i:] {
			if got := l.Knows(other); got != 0 {
				t.Errorf("before request %d: %d tokens of request %d are known", i, got, i+j)
			}
		}
		if cached := p.Send(); cached != 0 {
			t.Errorf("request %d: the engine had %d tokens", i, cached)
		}
		l.Wait("the prompt's blocks", func() bool { return l.Knows(p) == whole })
	}
}

// predicts sends prompts that share their beginnings, more than the cache holds, and holds what the index says of each
// before it is sent against what the engine finds.
func predicts(t *testing.T, e *engine, l *servers.Listening) {
	const requests = 120
	random := rand.New(rand.NewPCG(3, 5))
	right, hits, misses := 0, 0, 0
	for range requests {
		p := newPrompt(t, e, fmt.Sprint("group", random.IntN(12)), 200+100*random.IntN(6))
		l.Settle()
		known := l.Knows(p)
		cached := p.Send()
		if difference := known - cached; difference <= blockTokens && difference >= -blockTokens {
			right++
		}
		if cached > 0 {
			hits++
		} else {
			misses++
		}
	}
	t.Logf("%d of %d requests were predicted within one block; %d hits, %d misses", right, requests, hits, misses)
	if right < requests*95/100 || hits < 20 || misses < 20 {
		t.Errorf("want 95 %%, with hits and misses")
	}
}
