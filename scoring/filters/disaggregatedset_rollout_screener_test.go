package filters_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

const set = "disaggregatedset.x-k8s.io/"

// member is an endpoint of a revision and a role.
func member(revision, role string) scoring.Endpoint {
	return plantest.Labelled(set+"name", "s", set+"revision", revision, set+"role", role, "llm-d.ai/role", role)
}

// rolloutConfig screens before a prefill and a decode profile.
func rolloutConfig(parameters string) string {
	return `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "disaggregatedset-rollout-screener",
		"parameters": {"scope": {"labelSelector": "` + set + `name=s"}, ` + parameters + `}},
		{"type": "always-disagg-pd-decider"}, {"type": "disagg-profile-handler",
			"parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
		{"type": "prefill-filter"}, {"type": "decode-filter"}, {"type": "random-picker"}], "schedulingProfiles": [
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}, {"pluginRef": "random-picker"}]},
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}, {"pluginRef": "random-picker"}]}]}`
}

func rolloutPlan(t testing.TB, parameters string) *scoring.Plan {
	t.Helper()
	return plantest.Plan(t, rolloutConfig(parameters), plantest.Neutral)
}

// members are so many endpoints.
func members(revision, role string, n int) (all []scoring.Endpoint) {
	for range n {
		all = append(all, member(revision, role))
	}
	return all
}

const gating = `"revisionGating": {"mode": "max-role", "requiredRoles": ["prefill", "decode"]}`

// revisionOf is the revision that serves the next request, and whether all its stages are of it.
func revisionOf(plan *scoring.Plan, c *scoring.Cycle) string {
	c.Request.Body = &openai.Request{API: openai.APICompletions}
	picked, failure := plan.Decide(c)
	if failure != nil {
		return fmt.Sprint(failure.Status, " ", failure.Reason)
	}
	revision, _ := picked[0].Label(set + "revision")
	if prefill := c.Prefill(); prefill == nil {
		return revision + " without prefill"
	} else if other, _ := prefill.Label(set + "revision"); other != revision {
		return revision + " after " + other
	}
	return revision
}

// TestRolloutShares: of 10,000 requests each revision gets a share by how many endpoints it has, all stages in one.
func TestRolloutShares(t *testing.T) {
	large := slices.Concat(members("a", "prefill", 2), members("a", "decode", 9), members("b", "prefill", 1),
		members("b", "decode", 1))
	whole := `"requiredRoles": ["prefill", "decode"]`
	for _, tc := range []struct {
		name, mode, roles string
		pool              []scoring.Endpoint
		want              map[string]float64
	}{
		{"the role that is most frequent", "max-role", whole, large, map[string]float64{"a": 9. / 10, "b": 1. / 10}},
		{"all roles", "sum", whole, large, map[string]float64{"a": 11. / 13, "b": 2. / 13}},
		{"as 0.10 lists roles", "sum", `"requireRoles": {"values": ["prefill", "decode"]}`, large,
			map[string]float64{"a": 11. / 13, "b": 2. / 13}},
		{"one that lacks a role", "sum", whole, slices.Concat(members("a", "prefill", 1), members("a", "decode", 1),
			members("b", "decode", 9)), map[string]float64{"a": 1}},
		{"the role that is most frequent in those that are whole", "max-role", whole, slices.Concat(
			members("a", "prefill", 3), members("a", "decode", 1), members("b", "prefill", 1),
			members("b", "decode", 2), members("c", "decode", 9)), map[string]float64{"a": 3. / 4, "b": 1. / 4}},
		{"equally frequent roles", "max-role", whole, slices.Concat(members("a", "prefill", 3),
			members("a", "decode", 1), members("b", "prefill", 1), members("b", "decode", 3)),
			map[string]float64{"a": 3. / 4, "b": 1. / 4}},
		{"none is whole", "sum", whole, slices.Concat(members("a", "prefill", 1), members("b", "decode", 1)),
			map[string]float64{"503 no_endpoints": 1}},
		{"out of the scope", "sum", whole, append([]scoring.Endpoint{plantest.Labelled(set+"revision", "b", set+"role",
			"prefill", "llm-d.ai/role", "prefill")}, slices.Concat(members("a", "prefill", 1),
			members("a", "decode", 1), members("b", "decode", 1))...), map[string]float64{"a": 1}},
		{"without a revision", "sum", whole, append([]scoring.Endpoint{plantest.Labelled("llm-d.ai/role", "decode")},
			slices.Concat(members("a", "prefill", 1), members("a", "decode", 1))...), map[string]float64{"a": 1}},
		{"without a revision, but with all roles", "sum", whole, slices.Concat(members("", "prefill", 9),
			members("", "decode", 9), members("a", "prefill", 1), members("a", "decode", 1)),
			map[string]float64{"a": 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := rolloutPlan(t, `"revisionGating": {"mode": "`+tc.mode+`", `+tc.roles+`}`)
			c := plantest.Cycle(plantest.Pool(tc.pool...), 1)
			const requests = 10_000
			got := map[string]float64{}
			for range requests {
				got[revisionOf(plan, c)] += 1. / requests
			}
			for revision, share := range got {
				if want := tc.want[revision]; want == 0 || share-want > 0.01 || want-share > 0.01 {
					t.Errorf("%s got %.4f, want %v", revision, share, tc.want)
				}
			}
		})
	}
}

// TestRevisionByHeader: a request that names its revision gets that one or none, one that names its decision always the
// same.
func TestRevisionByHeader(t *testing.T) {
	pool := slices.Concat(members("a", "prefill", 2), members("a", "decode", 2), members("b", "prefill", 1),
		members("b", "decode", 1), members("c", "decode", 1))
	slices.Reverse(pool)
	for _, tc := range []struct{ name, parameters, header, value, want string }{
		{"a revision", gating, "x-llm-d-disagg-revision", "b", "b"},
		{"one that lacks a role", gating, "x-llm-d-disagg-revision", "c", "503 no_endpoints"},
		{"one that there is not", gating, "x-llm-d-disagg-revision", "d", "503 no_endpoints"},
		{"without gating", `"revisionGating": {"mode": "disabled"}`, "x-llm-d-disagg-revision", "b", "b"},
		{"under another name", strings.Replace(gating, "}", `, "revisionHeaderName": "X-Own"}`, 1), "x-own", "b", "b"},
		{"by 0.10's selectors", gating + `, "headerSelectors": [{"name": "r", "headerName": "X-Disagg-Revision",
			"labelKey": "` + set + `revision", "mode": "strict"}]`, "x-disagg-revision", "b", "b"},
		{"under the usual names, where they are empty", strings.Replace(gating, "}", `, "revisionHeaderName": "",
			"revisionLabelKey": "", "roleLabelKey": ""}`, 1), "x-llm-d-disagg-revision", "b", "b"},
		{"by a decision", gating, "x-llm-d-revision-decision-id", "3", "b"},
		{"by another decision", gating, "x-llm-d-revision-decision-id", "1", "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := rolloutPlan(t, tc.parameters)
			for seed := range uint64(20) {
				c := plantest.Cycle(plantest.Pool(pool...), seed)
				c.Request.Headers = plantest.Headers(plan, map[string]string{tc.header: tc.value})
				if got := revisionOf(plan, c); got != tc.want {
					t.Fatalf("seed %d: got %s, want %s", seed, got, tc.want)
				}
			}
		})
	}
}

// TestRevisionPreferred: a selector that prefers leaves the choice to scorers.
func TestRevisionPreferred(t *testing.T) {
	plan := rolloutPlan(t, `"revisionGating": {"mode": "disabled"}, "headerSelectors": [{"name": "s", "headerName":
		"x-slice", "labelKey": "`+set+`name", "mode": "prefer"}]`)
	c := plantest.Cycle(plantest.Pool(member("a", "prefill"), member("a", "decode")), 1)
	c.Request.Headers = plantest.Headers(plan, map[string]string{"x-slice": "another"})
	if got := revisionOf(plan, c); got != "a" {
		t.Errorf("got %s, want a", got)
	}
}

// TestRevisionOfFurtherHeaders: a header that names something else than a revision narrows down if it is strict,
// and all stages are still of one revision.
func TestRevisionOfFurtherHeaders(t *testing.T) {
	plan := rolloutPlan(t, gating+`, "headerSelectors": [{"name": "r", "headerName": "x-revision", "labelKey": "`+set+
		`revision", "mode": "strict"}, {"name": "t", "headerName": "x-tier", "labelKey": "tier", "mode": "strict"},
		{"name": "s", "headerName": "x-slice", "labelKey": "slice", "mode": "prefer"}]`)
	pool := slices.Concat(members("a", "prefill", 1), members("a", "decode", 1), members("b", "prefill", 1),
		members("b", "decode", 1), members("c", "prefill", 9), members("c", "decode", 9))
	for i := range pool {
		tier := "gold"
		if i >= 4 {
			tier = "other"
		}
		pool[i].Labels = append(pool[i].Labels, scoring.Label{Key: "tier", Value: tier})
	}
	for _, tc := range []struct{ name, revision, tier, want string }{
		{"neither", "", "", "a b c"}, {"a tier", "", "gold", "a b"}, {"a revision", "b", "", "b"},
		{"both", "b", "gold", "b"}, {"a revision of another tier", "c", "gold", "503 no_endpoints"},
		{"a tier that there is not", "", "silver", "503 no_endpoints"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, got := plantest.Cycle(plantest.Pool(pool...), 1), map[string]bool{}
			c.Request.Headers = plantest.Headers(plan, map[string]string{"x-revision": tc.revision, "x-tier": tc.tier,
				"x-slice": "nowhere"})
			for range 200 {
				got[revisionOf(plan, c)] = true
			}
			if served := strings.Join(slices.Sorted(maps.Keys(got)), " "); served != tc.want {
				t.Errorf("served by %s, want %s", served, tc.want)
			}
		})
	}
}

// TestRolloutMistakes: what is wrong is said by its key.
func TestRolloutMistakes(t *testing.T) {
	const at = "plugins[0](disaggregatedset-rollout-screener).parameters."
	const selector, whole = at + "headerSelectors[0](r).",
		": is missing; a header selector has a headerName, a labelKey and a mode"
	scope := `"scope": {"labelSelector": "a=b"}, `
	for _, tc := range []struct{ name, parameters, want string }{
		{"nothing", ``, at + "scope.labelSelector: is missing; say which endpoints belong to the set, such as " +
			"disaggregatedset.x-k8s.io/name=NAME\n" + at + "revisionGating.mode: is missing; it is one of max-role, " +
			"sum, disabled"},
		{"no roles", scope + `"revisionGating": {"mode": "sum"}`, at + "revisionGating.requiredRoles: is missing; name " +
			"the roles that every revision needs, such as prefill and decode"},
		{"an empty role", scope + `"revisionGating": {"mode": "sum", "requiredRoles": ["a", ""]}`, at +
			"revisionGating.requiredRoles: are not one to eight different roles with names"},
		{"one role twice", scope + `"revisionGating": {"mode": "sum", "requiredRoles": ["a", "b", "a"]}`, at +
			"revisionGating.requiredRoles: are not one to eight different roles with names"},
		{"nine roles", scope + `"revisionGating": {"mode": "sum", "requiredRoles": ["a", "b", "c", "d", "e", "f", "g", "h",
			"i"]}`, at + "revisionGating.requiredRoles: are not one to eight different roles with names"},
		{"eight roles", scope + `"revisionGating": {"mode": "sum", "requiredRoles": ["a", "b", "c", "d", "e", "f", "g",
			"h"]}`, ""},
		{"a key too many", `"scope": {"labelSelector": "a=b", "name": "c"}, "revisionGating": {"mode": "disabled"}`,
			at + `scope: unknown key "name"; known are labelSelector`},
		{"a key too many of gating", scope + `"revisionGating": {"mode": "disabled", "weight": 1}`, at +
			`revisionGating: unknown key "weight"; known are mode, requiredRoles, requireRoles, revisionHeaderName, ` +
			"revisionLabelKey, roleLabelKey, disableCoordination"},
		{"a selector", scope + `"revisionGating": {"mode": "disabled"}, "headerSelectors": [{"name": "r"}]`,
			selector + "headerName" + whole + "\n" + selector + "labelKey" + whole + "\n" + selector + "mode" + whole},
		{"no header's name", scope + `"revisionGating": {"mode": "disabled", "revisionHeaderName": "a b"}`,
			at + `revisionGating.revisionHeaderName: "a b" is not the name of a header; one such as x-session-id is right`},
		{"no selector of labels", `"scope": {"labelSelector": "a in b"}, "revisionGating": {"mode": "disabled"}`, at +
			`scope.labelSelector: "a in b" is no label selector; label=value is right, and several with commas between them`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "disaggregatedset-rollout-screener",
				"parameters": {`+tc.parameters+`}}]}`, tc.want, "")
		})
	}
}

// TestRolloutSaysWhatIsIdle: coordination has no effect, whether it is wanted or not.
func TestRolloutSaysWhatIsIdle(t *testing.T) {
	for _, wanted := range []string{"true", "false"} {
		plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "disaggregatedset-rollout-screener",
			"parameters": {"scope": {"labelSelector": "a=b"}, "revisionGating": {"mode": "disabled",
			"disableCoordination": `+wanted+`}}}]}`, "", "disaggregatedset-rollout-screener: "+
			"revisionGating.disableCoordination has no effect: nothing is asked of others for a revision")
	}
}

// TestSelectorTexts: which endpoints a selector in the text form of Kubernetes means.
func TestSelectorTexts(t *testing.T) {
	for _, tc := range []struct{ selector, want string }{
		{"zone=x", "x"}, {"zone == x", "x"}, {"zone!=x", "y none"}, {"zone", "x y"}, {"!zone", "none"},
		{"zone in (x, y)", "x y"}, {"zone in(x)", "x"}, {"zone notin (x)", "y none"}, {"zone=x,set", ""},
		{"zone=x,!set", "x"}, {"zone in (x,y),set", ""}, {"zone in (x,y),!set", "x y"},
		{"zone,zone notin (x,z)", "y"},
		{"zone=", ""}, {"zone in x", "mistake"}, {"=x", "mistake"}, {"zone=x,", "mistake"}, {"zone=a=b", "mistake"},
		{"zone in (x", "mistake"}, {"!", "mistake"}, {"!AZaz09-_./", "x y none"}, {"zone=AZaz09-_./", ""},
		{"a:b", "mistake"}, {"a:b in (x)", "mistake"}, {"a@b", "mistake"}, {"a[b", "mistake"},
		{"a{b", "mistake"}, {"a,b", ""}, {"a+b", "mistake"},
	} {
		t.Run(tc.selector, func(t *testing.T) {
			document := `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "disaggregatedset-rollout-screener", "parameters":
				{"scope": {"labelSelector": "` + tc.selector + `"}, "revisionGating": {"mode": "sum", "requiredRoles": ["r"]}}}]}`
			if mistakes := plantest.Mistakes(document); mistakes != "" {
				if tc.want != "mistake" {
					t.Error(mistakes)
				}
				return
			}
			plan := plantest.Plan(t, document, plantest.Neutral)
			var got []string
			for _, zone := range []string{"x", "y", "none"} {
				labels := []string{set + "revision", "a", set + "role", "r"}
				if zone != "none" {
					labels = append(labels, "zone", zone)
				}
				c := plantest.Cycle(plantest.Pool(plantest.Labelled(labels...)), 1)
				if _, failure := plan.Decide(c); failure == nil {
					got = append(got, zone)
				}
			}
			if text := strings.Join(got, " "); text != tc.want {
				t.Errorf("got %q, want %q", text, tc.want)
			}
		})
	}
}

// TestScreeningAllocatesNothing: after the first decision none allocates.
func TestScreeningAllocatesNothing(t *testing.T) {
	plan := rolloutPlan(t, gating)
	c := plantest.Cycle(plantest.Pool(slices.Concat(members("a", "prefill", 2), members("a", "decode", 9),
		members("b", "prefill", 1), members("b", "decode", 1))...), 1)
	if n := testing.AllocsPerRun(200, func() { _, _ = plan.Decide(c) }); n != 0 {
		t.Errorf("a decision allocates %v times, want 0", n)
	}
}
