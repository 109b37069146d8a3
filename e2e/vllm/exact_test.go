//go:build vllm && linux

package vllm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestExactPrefixes: two real engines with small caches tell of them, sidecars follow, and real Envoys decide by that,
// once with requests that wait for the sidecar, and once without.
func TestExactPrefixes(t *testing.T) {
	useEngines(t, exactEngines(t))
	all := []*exact{startExact(t, "inline"), startExact(t, "background")}
	for _, x := range all {
		t.Run("further turns, "+x.mode, func(t *testing.T) { followsBlocks(t, x) })
	}
	for _, x := range all {
		t.Run("cached tokens, "+x.mode, func(t *testing.T) { predictsCached(t, x) })
	}
	t.Run("small caches", func(t *testing.T) { comparesHits(t, all) })
	t.Run("a kill", func(t *testing.T) { outlivesKill(t, all) })
}

// exactEngines starts two engines with small caches that publish events, or takes those of PINTLE_VLLM_EXACT.
func exactEngines(t *testing.T) []*engine {
	t.Helper()
	all, err := givenEngines("PINTLE_VLLM_EXACT")
	if err != nil {
		t.Fatal(err)
	}
	if all != nil {
		return all
	}
	began := time.Now()
	all = []*engine{newEventsEngine(t, engineName(0)), newEventsEngine(t, engineName(1))}
	if err := errors.Join(all[0].await(), all[1].await()); err != nil {
		t.Fatal(err)
	}
	t.Logf("two engines were ready after %v", time.Since(began).Round(time.Second))
	return all
}

// useEngines has all that goes by engines go by these until the test ends.
func useEngines(t *testing.T, these []*engine) {
	usual := engines
	engines = these
	t.Cleanup(func() { engines = usual })
}

// exact is an Envoy with its file as it is shipped, but for the scorer of prefixes, and its sidecar.
type exact struct {
	file
	sidecar
	mode     string
	accesses string // the file of the access log
}

func startExact(t *testing.T, mode string) *exact {
	t.Helper()
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	scorer := map[string]any{"type": "precise-prefix-cache-scorer", "name": "prefix-cache-scorer",
		"parameters": map[string]any{"mode": mode,
			"tokenProcessorConfig": map[string]any{"blockSize": blockTokens},
			"indexerConfig": map[string]any{"tokenizersPoolConfig": map[string]any{"modelName": model,
				"local": map[string]any{"modelTokenizerMap": map[string]any{
					model: filepath.Join(home(), "model", "base", "tokenizer.json")}}}}}}
	text, err := json.Marshal(scorer)
	if err != nil {
		t.Fatal(err)
	}
	document := filepath.Join(t.TempDir(), "document.yaml")
	if err := os.WriteFile(document, []byte(`{"config": {"plugins": [`+string(text)+`]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	prefix := "127.0.0.1:" + strconv.Itoa(ports[0])
	accesses := filepath.Join(t.TempDir(), "access.log")
	f := startEdited(t, "envoy.yaml", "path: /dev/stdout", "path: "+accesses,
		`{"type": "prefix-cache-scorer", "parameters": {"doubleEveryBlocks": 32}}`, string(text),
		// Engines and Envoys share the processors, so nothing is quick.
		`"hold": "pause",`, `"hold": "pause", "debug": true, "sidecar": {"prefixTimeout": "2s"},`,
		"port_value: 10003", "port_value: "+strconv.Itoa(ports[0]))
	s := startSidecarWith(t, settings{"prefix": map[string]any{"address": prefix}}, []string{"-plugins", document},
		fileToken, f.ingest)
	f.name += ", " + mode
	x := &exact{f, s, mode, accesses}
	x.wait(t, "both publishers", func() bool { return x.value(t, "pintle_kv_event_publisher_up") == 2 })
	return x
}

// value is the sum of a metric of the sidecar, 0 where there is none.
func (x *exact) value(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	p, err := x.metrics()
	if err != nil {
		t.Fatal(err)
	}
	sum, _ := p.Find(t, name, labels...)
	return sum
}

func (x *exact) entries(t *testing.T) float64 { return x.value(t, "pintle_kv_index_entries") }

func (x *exact) wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	harness.WaitFor(t, time.Minute, x.mode+": "+what, func() (bool, string) {
		return holds(), fmt.Sprintf("%v entries, %v publishers, %v changes untold", x.entries(t),
			x.value(t, "pintle_kv_event_publisher_up"), x.value(t, "pintle_prefix_untold"))
	})
}

// settled waits until the index has as much as is wanted, and Envoy was told of it.
func (x *exact) settled(t *testing.T, what string, enough func(entries float64) bool) {
	t.Helper()
	x.wait(t, what, func() bool { return enough(x.entries(t)) })
	time.Sleep(100 * time.Millisecond) // what is told is counted right after what is known
	x.wait(t, "Envoy to be told", func() bool { return x.value(t, "pintle_prefix_untold") == 0 })
}

func nothing(entries float64) bool { return entries == 0 }

// counted is what an engine counted of its cache, in tokens.
type counted struct{ looked, hits float64 }

func countersOf(t *testing.T, e *engine) counted {
	t.Helper()
	p := e.page(t, "/metrics")
	return counted{p.Sum(t, "vllm:prefix_cache_queries_total"), p.Sum(t, "vllm:prefix_cache_hits_total")}
}

// served sends a request and returns which engine looked it up in its cache, and what it found there, by the engines'
// own counters.
func (x *exact) served(t *testing.T, base, body string) (by int, c counted, answer harness.Answer) {
	t.Helper()
	var before, after [2]counted
	for i, e := range engines {
		before[i] = countersOf(t, e)
	}
	answer = harness.Send(t, harness.Client(t, false), harness.Request(t, http.MethodPost, base+chatPath, body, false))
	if answer.Status != http.StatusOK {
		t.Fatalf("got %d %s, want 200", answer.Status, answer.Body)
	}
	harness.WaitFor(t, 10*time.Second, "one engine to count the request", func() (bool, string) {
		for i, e := range engines {
			after[i] = countersOf(t, e)
		}
		return (after[0] == before[0]) != (after[1] == before[1]), fmt.Sprint(before, after)
	})
	if by = 0; after[0] == before[0] {
		by = 1
	}
	return by, counted{after[by].looked - before[by].looked, after[by].hits - before[by].hits}, answer
}

// resetEngines has all engines forget what they have, and say so: vLLM does with the next request that it works on, for
// which one of less than a block is enough.
func resetEngines(t *testing.T) {
	t.Helper()
	for _, e := range engines {
		e.post(t, "/reset_prefix_cache", "")
		before := countersOf(t, e)
		e.post(t, chatPath, chat(model, "hello", 1, false))
		harness.WaitFor(t, 10*time.Second, "the engine to count the request", func() (bool, string) {
			return countersOf(t, e) != before, fmt.Sprint(before)
		})
	}
}

// followsBlocks: turns of conversations go where the engines say that their blocks are, wherever the turns before them
// went through Envoy. Once caches are reset nothing is believed of them any more.
func followsBlocks(t *testing.T, x *exact) {
	for i, said := range talks(7)[:4] {
		x.forget(t)
		learnt := x.value(t, "pintle_prefix_prompts_total", "result", "learnt")
		there, _, _ := x.served(t, x.base, said[0])
		if x.mode == "background" {
			x.wait(t, "the prompt to be learnt",
				func() bool { return x.value(t, "pintle_prefix_prompts_total", "result", "learnt") > learnt })
		}
		x.forget(t)
		if i < 3 { // else it is the same engine again
			there = 1 - there
		}
		_, told, _ := x.served(t, engines[there].url(""), said[0])
		x.wantTurns(t, there, int(told.looked)/blockTokens, said[1:3])
		x.forget(t)
		_, _, answer := x.served(t, x.base, said[3])
		explained := answer.Header.Get("X-Pintle-Explain")
		for _, e := range engines {
			if !strings.Contains(explained, fmt.Sprintf(`%q,"prefix-cache-scorer",0]`, e.name)) {
				t.Errorf("conversation %d: after a reset engine %s is believed to have something: %s", i, e.name,
					explained)
			}
		}
	}
}

// forget resets the caches of all engines and waits until the index is empty.
func (x *exact) forget(t *testing.T) {
	t.Helper()
	resetEngines(t)
	x.settled(t, "nothing to be left", nothing)
}

// wantTurns sends turns of a conversation, of which an engine has so many blocks, and wants it to have them all and to
// find these blocks.
func (x *exact) wantTurns(t *testing.T, there, blocks int, said []string) {
	t.Helper()
	known := float64(blocks)
	x.settled(t, "the prompt's blocks", func(entries float64) bool { return entries >= known })
	for turn, body := range said {
		by, found, answer := x.served(t, x.base, body)
		// The last block may end with what the prompt does not share.
		if by != there || found.hits < (known-1)*blockTokens {
			t.Errorf("turn %d: engine %s had %v of %v tokens; want engine %s with %d blocks: %s", 1+turn,
				engines[by].name, found.hits, found.looked, engines[there].name, blocks,
				answer.Header.Get("X-Pintle-Explain"))
		}
		x.settled(t, "more blocks", func(entries float64) bool { return entries > known })
	}
}
