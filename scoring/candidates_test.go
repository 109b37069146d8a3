package scoring_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

func TestStalePolicies(t *testing.T) {
	fresh, stale, never := plantest.Sampled(scoring.Metrics{}), plantest.Aged(3*time.Second, scoring.Metrics{}),
		scoring.Endpoint{}
	tests := []struct {
		name   string
		policy scoring.StalePolicy
		pool   []scoring.Endpoint
		want   []string
	}{
		{"neutral keeps all", scoring.StaleNeutral, []scoring.Endpoint{stale, fresh, never}, []string{"a", "b", "c"}},
		{"last keeps all", scoring.StaleLast, []scoring.Endpoint{stale, fresh, never}, []string{"a", "b", "c"}},
		{"exclude keeps the fresh", scoring.StaleExclude, []scoring.Endpoint{stale, fresh, never, fresh},
			[]string{"b", "d"}},
		{"exclude keeps those from before the clock was set back a little", scoring.StaleExclude,
			[]scoring.Endpoint{plantest.Aged(-2*time.Second, scoring.Metrics{}),
				plantest.Aged(-2*time.Second-1, scoring.Metrics{}), fresh}, []string{"a", "c"}},
		{"exclude keeps those that are as old as may be", scoring.StaleExclude,
			[]scoring.Endpoint{plantest.Aged(2*time.Second, scoring.Metrics{}),
				plantest.Aged(2*time.Second+1, scoring.Metrics{}), fresh}, []string{"a", "c"}},
		{"exclude keeps all when none is fresh", scoring.StaleExclude, []scoring.Endpoint{stale, never},
			[]string{"a", "b"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{}`, scoring.Staleness{After: 2 * time.Second, Policy: test.policy})
			trace := plantest.Decide(plan, plantest.Cycle(plantest.Pool(test.pool...), 1))
			if !slices.Equal(trace.Candidates, test.want) {
				t.Errorf("candidates %q, want %q", trace.Candidates, test.want)
			}
			if _, failure := plan.Decide(plantest.Cycle(plantest.Pool(test.pool...), 1)); failure != nil {
				t.Errorf("without a trace: %v", failure.Message)
			}
			for name, by := range trace.Removed {
				if by != "stale" {
					t.Errorf("%s was removed by %q, want stale", name, by)
				}
			}
		})
	}
}

// TestModels: an endpoint that lists models gets requests for no others, one that lists none gets all.
func TestModels(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "untouched"}]}`, plantest.Neutral, testPlugins...)
	lists := [][]string{{"m", "k"}, {"k"}, nil, {"l", "m", "m"}, {}}
	tests := []struct{ name, model, want string }{
		{"several", "m", "a c d e"},
		{"one", "l", "c d e"},
		{"nobody's", "x", "c e"},
		{"none named", "", "a b c d e"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			endpoints := make([]scoring.Endpoint, len(lists))
			for i := range lists {
				endpoints[i].Models = lists[i]
			}
			c := plantest.Cycle(plantest.Pool(endpoints...), 1)
			c.Request.Model = tc.model
			trace := plantest.Decide(plan, c)
			if got := strings.Join(trace.Candidates, " "); got != tc.want {
				t.Errorf("candidates are %s, want %s", got, tc.want)
			}
		})
	}
}

// TestModelOfTheFirst: a model is served where the first endpoint takes all models, whatever those behind it list.
func TestModelOfTheFirst(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "untouched"}]}`, plantest.Neutral, testPlugins...)
	c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}, scoring.Endpoint{Models: []string{"k"}}), 1)
	c.Request.Model = "m"
	if trace := plantest.Decide(plan, c); !slices.Equal(trace.Candidates, []string{"a"}) {
		t.Errorf("candidates are %v, %v; want a", trace.Candidates, trace.Failure)
	}
}

// TestModelThatNobodyServes: who asks for it is told which one it is, in bounds.
func TestModelThatNobodyServes(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "untouched"}]}`, plantest.Neutral, testPlugins...)
	tests := []struct{ name, model, want string }{
		{"a name", "x", `the model "x"`},
		{"quotes and line feeds", "a\"\n", `the model "a\"\n"`},
		{"as long as may be", strings.Repeat("n", 100), `the model "` + strings.Repeat("n", 100) + `"`},
		{"longer", strings.Repeat("n", 101), `the model "` + strings.Repeat("n", 100) + `"...`},
		{"cut within a letter", strings.Repeat("漢", 40), `the model "` + strings.Repeat("漢", 33) + `"...`},
		{"rewritten", "old", `the model "new", to which "old" is rewritten`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			pool := plantest.Pool(scoring.Endpoint{Models: []string{"m"}})
			pool.Rewrites = []scoring.Rewrite{
				{Models: []string{"old"}, Targets: []scoring.RewriteTarget{{Model: "new", Weight: 1}}}}
			c := plantest.Cycle(pool, 1)
			c.Request.Model = tc.model
			got := plantest.Decide(plan, c).Failure
			if got == nil || got.Status != 404 || got.Reason != scoring.ModelNotFound {
				t.Fatalf("got %+v, want 404 %s", got, scoring.ModelNotFound)
			}
			if want := "no model server serves " + tc.want; got.Message != want {
				t.Errorf("got %s, want %s", got.Message, want)
			}
		})
	}
}

// TestModelsOfManyEndpoints: who serves a model is what a search through every list says.
func TestModelsOfManyEndpoints(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "untouched"}]}`, plantest.Neutral, testPlugins...)
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		endpoints := make([]scoring.Endpoint, 1+r.IntN(40))
		for i := range endpoints {
			for range r.IntN(6) {
				endpoints[i].Models = append(endpoints[i].Models, fmt.Sprint("m", r.IntN(12)))
			}
		}
		c := plantest.Cycle(plantest.Pool(endpoints...), 1)
		c.Request.Model = fmt.Sprint("m", r.IntN(12))
		var want []string
		for _, e := range endpoints {
			if len(e.Models) == 0 || slices.Contains(e.Models, c.Request.Model) {
				want = append(want, e.Name)
			}
		}
		if trace := plantest.Decide(plan, c); !slices.Equal(trace.Candidates, want) {
			t.Fatalf("%s: candidates are %v, want %v", c.Request.Model, trace.Candidates, want)
		}
	}
}

// TestFailing: endpoints that fail too often are no candidates, wherever they stand, unless all that a filter leaves
// do.
func TestFailing(t *testing.T) {
	tests := []struct{ name, failing, want string }{
		{"none", "", "a b c d"},
		{"the first", "a", "b c d"},
		{"the last", "d", "a b c"},
		{"the two between", "b c", "a d"},
		{"all but one", "a b c", "d"},
		{"all", "a b c d", "a b c d"},
		{"all that the filter leaves, and more", "a b c d e", "a b c d"},
	}
	plan := plantest.FailingPlan(t, `{"plugins": [{"type": "by-label", "parameters": {"label": "kept", "validValues": ["yes"]}},
		{"type": "queue-scorer"}]}`, plantest.Neutral)
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			kept := plantest.Labelled("kept", "yes")
			pool := plantest.Pool(kept, kept, kept, kept, scoring.Endpoint{})
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			for i := range pool.Endpoints {
				if e := &pool.Endpoints[i]; strings.Contains(tc.failing, e.Name) {
					plantest.Fail(pool, e)
				}
			}
			trace := plantest.Decide(plan, plantest.Cycle(pool, 1))
			if got := strings.Join(trace.Candidates, " "); got != tc.want {
				t.Errorf("candidates are %s, want %s", got, tc.want)
			}
			for _, e := range pool.Endpoints[:4] {
				want := ""
				if !strings.Contains(tc.want, e.Name) {
					want = "failing"
				}
				if got := trace.Removed[e.Name]; got != want {
					t.Errorf("%s is removed by %q, want %q", e.Name, got, want)
				}
			}
			if _, failure := plan.Decide(plantest.Cycle(pool, 1)); failure != nil {
				t.Errorf("without a trace: %v", failure.Message)
			}
		})
	}
}

// confirming refuses what it is asked, unless it has no failure.
type confirming struct{ failure *scoring.Failure }

func (x confirming) Confirm(*scoring.Cycle) *scoring.Failure { return x.failure }

// TestConfirmers: a routed request is served if all confirmers say so, and one that no model computes anything for
// whatever they say.
func TestConfirmers(t *testing.T) {
	refusal := &scoring.Failure{Status: 429, Reason: "confirmed_not"}
	plan := plantest.Plan(t, `{"plugins": [{"type": "agrees"}, {"type": "refuses"}, {"type": "queue-scorer"}]}`,
		plantest.Neutral,
		scoring.Registration{Type: "agrees", New: func(*scoring.Builder) scoring.Plugin { return confirming{} }},
		scoring.Registration{Type: "refuses",
			New: func(*scoring.Builder) scoring.Plugin { return confirming{refusal} }})
	for _, unjudged := range []bool{false, true} {
		c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1)
		c.Request.Unjudged = unjudged
		endpoints, failure := plan.Decide(c)
		if served := failure == nil && len(endpoints) == 1; served != unjudged || !served && failure != refusal {
			t.Errorf("unjudged %v: endpoints %v, failure %v; want a refusal by the second confirmer unless unjudged",
				unjudged, endpoints, failure)
		}
	}
}
