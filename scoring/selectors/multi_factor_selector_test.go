package selectors_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// fleet is a plan with a selector, and a pool in which each endpoint serves these models.
type fleet struct {
	plan  *scoring.Plan
	cycle *scoring.Cycle
	lease uint32
}

func newFleet(t testing.TB, decisions string, served ...[]string) *fleet {
	t.Helper()
	plan := plantest.FailingPlan(t, `{"plugins": [{"type": "multi-factor-selector", "parameters": {
		"decisions": [`+decisions+`]}}]}`, plantest.Neutral)
	endpoints := make([]scoring.Endpoint, len(served))
	for i, models := range served {
		endpoints[i].Models = models
	}
	pool := plantest.Pool(endpoints...)
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	return &fleet{plan: plan, cycle: plantest.Cycle(pool, 1)}
}

// finish has a request for a model end now, after a TTFT.
func (f *fleet) finish(model string, ttft time.Duration) {
	f.lease++
	f.cycle.Pool.State.Apply(&journal.Event{
		Kind: journal.Completion, Time: f.cycle.Request.Now, Instance: 1, Lease: f.lease,
		Model: journal.HashName(model), Status: 200,
		TTFTMicros: uint32(ttft.Microseconds()),
	})
}

// open has a request for a model begin now.
func (f *fleet) open(model string) {
	f.lease++
	f.cycle.Pool.State.Apply(&journal.Event{
		Kind: journal.Decision, Time: f.cycle.Request.Now, Instance: 1, Lease: f.lease, Model: journal.HashName(model),
	})
}

// pass lets time pass.
func (f *fleet) pass(d time.Duration) {
	f.cycle.Request.Now += int64(d)
	f.cycle.Pool.State.Expire(f.cycle.Request.Now)
}

// ask returns the model that a request for another becomes one for, or the code of its refusal.
func (f *fleet) ask(model string) string {
	f.cycle.Request.Model = model
	if _, failure := f.plan.Decide(f.cycle); failure != nil {
		return fmt.Sprint(failure.Status, " ", failure.Reason)
	}
	return f.cycle.Request.Model
}

func (f *fleet) wantModel(t *testing.T, when, model, want string) {
	t.Helper()
	if got := f.ask(model); got != want {
		t.Errorf("%s: a request for %s is one for %s, want %s", when, model, got, want)
	}
}

const (
	refs    = `"modelRefs": [{"model": "large", "quality_score": 0.9, "pricing": {"prompt_per_1m": 5}}, {"model": "small", "quality_score": 0.6, "pricing": {"prompt_per_1m": 0.5}}]`
	quality = `"weights": {"quality": 1, "latency": 0, "cost": 0, "load": 0}`
)

// decision is a decision over large and small.
func decision(name, policy string) string {
	return `{"name": "` + name + `", ` + refs + `, "algorithm": {"type": "multi_factor", "multi_factor": {` + policy +
		`}}}`
}

func TestDecisionsHaveTheirOwnPolicies(t *testing.T) {
	f := newFleet(t, decision("best", quality)+","+
		decision("cheap", `"weights": {"quality": 0, "latency": 0, "cost": 1, "load": 0}`)+","+
		decision("capped", quality+`, "slo": {"max_cost_per_1m": 1}`), []string{"large", "small", "other"})
	for range 3 {
		for model, want := range map[string]string{
			"best": "large", "cheap": "small", "capped": "small", "large": "large", "other": "other",
			"Best": "404 model_not_found",
		} {
			f.wantModel(t, "at rest", model, want)
		}
	}
}

func TestOnlyEndpointsOfTheModelAreCandidates(t *testing.T) {
	f := newFleet(t, decision("auto", quality), []string{"small"}, []string{"large"}, []string{"small", "large"}, nil)
	f.cycle.Request.Model = "auto"
	trace := plantest.Decide(f.plan, f.cycle)
	if got := strings.Join(trace.Candidates, " "); got != "b c d" {
		t.Errorf("candidates are %s, want b, c and d", got)
	}
	if s := trace.Selection; s == nil || s.Decision != "auto" || s.Model != "large" || s.Reason != "score" ||
		len(s.Models) != 2 {
		t.Errorf("the selection is %+v, want large for auto by score, of two", s)
	}
	f.cycle.Request.Model = "small"
	trace = plantest.Decide(f.plan, f.cycle)
	if got := strings.Join(trace.Candidates, " "); got != "a c d" || trace.Selection != nil {
		t.Errorf("after a selection, of another request: candidates are %s and the selection %v, want a, c, d and none",
			got, trace.Selection)
	}
}

func TestUnservedModels(t *testing.T) {
	tests := []struct {
		name   string
		served [][]string
		want   string
	}{
		{"all", [][]string{{"large"}, {"small"}}, "large"},
		{"one", [][]string{{"small"}, {"small"}}, "small"},
		{"none", [][]string{{"other"}, {"auto"}}, "503 no_model"},
		{"not known", [][]string{{"other"}, nil}, "large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, decision("auto", quality), tt.served...)
			f.wantModel(t, "at rest", "auto", tt.want)
		})
	}
}

// TestModelsOfASubset: a model that nobody serves of those that the request may go to is not considered.
func TestModelsOfASubset(t *testing.T) {
	for _, tt := range []struct {
		name, subset, failing, want, removed string // why large is
	}{
		{"all", "10.0.0.1,10.0.0.2,10.0.0.3", "", "large", ""},
		{"who serves both", "10.0.0.3", "", "large", ""},
		{"who serves the other one", "10.0.0.2:1", "", "small", "subset"},
		{"who serves neither", "10.0.0.4", "", "503 no_endpoints", ""},
		{"nobody", "10.0.0.9", "", "503 no_endpoints", ""},
		{"who fails, beside one outside", "10.0.0.1,10.0.0.2", "a", "small", "failing"},
		{"who fails alone", "10.0.0.1", "a", "large", ""},
		{"who fails alone, and all others", "10.0.0.2", "abc", "small", "subset"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, decision("auto", quality), []string{"large"}, []string{"small"},
				[]string{"small", "large"},
				[]string{"other"})
			for i := range f.cycle.Pool.Endpoints {
				f.cycle.Pool.Endpoints[i].Address = fmt.Sprintf("10.0.0.%d:8000", i+1)
			}
			f.cycle.Pool.Enter()
			plantest.FailThose(f.cycle.Pool, tt.failing)
			f.cycle.Request.Restricted, f.cycle.Request.Subset = true, tt.subset
			f.wantModel(t, "of "+tt.subset, "auto", tt.want)
			f.cycle.Request.Model = "auto"
			if got := plantest.Decide(f.plan, f.cycle).Selection.Models[0].Removed; got != tt.removed {
				t.Errorf("large is removed by %q, want %q", got, tt.removed)
			}
		})
	}
}

// TestFailingModels: a model whose endpoints all fail is not considered, unless that is so of all.
func TestFailingModels(t *testing.T) {
	for _, tt := range []struct{ name, failing, want string }{
		{"none", "", "large"}, {"one of two", "a", "large"}, {"both", "a b", "small"},
		{"the other model", "c", "large"},
		{"all", "a b c", "large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(t, decision("auto", quality), []string{"large"}, []string{"large"}, []string{"small"})
			for _, e := range f.cycle.Pool.Endpoints {
				for client := range uint64(8) {
					if strings.Contains(tt.failing, e.Name) {
						f.cycle.Pool.State.Apply(&journal.Event{Kind: journal.Completion, Time: plantest.Now,
							Status: 500, Primary: f.cycle.Pool.ID(&e), Client: 1 + client, Ended: journal.EndedWhole})
					}
				}
			}
			f.wantModel(t, "with "+tt.failing+" failing", "auto", tt.want)
		})
	}
}

func TestCeilingOfLatency(t *testing.T) {
	const window = 40 * time.Second
	for policy, fallback := range map[string]string{"cheapest": "small", "first": "large", "fail": "503 slo_exceeded"} {
		f := newFleet(t, decision("auto", quality+
			`, "slo": {"max_ttft_ms": 100}, "latency_window": "40s", "on_no_candidates": "`+policy+`"`), nil)
		f.wantModel(t, "without samples", "auto", "large")
		f.finish("large", 101*time.Millisecond)
		f.wantModel(t, "large is slow", "auto", "small")
		f.finish("small", time.Second)
		f.wantModel(t, policy+", both are slow", "auto", fallback)
		f.pass(window)
		f.wantModel(t, "the samples are old", "auto", "large")
		f.finish("large", 100*time.Millisecond)
		f.wantModel(t, "large is just not too slow", "auto", "large")
	}
}

func TestPercentileOfLatency(t *testing.T) {
	for policy, want := range map[string]string{`"latency_percentile": 50`: "large",
		`"latency_percentile": 100`: "small"} {
		f := newFleet(t, decision("auto", quality+`, "slo": {"max_ttft_ms": 100}, `+policy), nil)
		for i := range 10 {
			f.finish("large", time.Duration(i/9*1000+1)*time.Millisecond)
		}
		f.wantModel(t, policy, "auto", want)
	}
}

func TestRequestsInFlight(t *testing.T) {
	f := newFleet(t, decision("auto",
		`"weights": {"quality": 0, "latency": 0, "cost": 0, "load": 1}, "slo": {"max_inflight": 3}`), nil)
	f.wantModel(t, "at rest", "auto", "large")
	f.open("large")
	f.wantModel(t, "large is busy", "auto", "small")
	f.open("small")
	f.open("small")
	f.wantModel(t, "small is busier", "auto", "large")
	f.open("other")
	f.open("large")
	f.open("large")
	f.open("small")
	f.wantModel(t, "both are at the ceiling", "auto", "large")
	f.open("large")
	f.wantModel(t, "large is above it", "auto", "small")
	f.open("small")
	f.wantModel(t, "both are above it", "auto", "small")
	f.pass(10*time.Minute - time.Nanosecond)
	f.wantModel(t, "just not old", "auto", "small")
	f.pass(time.Nanosecond)
	f.wantModel(t, "all are old", "auto", "large")
}

func TestTooManyModels(t *testing.T) {
	list := ""
	for i := range state.MaxModels {
		list += fmt.Sprintf(`{"model": "m%d"},`, i)
	}
	config := `{"plugins": [{"type": "multi-factor-selector", "parameters": {"decisions": [{"modelRefs": [` + list +
		`{"model": "last"}]}]}}]}`
	got := plantest.Mistakes(config)
	want := fmt.Sprintf(
		`plugins[0](multi-factor-selector).parameters.decisions[0].modelRefs[%d].model: "last" is one model too many; decisions may name %d models in all`, state.MaxModels, state.MaxModels)
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// eight is a decision over eight models with all signals.
func eight(t testing.TB) *fleet {
	models, served := "", []string{}
	for i := range 8 {
		models += fmt.Sprintf(`,{"model": "model-%d", "quality_score": 0.%d, "pricing": {"prompt_per_1m": %d}}`, i, i+1,
			i)
		served = append(served, fmt.Sprint("model-", i))
	}
	f := newFleet(t, `{"modelRefs": [`+models[1:]+
		`], "algorithm": {"multi_factor": {"slo": {"max_ttft_ms": 500, "max_inflight": 100}}}}`, served, served, served,
		served)
	for i := range 1000 {
		f.open(served[i%7])
		f.finish(served[i%8], time.Duration(i)*time.Millisecond)
	}
	return f
}

func TestSelectionDoesNotAllocate(t *testing.T) {
	f := eight(t)
	if allocations := testing.AllocsPerRun(200,
		func() { f.cycle.Request.Model = "auto"; f.plan.Decide(f.cycle) }); allocations != 0 {
		t.Errorf("a decision allocates %v times, want 0", allocations)
	}
}

// BenchmarkDecide compares a decision for a virtual model of eight with one for a model that is not virtual.
func BenchmarkDecide(b *testing.B) {
	for _, model := range []string{"auto", "model-7"} {
		b.Run(model, func(b *testing.B) {
			f := eight(b)
			b.ReportAllocs()
			for b.Loop() {
				f.cycle.Request.Model = model
				if _, failure := f.plan.Decide(f.cycle); failure != nil {
					b.Fatal(failure)
				}
			}
		})
	}
}
