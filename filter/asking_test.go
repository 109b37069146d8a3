package main_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// failpointModule asks a cluster that a request's body names before it decides, see failpoint_on.go.
var failpointModule = sync.OnceValues(func() ([]byte, error) { return os.ReadFile("../bin/pintle-failpoint.wasm") })

func newAskingGateway(t *testing.T, m mode) *gateway {
	clock := wazerohost.NewClock(startTime)
	options := m.options(clock)
	options.Clusters = []string{"consult"}
	g := &gateway{t: t, mode: m, clock: clock, host: newHostOf(t, failpointModule, options)}
	g.start(1, m.configuration(byQueue, ""))
	g.publish(newPool(1, 0))
	return g
}

// asking is a body that has a cluster asked.
func asking(cluster string, size int) string {
	return `{"model":"m","prompt":"ask-the-cluster ` + cluster + `","user":"` + strings.Repeat("u", size) + `"}`
}

func TestAskingHoldsTheRequest(t *testing.T) {
	tests := []struct {
		name    string
		play    func(*wazerohost.HTTPCall)
		explain string
	}{
		{"an answer", func(c *wazerohost.HTTPCall) {
			c.Respond(wazerohost.Headers{{":status", "200"}}, []byte("go"), nil)
		}, "200 go"},
		{"an answer without a body",
			func(c *wazerohost.HTTPCall) { c.Respond(wazerohost.Headers{{":status", "204"}}, nil, nil) }, "204 "},
		{"too slow", (*wazerohost.HTTPCall).TimeOut, "504 upstream request timeout"},
		{"unreachable", (*wazerohost.HTTPCall).Unreachable, "503 upstream connect error"},
		{"reset", (*wazerohost.HTTPCall).Fail, "0 "},
	}
	eachMode(t, func(t *testing.T, m mode) {
		g := newAskingGateway(t, m)
		w := g.workers[0]
		for _, tc := range tests {
			for _, ending := range []string{"whole", "frames", "trailers"} {
				t.Run(tc.name+", "+ending, func(t *testing.T) {
					body := asking("consult", 100_000)
					s := w.requests.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false)
					sendEnding(s, body, ending)
					calls := w.Calls()
					if len(calls) != 1 || s.Sent() || s.Stuck() {
						t.Fatalf("got %d calls, sent %v, stuck %v, want 1 and a held request", len(calls), s.Sent(),
							s.Stuck())
					}
					if c := calls[0]; c.Cluster != "consult" || c.Headers.Get(":path") != "/first" ||
						string(c.Body) != body || c.TimeoutMillis != 300 {
						t.Errorf("call: got %s %v, %d bytes, %d ms", c.Cluster, c.Headers, len(c.Body), c.TimeoutMillis)
					}
					// Another request comes and goes meanwhile, through the same memory.
					other := w.askBody(`{"model":"m","prompt":"another"}`)
					g.wantRanked(other, address(1))
					other.Finish()
					tc.play(calls[0])
					g.wantRanked(s, address(1))
					if got := string(s.UpstreamBody()); got != body {
						t.Errorf("body upstream: got %d bytes, want the %d of the request", len(got), len(body))
					}
					s.Respond(wazerohost.Headers{{":status", "200"}}, false)
					if got := s.ResponseHeaders().Get("x-pintle-explain"); !strings.HasPrefix(got, tc.explain) {
						t.Errorf("answer: got %q, want %q", got, tc.explain)
					}
					s.Finish()
				})
			}
		}
	})
}

// sendEnding sends a body in one of the ways in which it can end.
func sendEnding(s *wazerohost.Stream, body, ending string) {
	switch ending {
	case "whole":
		s.Body([]byte(body), true)
	case "frames":
		s.Body([]byte(body[:10]), false)
		s.Body([]byte(body[10:]), false)
		s.Body(nil, true)
	default:
		s.Body([]byte(body), false)
		s.Trailers(wazerohost.Headers{{"x-checksum", "1"}})
	}
}

func TestAskingAgainAndRefusing(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newAskingGateway(t, m)
		w := g.workers[0]
		s := w.askBody(asking("consult", 10))
		w.Calls()[0].Respond(wazerohost.Headers{{":status", "202"}}, []byte("more?"), nil)
		calls := w.Calls()
		if len(calls) != 1 || calls[0].Headers.Get(":path") != "/again" || string(calls[0].Body) != "more?" ||
			s.Sent() {
			t.Fatalf("got calls %v, want another one", calls)
		}
		calls[0].Respond(wazerohost.Headers{{":status", "200"}}, []byte("go"), nil)
		g.wantRanked(s, address(1))
		s.Finish()
		refused := w.askBody(asking("consult", 10))
		w.Calls()[0].Respond(wazerohost.Headers{{":status", "403"}}, []byte("not you"), nil)
		if e := wantError(t, refused, 403, "consulted"); e.Error.Message != "not you" {
			t.Errorf("message: got %q, want what was answered", e.Error.Message)
		}
		g.wantRanked(w.ask(), address(1))
	})
}

func TestAskingAnUnknownCluster(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newAskingGateway(t, m)
		s := g.workers[0].askBody(asking("nobody", 10))
		g.wantRanked(s, address(1))
		s.Respond(wazerohost.Headers{{":status", "200"}}, false)
		if got := s.ResponseHeaders().Get("x-pintle-explain"); got != "0 " {
			t.Errorf("answer: got %q, want none", got)
		}
	})
}

// TestAbandoned has clients leave while something is asked for them. The answer comes to nobody, and the memory serves
// another stream.
func TestAbandoned(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newAskingGateway(t, m)
		w := g.workers[0]
		for i := range 20 {
			left := w.askBody(asking("consult", 10))
			call := w.Calls()[0]
			left.Abort()
			next := w.askBody(asking("consult", 10))
			call.Respond(wazerohost.Headers{{":status", "403"}}, []byte("too late"), nil)
			if next.Ended() || next.Sent() {
				t.Fatalf("round %d: the answer reached another request: %v", i, next)
			}
			w.Calls()[0].Respond(wazerohost.Headers{{":status", "200"}}, []byte(fmt.Sprint(i)), nil)
			g.wantRanked(next, address(1))
			next.Respond(wazerohost.Headers{{":status", "200"}}, false)
			if got, want := next.ResponseHeaders().Get("x-pintle-explain"), fmt.Sprint("200 ", i); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			next.Finish()
		}
		if err := w.Failed(); err != nil {
			t.Fatal(err)
		}
	})
}
