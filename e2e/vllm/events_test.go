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
	t.Run("salts and adapters", func(t *testing.T) {
		servers.KeptApart(t, l, newPrompt(t, e, "apart", 400), "adapter-1", blockTokens)
	})
	t.Run("evictions", func(t *testing.T) { predicts(t, e, l) })
	t.Run("a late subscriber", func(t *testing.T) {
		late := servers.Listen(t, e.address, model)
		late.Wait("all that is there", func() bool { return late.Entries() == l.Entries() })
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

// predicts has the index say of prompts what the engine finds in its cache.
func predicts(t *testing.T, e *engine, l *servers.Listening) {
	t.Helper()
	servers.Predicts(t, l, blockTokens, func(random *rand.Rand) *servers.Prompt {
		return newPrompt(t, e, fmt.Sprint("group", random.IntN(12)), 200+100*random.IntN(6))
	})
}
