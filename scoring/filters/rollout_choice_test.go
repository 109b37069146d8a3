package filters_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestRolloutOfFailing: a revision whose servers of a role all fail serves nothing, unless that is so of every one, or
// the request names it. Then it serves without prefill, where that is what fails.
func TestRolloutOfFailing(t *testing.T) {
	plan := plantest.FailingPlan(t, rolloutConfig(gating), plantest.Neutral)
	for _, tc := range []struct{ name, failing, revision, want string }{
		{"none", "", "", "old,new"},
		{"the new prefill", "c", "", "old"},
		{"one of two old decodes", "e", "", "old,new"},
		{"both old decodes", "b e", "", "new"},
		{"prefill of either", "a c", "", "old without prefill,new without prefill"},
		{"all", "a b c d e", "", "old without prefill,new without prefill"},
		{"the new prefill of the revision that is named", "c", "new", "new without prefill"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pool := plantest.Pool(member("old", "prefill"), member("old", "decode"), member("new", "prefill"),
				member("new", "decode"), member("old", "decode"))
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			plantest.FailThose(pool, tc.failing)
			c, got := plantest.Cycle(pool, 1), map[string]bool{}
			c.Request.Headers = plantest.Headers(plan, map[string]string{"x-llm-d-disagg-revision": tc.revision})
			for range 60 {
				got[revisionOf(plan, c)] = true
			}
			want := strings.Split(tc.want, ",")
			if slices.Sort(want); !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
				t.Errorf("served by %v, want %v", slices.Sorted(maps.Keys(got)), want)
			}
		})
	}
}

// TestRolloutOfFailingInASubset: a revision whose servers of a role all fail serves where no other one may serve the
// request.
func TestRolloutOfFailingInASubset(t *testing.T) {
	plan := plantest.FailingPlan(t, rolloutConfig(gating), plantest.Neutral)
	pool := plantest.Pool(member("old", "prefill"), member("old", "decode"), member("new", "prefill"),
		member("new", "decode"))
	pool.State = state.New(plan.StateOptions())
	for i := range pool.Endpoints {
		if pool.Endpoints[i].Address = "10.0.0.1:8000"; i > 1 {
			pool.Endpoints[i].Address = "10.0.0.2:8000"
		}
	}
	pool.Enter()
	plantest.Fail(pool, &pool.Endpoints[2])
	c := plantest.Cycle(pool, 1)
	c.Request.Restricted, c.Request.Subset = true, "10.0.0.2"
	if got := revisionOf(plan, c); got != "new without prefill" {
		t.Errorf("served by %s, want new without prefill", got)
	}
}

// TestRolloutOfASubset: a request that may go to some servers alone goes to a revision that has one of them, as far as
// all its stages may.
func TestRolloutOfASubset(t *testing.T) {
	plan := rolloutPlan(t, gating)
	for _, tc := range []struct{ name, subset, want string }{
		{"all", "10.0.0.1,10.0.0.2,10.0.0.3", "new old"},
		{"a revision", "10.0.0.2", "new"},
		{"the other one", "10.0.0.1", "old"},
		{"one that lacks a role", "10.0.0.3", "503 no_endpoints"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pool := plantest.Pool(member("old", "prefill"), member("old", "decode"), member("new", "prefill"),
				member("new", "decode"), member("half", "decode"))
			for i := range pool.Endpoints {
				pool.Endpoints[i].Address = []string{"10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.3"}[i] +
					":8000"
			}
			pool.Enter()
			c, got := plantest.Cycle(pool, 1), map[string]bool{}
			c.Request.Restricted, c.Request.Subset = true, tc.subset
			for range 60 {
				got[revisionOf(plan, c)] = true
			}
			if served := strings.Join(slices.Sorted(maps.Keys(got)), " "); served != tc.want {
				t.Errorf("served by %s, want %s", served, tc.want)
			}
		})
	}
}

// answerHeaders are the headers of a response.
type answerHeaders map[string]string

func (h answerHeaders) SetHeader(name string, value []byte) { h[name] = string(value) }

// TestRevisionInTheAnswer: an answer says the revision that served, and the labels of further selectors, whichever way
// they select.
func TestRevisionInTheAnswer(t *testing.T) {
	const selectors = gating + `, "headerSelectors": [{"name": "s", "headerName": "X-Slice", "labelKey": "slice",
		"mode": "prefer"}, {"name": "t", "headerName": "X-Tier", "labelKey": "tier", "mode": "strict"}]`
	for _, tc := range []struct {
		name, parameters string
		served           scoring.Endpoint
		want             map[string]string
	}{
		{"the revision", gating, member("a", "decode"), map[string]string{"x-llm-d-disagg-revision": "a"}},
		{"without one", gating, plantest.Labelled("slice", "1"), nil},
		{"under another name", strings.Replace(gating, "}", `, "revisionHeaderName": "X-Own"}`, 1), member("a", "decode"),
			map[string]string{"x-own": "a"}},
		{"by another label", strings.Replace(gating, "}", `, "revisionLabelKey": "slice"}`, 1),
			plantest.Labelled("slice", "1"), map[string]string{"x-llm-d-disagg-revision": "1"}},
		{"further labels", selectors, plantest.Labelled("slice", "1", "tier", "2", set+"revision", "a"),
			map[string]string{"x-slice": "1", "x-tier": "2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := answerHeaders{}
			rolloutPlan(t, tc.parameters).Respond(&scoring.Outcome{Served: &tc.served}, got)
			if !maps.Equal(got, tc.want) {
				t.Errorf("the answer has %v, want %v", got, tc.want)
			}
		})
	}
}
