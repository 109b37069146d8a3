package scoring_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// called counts how often it is asked, as a scorer or as a filter of groups, which keeps the first of those it sees.
type called struct{ scores, selects int }

func (n *called) Score(*scoring.Cycle, []*scoring.Endpoint, []float64) { n.scores++ }

type group struct{ *called }

func (g group) Select(_ *scoring.Cycle, candidates []*scoring.Endpoint) int {
	g.selects++
	return min(1, len(candidates))
}

// TestScorerNamedTwice: a scorer that a profile names twice is asked once.
func TestScorerNamedTwice(t *testing.T) {
	n := &called{}
	plan := plantest.Plan(t, `{"plugins": [{"type": "called"}], "schedulingProfiles": [{"name": "p", "plugins": [
		{"pluginRef": "called"}, {"pluginRef": "called", "weight": 2}]}]}`, plantest.Neutral,
		scoring.Registration{Type: "called", New: func(*scoring.Builder) scoring.Plugin { return n }})
	c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1)
	if _, failure := plan.Decide(c); failure != nil || n.scores != 1 {
		t.Errorf("asked %d times, %v; want once", n.scores, failure)
	}
}

// TestGroupsOfNobody: a filter of groups is not asked where the filters before it have left nobody.
func TestGroupsOfNobody(t *testing.T) {
	for _, tc := range []struct {
		name, order string
		role        string
		want        int
	}{
		{"somebody", `{"pluginRef": "decode-filter"}, {"pluginRef": "group"}`, "decode", 1},
		{"nobody", `{"pluginRef": "decode-filter"}, {"pluginRef": "group"}`, "prefill", 0},
		{"nobody later", `{"pluginRef": "group"}, {"pluginRef": "decode-filter"}`, "prefill", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := &called{}
			plan := plantest.Plan(t, `{"plugins": [{"type": "decode-filter"}, {"type": "group"}],
				"schedulingProfiles": [{"name": "p", "plugins": [`+tc.order+`]}]}`, plantest.Neutral,
				scoring.Registration{Type: "group", New: func(*scoring.Builder) scoring.Plugin { return group{n} }})
			_, failure := plan.Decide(plantest.Cycle(plantest.Pool(plantest.Labelled("mif.moreh.io/role", tc.role)), 1))
			if n.selects != tc.want || (failure == nil) != (tc.role == "decode") {
				t.Errorf("asked %d times, %v; want %d", n.selects, failure, tc.want)
			}
		})
	}
}

// TestSubsetOfNobody: a request whose subset has no server that serves its model is told that there is none.
func TestSubsetOfNobody(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "queue-scorer"}]}`, plantest.Neutral)
	c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1)
	c.Request.Restricted = true
	for subset, want := range map[string]*scoring.Failure{"10.0.0.1:1000": nil, "10.0.0.2": scoring.OutsideSubset,
		"": scoring.OutsideSubset} {
		c.Request.Subset = subset
		if _, failure := plan.Decide(c); failure != want {
			t.Errorf("%q: got %v, want %v", subset, failure, want)
		}
	}
}

// TestHosts: an endpoint's address without its port, and with another one.
func TestHosts(t *testing.T) {
	for address, want := range map[string][2]string{
		"10.0.0.1:80": {"10.0.0.1", "10.0.0.1:9000"}, "[::1]:80": {"::1", "[::1]:9000"}, "[:80": {"[", "[:9000"},
		"name:1": {"name", "name:9000"},
	} {
		e := scoring.Endpoint{Address: address}
		if got := [2]string{e.Host(), string(e.AppendAddress(nil, 9000))}; got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
		if got := string(e.AppendAddress([]byte("at "), 0)); got != "at "+address {
			t.Errorf("got %q, want at %s", got, address)
		}
	}
}

// TestHostWithoutPort: an address without a port is the host.
func TestHostWithoutPort(t *testing.T) {
	if e := (scoring.Endpoint{Address: "name"}); e.Host() != "name" {
		t.Errorf("got %q, want name", e.Host())
	}
}

// TestModelOfThePath: a request whose body names no model is for the one of its path, if a server has it.
func TestModelOfThePath(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "queue-scorer"}]}`, plantest.Neutral)
	for _, tc := range []struct{ name, model, path, want, candidates string }{
		{"neither", "", "", "", "a b"},
		{"a model that one has", "", "m", "m", "a"},
		{"a model that nobody has", "", "x", "", "a b"},
		{"a model of the body", "n", "m", "n", "b"},
	} {
		c := plantest.Cycle(plantest.Pool(scoring.Endpoint{Models: []string{"m"}},
			scoring.Endpoint{Models: []string{"n"}}), 1)
		c.Request.Model, c.Request.PathModel = tc.model, tc.path
		trace := plantest.Decide(plan, c)
		if got := strings.Join(trace.Candidates, " "); trace.Failure != nil || got != tc.candidates ||
			c.Request.Model != tc.want {
			t.Errorf("%s: the model is %q, candidates are %s, %v; want %q and %s", tc.name, c.Request.Model, got,
				trace.Failure, tc.want, tc.candidates)
		}
	}
}

// TestSheddingOfResources: a SchedulingProfile has the usual thresholds.
func TestSheddingOfResources(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "heimdall.moreh.io/v1alpha1", "kind": "SchedulingProfile", "spec": {
		"profileHandler": "e2e", "plugins": [{"type": "constant-scorer"}],
		"profiles": {"default": {"pluginRefs": [{"name": "constant-scorer"}]}}}}`, plantest.Neutral)
	for waiting, want := range map[int]*scoring.Failure{0: nil, 4: nil, 5: scoring.Shed} {
		pool := plantest.Pool(plantest.Sampled(scoring.Metrics{WaitingRequests: waiting}))
		pool.Objectives = []scoring.Objective{{Name: "batch", Priority: -1}}
		c := plantest.Cycle(pool, 1)
		c.Request.Headers = plantest.Headers(plan, map[string]string{"x-gateway-inference-objective": "batch"})
		if _, failure := plan.Decide(c); failure != want {
			t.Errorf("%d wait: got %v, want %v", waiting, failure, want)
		}
	}
}

// TestOneMistake: what follows from a mistake is none of its own.
func TestOneMistake(t *testing.T) {
	for _, tc := range []struct{ name, config, want string }{
		{"no type", `"plugins": [{"name": "x"}], "schedulingProfiles": [{"name": "a"}, {"name": "b"}]`,
			"plugins[0](x).type: is missing; every plug-in needs one"},
		{"an unknown type", `"plugins": [{"name": "x", "type": "y-z"}],
			"schedulingProfiles": [{"name": "a"}, {"name": "b"}]`, `plugins[0](x).type: "y-z" is not a known plug-in`},
		{"a detector without a name", `"apiVersion": "llm-d.ai/v1", "saturationDetector": {"pluginRef": ""}`, ""},
		{"another key beside it", `"apiVersion": "llm-d.ai/v1", "saturationDetector": {"pluginRef": "", "x": 1}`,
			`saturationDetector: unknown key "x"`},
		{"a detector without a name elsewhere", `"saturationDetector": {"pluginRef": ""}`,
			"saturationDetector.pluginRef: is empty; name one of the plug-ins"},
	} {
		got := plantest.Mistakes(`{` + tc.config + `}`)
		if !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" || strings.Contains(got, "\n") {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestDataSection: the data section has its gate, and no other keys than those that it may have.
func TestDataSection(t *testing.T) {
	const plugins = `"plugins": [{"type": "queue-scorer"}, {"type": "models-data-source"},
		{"type": "model-server-protocol-models"}], `
	const source = `"pluginRef": "models-data-source"`
	const extractor = `"pluginRef": "model-server-protocol-models"`
	const at = "data.sources[0](models-data-source)"
	for _, tc := range []struct{ name, gates, data, want string }{
		{"right", `"dataLayer"`, `, "data": {"sources": [{` + source + `, "extractors": [{` + extractor + `}]}]}`, ""},
		{"neither", ``, ``, ""},
		{"no section", `"dataLayer"`, ``, "data: is missing; the feature gate dataLayer needs it"},
		{"no gate", ``, `, "data": {}`, "data: needs the feature gate dataLayer; add it to featureGates"},
		{"another key", `"dataLayer"`, `, "data": {"x": 1}`, `data: unknown key "x"`},
		{"another key of a source", `"dataLayer"`, `, "data": {"sources": [{` + source + `, "x": 1}]}`,
			at + `: unknown key "x"`},
		{"another key of an extractor", `"dataLayer"`, `, "data": {"sources": [{` + source + `, "extractors": [{` +
			extractor + `, "x": 1}]}]}`, at + `.extractors[0](model-server-protocol-models): unknown key "x"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plantest.Mistakes(`{` + plugins + `"featureGates": [` + tc.gates + `]` + tc.data + `}`)
			if !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" || strings.Contains(got, "\n") {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
