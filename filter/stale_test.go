package main_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/snapshot"
)

// explanation is what x-pintle-explain holds.
type explanation struct {
	Picked      []string
	Scores      [][]any
	FilteredOut [][]any
	Mix         [][]any
	Selection   []any
	Predicted   [][]any
	Omitted     int
}

func explained(t testing.TB, s *wazerohost.Stream) explanation {
	t.Helper()
	var e explanation
	decoder := json.NewDecoder(strings.NewReader(s.ResponseHeaders().Get("x-pintle-explain")))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		t.Errorf("x-pintle-explain %q: %v", s.ResponseHeaders().Values("x-pintle-explain"), err)
	}
	return e
}

func TestStaleMetrics(t *testing.T) {
	all := []string{address(0), address(1), address(2)}
	tests := []struct {
		policy  string
		partly  []string // where requests go when the best endpoint's metrics are old
		wholly  []string // when all are
		unknown []string // when the best endpoint was never sampled
	}{
		{"neutral", []string{address(1)}, all, []string{address(1)}},
		{"exclude", []string{address(1)}, all, []string{address(1)}},
		{"last", []string{address(0)}, []string{address(0)}, []string{address(1)}},
	}
	eachMode(t, func(t *testing.T, m mode) {
		for _, tc := range tests {
			t.Run(tc.policy, func(t *testing.T) {
				g := newGateway(t, m, 2, m.configuration(byQueue, `"stale":{"after":"2s","policy":"`+tc.policy+`"},`))
				ask := func() *wazerohost.Stream { return g.workers[1].ask() }
				want := func(what string, want []string) {
					t.Helper()
					if got := g.distinct(40, ask); !slices.Equal(got, want) {
						t.Errorf("%s: got %q, want %q", what, got, want)
					}
				}
				g.publish(newPool(0, 5, 9))
				want("fresh", all[:1])
				g.clock.Advance(2 * time.Second)
				want("just fresh", all[:1])
				g.clock.Advance(time.Millisecond)
				want("stale", tc.wholly)
				g.clock.Advance(1000 * time.Hour)
				want("stale for long", tc.wholly)

				p := newPool(9, 0, 5)
				g.publish(p)
				want("recovered", all[1:2])
				p = newPool(0, 5, 9)
				p.Load.Endpoints[0].AgeMillis = 2001
				g.publish(p)
				want("one stale", tc.partly)
				p.Load.Endpoints[0] = snapshot.EndpointLoad{AgeMillis: snapshot.NoSample}
				g.publish(p)
				want("one never sampled", tc.unknown)
				p.Load.Endpoints[0].AgeMillis = 1999
				g.publish(p)
				want("just sampled", all[:1])
				g.clock.Advance(2 * time.Millisecond)
				want("aged since", tc.partly)
				g.publish(newPool(0, 5, 9))
				g.clock.Advance(-time.Hour)
				want("from before the clock was set back", tc.wholly)
			})
		}
	})
}

func TestUnjudgedRequestsPreferFreshServers(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	p := newPool(0, 0, 0)
	p.Load.Endpoints[1].AgeMillis = snapshot.NoSample
	g.publish(p)
	ask := func() *wazerohost.Stream { return g.workers[0].requests.Request(nil, true) }
	if got, want := g.distinct(40, ask), []string{address(0), address(2)}; !slices.Equal(got, want) {
		t.Errorf("endpoints: got %q, want the sampled ones %q", got, want)
	}
	g.clock.Advance(time.Minute)
	if got := g.distinct(60, ask); len(got) != 3 {
		t.Errorf("endpoints when all are stale: got %q, want all three", got)
	}
}

func TestExcludedAsStaleIsExplained(t *testing.T) {
	m := modes[2]
	g := newGateway(t, m, 1, m.configuration(byQueue, `"debug":true,"stale":{"policy":"exclude"},`))
	p := newPool(0, 5, 9)
	p.Load.Endpoints[0].AgeMillis = 60_000
	g.publish(p)
	s := g.workers[0].ask()
	s.Finish()
	e := explained(t, s)
	if want := []any{"default", "default/vllm-0", "stale"}; len(e.FilteredOut) != 1 ||
		!slices.Equal(e.FilteredOut[0], want) {
		t.Errorf("filtered out: got %v, want %v", e.FilteredOut, want)
	}
}

// TestTickTellsTransitions: every plug-in of every worker says once that snapshots stopped, and once that they came
// again.
func TestTickTellsTransitions(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 2, m.configuration(byQueue, `"stale":{"after":"3s"},`))
	ticks := func(n int) {
		for range n {
			for _, w := range g.workers {
				w.Tick()
			}
		}
	}
	want := func(when string, gone, back int) {
		t.Helper()
		counts := [2]int{}
		for _, line := range g.host.Logs(wazerohost.Info) {
			if strings.Contains(line.Text, "no snapshot for longer") {
				counts[0]++
			}
			if strings.Contains(line.Text, "coming again") {
				counts[1]++
			}
		}
		if counts != [2]int{gone, back} {
			t.Errorf("%s: got %d lines of snapshots gone and %d of snapshots back, want %d and %d", when, counts[0],
				counts[1], gone, back)
		}
	}
	const plugins = 4 // two on each worker
	g.clock.Advance(time.Hour)
	ticks(3)
	want("before the first snapshot", 0, 0)
	g.publish(newPool(1))
	ticks(3)
	g.clock.Advance(3 * time.Second)
	ticks(3)
	want("at the limit", 0, 0)
	g.clock.Advance(time.Millisecond)
	ticks(3)
	want("over the limit", plugins, 0)
	g.clock.Advance(time.Hour)
	ticks(3)
	want("long over the limit", plugins, 0)
	g.clock.Advance(-2 * time.Hour)
	ticks(3)
	want("the clock was set back", plugins, 0)
	g.clock.Advance(2 * time.Hour)
	ticks(3)
	want("and is right again", plugins, 0)
	g.publish(newPool(1))
	ticks(3)
	want("back", plugins, plugins)
	g.clock.Advance(4 * time.Second)
	ticks(2)
	want("over the limit again", 2*plugins, plugins)
	if got := g.workers[0].requests.TickMillis(); got != 1000 {
		t.Errorf("period: got %d ms, want 1000", got)
	}
}

func TestExplainHeader(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(disaggregated, `"debug":true,`))
		p := disaggregatedPool()
		p.Topology.Endpoints[0].Name = "odd \"name\"\n\\é\x01"
		g.publish(p)
		s := g.workers[0].ask()
		s.Respond(wazerohost.Headers{{"x-pintle-explain", "forged"}}, true)
		if got := s.ResponseHeaders().Values("x-pintle-explain"); len(got) != 1 {
			t.Fatalf("x-pintle-explain: got %q, want one", got)
		}
		e := explained(t, s)
		if !slices.Equal(e.Picked, []string{"default/vllm-1"}) || e.Omitted != 0 {
			t.Errorf("picked: got %q and %d omitted, want default/vllm-1 and none", e.Picked, e.Omitted)
		}
		has := func(list [][]any, want ...any) {
			t.Helper()
			if !slices.ContainsFunc(list, func(got []any) bool { return slices.Equal(got, want) }) {
				t.Errorf("explanation: got %v, want %v among them", list, want)
			}
		}
		has(e.Scores, "decode", "default/vllm-1", "queue-scorer", 1.0)
		has(e.Scores, "decode", p.Topology.Endpoints[0].Name, "queue-scorer", 0.0)
		has(e.Scores, "prefill", "default/vllm-3", "queue-scorer", 1.0)
		has(e.FilteredOut, "decode", "default/vllm-4", "decodes")
		has(e.FilteredOut, "prefill", "default/vllm-1", "prefills")

		g.publish(newPool(0, 1))
		refused := g.workers[0].ask()
		wantError(t, refused, 503, "filtered_out")
		e = explained(t, refused)
		if len(e.Picked) != 0 || len(e.FilteredOut) != 2 {
			t.Errorf("a refused decision: got %+v, want nothing picked and two filtered out", e)
		}
		for _, s := range []*wazerohost.Stream{g.workers[0].requests.Request(nil, true), g.workers[0].askBody("{}")} {
			s.Finish()
			if s.ResponseHeaders().Has("x-pintle-explain") {
				t.Errorf("a request without a decision: got %q, want none", s.ResponseHeaders().Get("x-pintle-explain"))
			}
		}
	})
}

// TestAllThatArePickedAreExplained: in their order.
func TestAllThatArePickedAreExplained(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(sticky, `"debug":true,`))
	g.publish(newPool(5, 0, 9))
	s := g.workers[0].ask()
	s.Finish()
	if got, want := explained(t, s).Picked, []string{serverName(1), serverName(0)}; !slices.Equal(got, want) {
		t.Errorf("picked: got %q, want %q", got, want)
	}
}

func TestExplainHeaderIsBounded(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, `"debug":true,`))
	p := newPool(make([]uint32, 1000)...)
	p.Load.Endpoints[999].WaitingRequests = 1
	g.publish(p)
	s := g.workers[0].ask()
	s.Finish()
	if e := explained(t, s); len(e.Scores) != 64 || e.Omitted != 936 || len(e.Picked) != 1 {
		t.Errorf("1,000 endpoints: got %d scores, %d omitted, %d picked, want 64, 936, 1", len(e.Scores), e.Omitted,
			len(e.Picked))
	}
}

func TestNothingIsExplainedWithoutDebug(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		g.publish(newPool(1))
		s := g.workers[0].ask()
		s.Finish()
		if s.ResponseHeaders().Has("x-pintle-explain") {
			t.Errorf("got %v, want no x-pintle-explain", s.ResponseHeaders())
		}
	})
}
