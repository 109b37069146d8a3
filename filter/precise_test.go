package main_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
)

const precise = `{"plugins":[{"type":"precise-prefix-cache-scorer","parameters":{"speculativeIndexing":true,"indexerConfig":
	{"tokenizersPoolConfig":{"modelName":"m"}}}},{"type":"queue-scorer"},{"type":"max-score-picker"}],"schedulingProfiles":
	[{"name":"p","plugins":[{"pluginRef":"precise-prefix-cache-scorer","weight":2},{"pluginRef":"queue-scorer"},
	{"pluginRef":"max-score-picker"}]}]}`

func newPreciseGateway(t *testing.T, m mode, config string) *gateway {
	g := startPrecise(t, m, config, "")
	g.publish(newPool(1, 0, 2))
	return g
}

// startPrecise starts a gateway that can ask a sidecar, and has no snapshot.
func startPrecise(t *testing.T, m mode, config, extra string) *gateway {
	clock := wazerohost.NewClock(startTime)
	options := m.options(clock)
	options.Clusters = []string{"pintle-sidecar"}
	g := &gateway{t: t, mode: m, clock: clock, host: newHost(t, options)}
	g.start(1, m.configuration(config, `"debug":true,`+extra))
	return g
}

// matches is an answer of the sidecar: server 2 has ten blocks of twelve, server 0 has one. A lookup of 0 is one that
// it does not want to be told of.
func matches(lookup uint64) []byte {
	m := scoring.PreciseMatches{Tokens: 200, Blocks: 12, BlockTokens: 16, Lookup: lookup,
		Holders: []scoring.PreciseHolder{
			{ID: journal.HashName("gone"), Blocks: 1, Tokens: 16, Score: 1},
			{ID: journal.HashName(serverName(0)), Blocks: 1, Tokens: 16, Score: 1},
			{ID: journal.HashName(serverName(2)), Blocks: 10, Tokens: 160, Score: 9.6},
		}}
	return m.AppendTo(nil)
}

// TestPreciseDecides: a request waits for the sidecar and goes where its blocks are; without an answer in time it goes
// where the filter itself would send it.
func TestPreciseDecides(t *testing.T) {
	tests := []struct {
		name, state string
		play        func(*wazerohost.HTTPCall)
		want        int
		told        bool
	}{
		{"known", "known", func(c *wazerohost.HTTPCall) {
			c.Respond(wazerohost.Headers{{":status", "200"}}, matches(77), nil)
		}, 2, true},
		{"known, and not to be told of", "known", func(c *wazerohost.HTTPCall) {
			c.Respond(wazerohost.Headers{{":status", "200"}}, matches(0), nil)
		}, 2, false},
		{"no tokens", "none",
			func(c *wazerohost.HTTPCall) { c.Respond(wazerohost.Headers{{":status", "204"}}, nil, nil) }, 1, false},
		{"late", "late", (*wazerohost.HTTPCall).TimeOut, 1, false},
		{"unreachable", "failed", (*wazerohost.HTTPCall).Unreachable, 1, false},
		{"nonsense", "failed", func(c *wazerohost.HTTPCall) {
			c.Respond(wazerohost.Headers{{":status", "200"}}, matches(77)[:40], nil)
		}, 1, false},
	}
	eachMode(t, func(t *testing.T, m mode) {
		g := newPreciseGateway(t, m, precise)
		w := g.workers[0]
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				// Each of its own, so that what the filter itself learns is the same.
				body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"a question: %s"}]}`, tc.name)
				s := w.requests.Request(wazerohost.Headers{{":path", "/v1/chat/completions"}}, false)
				s.Body([]byte(body), true)
				calls := w.Calls()
				if len(calls) != 1 || s.Sent() {
					t.Fatalf("got %d calls, sent %v, want 1 and a held request", len(calls), s.Sent())
				}
				if c := calls[0]; c.Cluster != "pintle-sidecar" || c.Headers.Get(":path") != "/pintle/v1/prefix" ||
					c.Headers.Get("x-pintle-api") != "chat" || c.Headers.Get("authorization") != "Bearer "+token ||
					string(c.Body) != body || c.TimeoutMillis != 50 {
					t.Errorf("call: got %s %v, %q, %d ms", c.Cluster, c.Headers, c.Body, c.TimeoutMillis)
				}
				before := g.prefixCounters()
				tc.play(calls[0])
				g.wantRanked(s, address(tc.want))
				before[tc.state]++
				if got := g.prefixCounters(); !maps.Equal(got, before) {
					t.Errorf("pintle.prefix: got %v, want %v", got, before)
				}
				w.wantTick(t, tc.told)
				s.Respond(wazerohost.Headers{{":status", "200"}}, true)
				var e struct {
					Prefix struct {
						State          string
						Tokens, Blocks int
						Matched        [][]any
					}
				}
				_ = json.Unmarshal([]byte(s.ResponseHeaders().Get("x-pintle-explain")), &e)
				want := e
				want.Prefix.State, want.Prefix.Tokens, want.Prefix.Blocks, want.Prefix.Matched = tc.state, 0, 0, nil
				if tc.want == 2 {
					want.Prefix.Tokens, want.Prefix.Blocks = 200, 12
					want.Prefix.Matched = [][]any{{serverName(0), 1.0, 1.0}, {serverName(2), 10.0, 9.6}}
				}
				if !reflect.DeepEqual(e, want) {
					t.Errorf("explained %+v, want %+v", e, want)
				}
				s.Finish()
				w.Tick()
				w.wantTick(t, false)
				told := w.Calls()
				if !tc.told {
					if len(told) != 0 {
						t.Errorf("the sidecar is told something: %v", told)
					}
					return
				}
				routed := binary.LittleEndian.AppendUint64(nil, 77)
				routed = binary.LittleEndian.AppendUint64(routed, journal.HashName(serverName(2)))
				if len(told) != 1 || string(told[0].Body) != string(routed) ||
					told[0].Headers.Get(":path") != "/pintle/v1/prefix/routed" ||
					told[0].Headers.Get(":method") != "POST" {
					t.Fatalf("told %v, want where the request went", told)
				}
				told[0].Respond(wazerohost.Headers{{":status", "204"}}, nil, nil)
			})
		}
	})
}

// prefixCounters are those of what the sidecar has said of prompts.
func (g *gateway) prefixCounters() map[string]uint64 {
	all := map[string]uint64{}
	for _, state := range []string{"known", "none", "late", "failed"} {
		all[state], _ = g.host.Counter("pintle.prefix." + state)
	}
	return all
}

// wantTick wants the next tick at once where there is something to tell the sidecar, and else as at rest.
func (w *worker) wantTick(t *testing.T, atOnce bool) {
	t.Helper()
	want := 1000
	if atOnce {
		want = 1
	}
	if got := w.requests.TickMillis(); got != want {
		t.Errorf("got a tick every %d ms, want %d", got, want)
	}
}

// TestPreciseAsksAgain: a request that found no room to wait, and has to once the sidecar has answered, does not go
// where another one's blocks are.
func TestPreciseAsksAgain(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := startPrecise(t, m, precise, waits)
		w := g.workers[0]
		var all []*wazerohost.Stream
		for range 1024 {
			all = append(all, w.ask())
		}
		s := w.askBody(`{"model":"m","prompt":"the one of these"}`)
		all[0].Abort()
		answer := func(found []byte) {
			for _, c := range w.Calls() {
				if strings.Contains(string(c.Body), "the one of these") {
					c.Respond(wazerohost.Headers{{":status", "200"}}, found, nil)
				}
			}
		}
		answer(matches(0))
		if s.Sent() || s.Ended() {
			t.Fatalf("without a snapshot: got %v, want it to wait where there is room now", s)
		}
		g.publish(newPool(1, 0, 2))
		other := scoring.PreciseMatches{Tokens: 200, Blocks: 12, BlockTokens: 16,
			Holders: []scoring.PreciseHolder{{ID: journal.HashName(serverName(0)), Blocks: 10, Tokens: 160,
				Score: 9.6}}}
		next := w.askBody(`{"model":"m","prompt":"another than the one of these"}`)
		answer(other.AppendTo(nil))
		g.wantRanked(next, address(0))
		w.Tick()
		answer(matches(0))
		g.wantRanked(s, address(2))
	})
}

// TestPreciseAsksForPromptsAlone: what has no prompt that the sidecar can read is not asked for.
func TestPreciseAsksForPromptsAlone(t *testing.T) {
	m := modes[0]
	for _, tc := range []struct{ name, config, path, body string }{
		{"embeddings", precise, "/v1/embeddings", `{"model":"m","input":"a question of some length"}`},
		{"a prompt shorter than a block", precise, "/v1/completions", `{"prompt":1}`},
		{"a plan that does not ask", byQueue, "/v1/completions", `{"model":"m","prompt":"a question of some length"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newPreciseGateway(t, m, tc.config)
			s := g.workers[0].requests.Request(wazerohost.Headers{{":path", tc.path}}, false)
			s.Body([]byte(tc.body), true)
			if calls := g.workers[0].Calls(); len(calls) != 0 {
				t.Errorf("got %d calls, want none", len(calls))
			}
		})
	}
}
