package main_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestPreciseBackground: no request waits; the sidecar is handed what was decided on, one call at a time.
func TestPreciseBackground(t *testing.T) {
	config := strings.Replace(precise, `"speculativeIndexing":true`, `"mode":"background"`, 1)
	eachMode(t, func(t *testing.T, m mode) {
		g := newPreciseGateway(t, m, config)
		w := g.workers[0]
		text := strings.Repeat("a question of some length, ", 10)
		send := func(question string) {
			t.Helper()
			s := w.requests.Request(wazerohost.Headers{{":path", "/v1/chat/completions"}}, false)
			s.Body([]byte(question), true)
			if !s.Sent() {
				t.Fatal("the request waits")
			}
		}
		var questions []string
		for i := range 3 {
			questions = append(questions,
				fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"%d %s"}]}`, i, text))
		}
		wantHanded := func(call *wazerohost.HTTPCall, want ...string) {
			t.Helper()
			rest, p, got := call.Body, scoring.PrecisePrompt{}, []string(nil)
			for ok := true; len(rest) > 0; {
				if rest, ok = p.Read(rest); !ok || p.API != "chat" || p.Chain == 0 || len(p.Blocks) == 0 ||
					p.TextBytes < len(text) {
					t.Fatalf("got %+v, %v", p, ok)
				}
				got = append(got, string(p.Body))
			}
			if call.Headers.Get(":path") != "/pintle/v1/prefix/prompts" || call.Headers.Get(":method") != "POST" ||
				!reflect.DeepEqual(got, want) {
				t.Errorf("got %v, %q, want %q", call.Headers, got, want)
			}
		}
		send(questions[0])
		w.wantTick(t, true)
		send(questions[1])
		if calls := w.Calls(); len(calls) != 0 {
			t.Fatalf("got %d calls before the tick", len(calls))
		}
		w.Tick()
		w.wantTick(t, false)
		first := w.Calls()
		if len(first) != 1 {
			t.Fatalf("got %d calls, want one", len(first))
		}
		wantHanded(first[0], questions[:2]...)
		send(questions[2])
		w.wantTick(t, false)
		w.Tick()
		if again := w.Calls(); len(again) != 1 {
			t.Fatalf("got %d calls, want the open one", len(again))
		}
		first[0].TimeOut()
		w.wantTick(t, true)
		w.Tick()
		w.wantTick(t, false)
		second := w.Calls()
		if len(second) != 1 {
			t.Fatalf("got %d calls, want one", len(second))
		}
		wantHanded(second[0], questions[2])
		second[0].TimeOut()
		w.wantTick(t, false)
		if handed, _ := g.host.Counter("pintle.prefix.handed"); handed != 3 {
			t.Errorf("pintle.prefix.handed: got %d, want 3", handed)
		}
	})
}

// TestPreciseBackgroundAfterAWait: what was decided on in a tick, as it had waited, is handed over at once, too.
func TestPreciseBackgroundAfterAWait(t *testing.T) {
	m := modes[0]
	config := strings.Replace(precise, `"speculativeIndexing":true`, `"mode":"background"`, 1)
	g := startPrecise(t, m, config, waits)
	w := g.workers[0]
	s := w.askBody(fmt.Sprintf(`{"model":"m","prompt":%q}`, strings.Repeat("a question of some length, ", 10)))
	g.publish(newPool(0))
	for _, tick := range []struct {
		calls  int
		atOnce bool
	}{{0, true}, {1, false}} {
		w.Tick()
		g.wantRanked(s, address(0))
		if got := len(w.Calls()); got != tick.calls {
			t.Errorf("got %d calls, want %d", got, tick.calls)
		}
		w.wantTick(t, tick.atOnce)
	}
}

func serverName(i int) string { return fmt.Sprintf("default/vllm-%d", i) }

// TestPreciseBackgroundHandsPromptsAlone: the sidecar is handed what it can read and what the server was sent as the
// client said it, and no more at once than there is room for.
func TestPreciseBackgroundHandsPromptsAlone(t *testing.T) {
	config := strings.Replace(precise, `"speculativeIndexing":true`, `"mode":"background"`, 1)
	text := strings.Repeat("a question of some length, ", 10)
	long := strings.Repeat(text, 2<<20/len(text))
	for _, tc := range []struct {
		name, path, body string
		handed           int
	}{
		{"a completion", "/v1/completions", `{"model":"m","prompt":"` + text + `"}`, 1},
		{"a model of another name", "/v1/completions", `{"model":"alias","prompt":"` + text + `"}`, 0},
		{"another API", "/v1/messages", `{"model":"m","messages":[{"role":"user","content":"` + text + `"}]}`, 0},
		{"no text", "/v1/completions", `{"model":"m","prompt":""}`, 0},
		{"more than there is room for", "/v1/completions", `{"model":"m","prompt":"` + long + `"}`, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newPreciseGateway(t, modes[0], config)
			p := newPool(1, 0)
			p.Rewrites = []snapshot.Rewrite{{Models: []string{"alias"}, Targets: []snapshot.RewriteTarget{{Model: "m",
				Weight: 1}}}}
			g.publish(p)
			w := g.workers[0]
			s := w.requests.Request(wazerohost.Headers{{":path", tc.path}}, false)
			s.Body([]byte(tc.body), true)
			g.wantRanked(s, address(1))
			if w.Tick(); len(w.Calls()) != tc.handed {
				t.Errorf("the sidecar was handed %d prompts, want %d", len(w.Calls()), tc.handed)
			}
			for _, call := range w.Calls() {
				var p scoring.PrecisePrompt
				if _, ok := p.Read(call.Body); !ok || p.API != "completions" || string(p.Body) != tc.body {
					t.Errorf("got %+v, %v, want the completion", p, ok)
				}
			}
			skipped, _ := g.host.Counter("pintle.prefix.skipped")
			if want := len(tc.body) > 1<<20; skipped == 1 != want {
				t.Errorf("pintle.prefix.skipped: got %d, want it counted: %v", skipped, want)
			}
		})
	}
}
