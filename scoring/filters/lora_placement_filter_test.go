package filters_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// placing is a pool whose requests for adapters are placed.
type placing struct {
	plan  *scoring.Plan
	cycle *scoring.Cycle
	lease uint32
}

func newPlacing(t testing.TB, parameters string, pool *scoring.Pool) *placing {
	t.Helper()
	p := &placing{plan: plantest.Plan(t, `{"plugins": [{"type": "lora-placement-filter", "parameters": {`+parameters+
		`}}]}`, plantest.Neutral), cycle: plantest.Cycle(pool, 1)}
	pool.State = state.New(p.plan.StateOptions())
	pool.Enter()
	p.plan.Prepare(pool)
	return p
}

// ask has endpoints be asked for models, such as "a:x b:y", one every 10 ms, the last one 10 ms ago.
func (p *placing) ask(asked string) *placing {
	all := strings.Fields(asked)
	for i, one := range all {
		name, model, _ := strings.Cut(one, ":")
		p.lease++
		e := journal.Event{Kind: journal.Decision, Time: plantest.Now - int64(len(all)-i)*1e7, Instance: 1,
			Lease: p.lease, Primary: journal.EndpointID(name), Model: journal.HashName(model)}
		p.cycle.Pool.State.Apply(&e)
		e.Kind, e.Ended = journal.Completion, journal.EndedWhole
		p.cycle.Pool.State.Apply(&e)
	}
	return p
}

// kept is who is kept for a model, in the order of names.
func (p *placing) kept(model string) string {
	p.cycle.Request.Model = model
	names := plantest.Decide(p.plan, p.cycle).Candidates
	slices.Sort(names)
	return strings.Join(names, " ")
}

// sampled is an endpoint that lists models, so many requests of which run and that may have two adapters.
func sampled(running int, models ...string) scoring.Endpoint {
	e := plantest.Sampled(scoring.Metrics{RunningRequests: running, MaxLoRA: 2})
	e.Models = models
	return e
}

func three() *scoring.Pool {
	return plantest.Pool(sampled(0, "base", "x", "y", "z"), sampled(0, "base", "x", "y", "z"),
		sampled(0, "base", "x", "y", "z"))
}

// TestLoRAPlacement: an adapter is kept where it is loaded, as far as what endpoints were asked for tells, and goes
// else where least is given up for it.
func TestLoRAPlacement(t *testing.T) {
	for _, tc := range []struct{ name, parameters, asked, model, want string }{
		{"where it is", ``, "b:x", "x", "b"},
		{"wherever it is", ``, "b:x c:x", "x", "b c"},
		{"as the last one of two", ``, "b:x b:y", "x", "b"},
		{"not as the one before", ``, "a:y a:z b:x b:y b:z", "x", "c"},
		{"unless it was asked for again", ``, "b:x b:y b:x b:z", "x", "b"},
		{"a base model takes no place", ``, "b:x b:y b:base", "x", "b"},
		{"where most room is left", ``, "a:y c:y", "x", "b"},
		{"where some is left", ``, "a:y a:z b:y b:z c:y", "x", "c"},
		{"in the place of the oldest", ``, "a:y b:y b:z c:z c:y a:z", "x", "a"},
		{"which counts when it was asked for last", ``, "a:y b:y b:z c:z c:y a:z a:y", "x", "b"},
		{"a base model goes anywhere", ``, "b:x", "base", "a b c"},
		{"a further name of one, too", `"baseModels": ["y"]`, "b:y", "y", "a b c"},
		{"and takes no place", `"baseModels": ["y"]`, "b:x b:y b:z", "x", "b"},
		{"a request without a model goes anywhere", ``, "b:x", "", "a b c"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := newPlacing(t, tc.parameters, three()).ask(tc.asked).kept(tc.model); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestLoRAPlacementOfListedBases: where a server says which of its models are base models, none of them is placed.
func TestLoRAPlacementOfListedBases(t *testing.T) {
	pool := three()
	for i := range pool.Endpoints {
		pool.Endpoints[i].BaseModels = 2 // base and x
	}
	p := newPlacing(t, ``, pool).ask("b:x b:y b:z b:x b:x")
	for model, want := range map[string]string{"x": "a b c", "y": "b", "z": "b"} {
		if got := p.kept(model); got != want {
			t.Errorf("%s: got %q, want %q", model, got, want)
		}
	}
}

// TestLoRAPlacementOfEquals: adapters of which none is loaded anywhere are spread, by their names alone.
func TestLoRAPlacementOfEquals(t *testing.T) {
	at := map[string]bool{}
	for _, model := range []string{"x", "y", "z", "x1", "x2", "x3", "x4", "x5"} {
		pool := func() *scoring.Pool {
			return plantest.Pool(sampled(0, "base", model), sampled(0, "base", model), sampled(0, "base", model))
		}
		first, again := newPlacing(t, ``, pool()).kept(model), newPlacing(t, ``, pool()).kept(model)
		if len(first) != 1 || again != first {
			t.Errorf("%s: got %q, and then %q, want one and the same", model, first, again)
		}
		at[first] = true
	}
	if len(at) != 3 {
		t.Errorf("eight adapters went to %v, want some for each of a, b and c", at)
	}
}

// TestLoRAPlacementWhicheverIsCheapest: what an endpoint gives up counts before the order of an adapter's own.
func TestLoRAPlacementWhicheverIsCheapest(t *testing.T) {
	for want, asked := range map[string]string{"a": "b:y c:y b:z c:z", "b": "a:y c:y a:z c:z", "c": "a:y b:y a:z b:z"} {
		for _, model := range []string{"x", "x1", "x2", "x3", "x4", "x5", "x6", "x7"} {
			pool := plantest.Pool(sampled(0, "base", model), sampled(0, "base", model), sampled(0, "base", model))
			if got := newPlacing(t, ``, pool).ask(asked).kept(model); got != want {
				t.Errorf("%s: got %q, want %q, where there is room", model, got, want)
			}
		}
	}
}

// TestLoRAPlacementByMetrics: what runs is loaded, what waits will be, and neither gives up its place.
func TestLoRAPlacementByMetrics(t *testing.T) {
	const x, y, z = 0, 1, 2
	list := func(adapters ...uint16) []uint16 { return adapters }
	type lists struct{ running, waiting []uint16 }
	for _, tc := range []struct {
		name  string
		at    [3]lists
		asked string
		want  string
	}{
		{"it runs", [3]lists{{}, {list(x), nil}, {}}, "", "b"},
		{"it runs, though others were asked for last", [3]lists{{}, {list(x), nil}, {}}, "b:x b:y b:z", "b"},
		{"others run in its place", [3]lists{{list(y, z), nil}, {list(y, z), nil}, {}}, "b:x b:y b:z", "c"},
		{"others wait for its place", [3]lists{{list(y), list(z)}, {list(y), list(z)}, {}}, "b:x b:y b:z", "c"},
		{"one place is left", [3]lists{{list(y), list(z)}, {list(y), nil}, {list(z), list(y)}}, "", "b"},
		{"a place is left of one that is not in use", [3]lists{{list(y, z), nil}, {list(y), nil}, {list(z, y), nil}},
			"b:z b:y", "b"},
		{"it is loaded beside one that runs and waits", [3]lists{{}, {list(y), list(y)}, {}}, "b:x b:y", "b"},
		{"it is loaded, and a request for it waits", [3]lists{{}, {list(y), list(x)}, {}}, "b:x b:y", "b"},
		{"another one comes for the oldest place", [3]lists{{nil, list(z)}, {}, {list(y, z), nil}},
			"a:w b:w b:y a:y", "b"},
		{"another one comes for the free place", [3]lists{{nil, list(z)}, {list(y), nil}, {list(y, z), nil}},
			"a:w b:y", "b"},
		{"what waits is loaded", [3]lists{{nil, list(y)}, {list(y, z), nil}, {list(y, z), nil}}, "a:w a:y", "a"},
		{"it is loaded beside one that runs", [3]lists{{}, {list(y), nil}, {}}, "b:x b:y", "b"},
		{"none is left, and it waits", [3]lists{{list(y, z), nil}, {list(y, z), list(x)}, {list(y, z), nil}}, "", "b"},
		{"none is left", [3]lists{{list(y, z), nil}, {list(y, z), nil}, {list(y, z), nil}}, "", "a b c"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pool := three()
			pool.Adapters = []string{"x", "y", "z"}
			for i := range pool.Endpoints {
				m := &pool.Endpoints[i].Metrics
				m.RunningLoRA, m.WaitingLoRA = tc.at[i].running, tc.at[i].waiting
			}
			if got := newPlacing(t, ``, pool).ask(tc.asked).kept("x"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestLoRAPlacementSinceTheSample: an adapter that was asked for after the metrics were read may run, and keeps its
// place.
func TestLoRAPlacementSinceTheSample(t *testing.T) {
	pool := three()
	for i := range pool.Endpoints {
		pool.Endpoints[i].Metrics.SampledAt = plantest.Now - 45*int64(time.Millisecond)
	}
	if got := newPlacing(t, ``, pool).ask("c:y c:z b:y b:z a:y a:z").kept("x"); got != "c" {
		t.Errorf("got %q, want c, whose adapters were asked for before the sample", got)
	}
	if got := newPlacing(t, ``, pool).ask("c:y b:y b:z a:y a:z").kept("x"); got != "c" {
		t.Errorf("got %q, want c, where there is room", got)
	}
	pool.Adapters = []string{"x", "y"}
	pool.Endpoints[1].Metrics.WaitingLoRA, pool.Endpoints[1].Metrics.RunningLoRA = []uint16{0}, []uint16{1}
	if got := newPlacing(t, ``, pool).ask("a:y a:z c:y c:z").kept("x"); got != "b" {
		t.Errorf("got %q, want b, where it waits", got)
	}
}

// TestLoRAPlacementLoad: another endpoint loads an adapter where those that have it are too busy.
func TestLoRAPlacementLoad(t *testing.T) {
	for _, tc := range []struct {
		name, parameters, asked string
		running                 [3]int
		want                    string
	}{
		{"few requests are not too many", ``, "b:x", [3]int{0, 7, 0}, "b"},
		{"nor are twice as many as others have", ``, "b:x", [3]int{20, 40, 20}, "b"},
		{"it is too busy", ``, "b:x c:y", [3]int{0, 30, 5}, "a"},
		{"one of two is", ``, "b:x c:x", [3]int{0, 30, 5}, "c"},
		{"so is where there is room", `"loadFactor": 1.2`, "b:x a:y a:z", [3]int{5, 50, 50}, "a"},
		{"from fewer requests on", `"minRequests": 2`, "b:x c:y", [3]int{0, 2, 0}, "a"},
		{"not below the factor", `"loadFactor": 2.9`, "b:x", [3]int{0, 30, 5}, "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pool := three()
			for i := range pool.Endpoints {
				pool.Endpoints[i].Metrics.RunningRequests = tc.running[i]
			}
			got := newPlacing(t, tc.parameters, pool).ask(tc.asked).kept("x")
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestLoRAPlacementAllTaken: who has the adapter is kept, though too busy, where nobody else could load it.
func TestLoRAPlacementAllTaken(t *testing.T) {
	pool := three()
	pool.Adapters = []string{"x", "y", "z"}
	for i := range pool.Endpoints {
		pool.Endpoints[i].Metrics.RunningLoRA = []uint16{1, 2}
	}
	pool.Endpoints[1].Metrics.RunningLoRA, pool.Endpoints[1].Metrics.RunningRequests = []uint16{0, 1}, 100
	if got := newPlacing(t, ``, pool).kept("x"); got != "b" {
		t.Errorf("got %q, want b", got)
	}
}

// TestLoRAPlacementOfUnknown: without lists an adapter is what a metric names, and without metrics of adapters a server
// has as many as slots says.
func TestLoRAPlacementOfUnknown(t *testing.T) {
	unlisted := func(adapters ...string) *scoring.Pool {
		pool := plantest.Pool(plantest.Sampled(scoring.Metrics{}), plantest.Sampled(scoring.Metrics{}))
		pool.Adapters = adapters
		return pool
	}
	aged := func() *scoring.Pool {
		old := func(running ...uint16) scoring.Endpoint {
			return plantest.Aged(time.Hour, scoring.Metrics{RunningRequests: 99, RunningLoRA: running, MaxLoRA: 1})
		}
		pool := plantest.Pool(old(0), old())
		pool.Adapters = []string{"x"}
		return pool
	}
	for _, tc := range []struct {
		name, parameters, asked, want string
		pool                          *scoring.Pool
	}{
		{"nobody names it", ``, "a:x", "a b", unlisted()},
		{"a metric names it", ``, "a:x", "a", unlisted("y", "x")},
		{"of eight at once", ``, "a:x a:1 a:2 a:3 a:4 a:5 a:6 a:7 b:8", "a", unlisted("x")},
		{"not of nine", ``, "a:x a:1 a:2 a:3 a:4 a:5 a:6 a:7 a:8", "b", unlisted("x")},
		{"or of fewer", `"slots": 1`, "a:x a:y", "b", unlisted("x")},
		{"what old metrics say does not count", ``, "b:x", "b", aged()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := newPlacing(t, tc.parameters, tc.pool).ask(tc.asked).kept("x"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestLoRAPlacementAmongUnknown: a server that has not told how many adapters it can have has as many as another one,
// and not the most room.
func TestLoRAPlacementAmongUnknown(t *testing.T) {
	pool := three()
	pool.Endpoints[1].Metrics.MaxLoRA = 0
	if got := newPlacing(t, ``, pool).ask("b:y").kept("x"); got == "b" {
		t.Errorf("got b, want one of the others, which have more room")
	}
}

// TestLoRAPlacementMistakes: what is wrong is said by its key.
func TestLoRAPlacementMistakes(t *testing.T) {
	for _, tc := range []struct{ name, parameters, want string }{
		{"less than the mean", `"loadFactor": 0.9`, "loadFactor"},
		{"no requests", `"minRequests": 0`, "minRequests"},
		{"no slots", `"slots": 0`, "slots"},
		{"more than are remembered", `"slots": 65`, "slots"},
		{"no list", `"baseModels": "x"`, "baseModels"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plantest.Mistakes(`{"plugins": [{"type": "lora-placement-filter", "parameters": {` + tc.parameters + `}}]}`)
			if !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want it to name %s", got, tc.want)
			}
		})
	}
}
