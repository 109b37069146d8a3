package scoring_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestBindings: what an AIGateway binds decides every request, or the operator is told why it cannot.
func TestBindings(t *testing.T) {
	const head = `{"apiVersion": "heimdall.moreh.io/v1alpha1", "kind": `
	profile := func(name string, references ...string) string {
		plugins := `{"type": "constant-scorer"}, {"type": "max-score-picker"}`
		if len(references) > 1 {
			plugins += `, {"type": "random-picker"}`
		}
		return head + `"SchedulingProfile", "metadata": {"name": "` + name + `"}, "spec": {"profileHandler": "e2e",
			"plugins": [` + plugins + `],
			"profiles": {"default": {"pluginRefs": [{"name": "` + strings.Join(references, `"}, {"name": "`) + `"}]}}}}`
	}
	gateway := func(bindings string) string {
		return head + `"AIGateway", "metadata": {"name": "g"}, "spec": {` + bindings + `}}`
	}
	list := func(items ...string) string {
		return `{"kind": "List", "items": [` + strings.Join(items, ", ") + `]}`
	}
	a, b := profile("a", "constant-scorer"), profile("b", "constant-scorer")
	bound := gateway(`"schedulingProfiles": [{"model": "default", "profile": "a"}]`)
	two := gateway(`"schedulingProfiles": [{"model": "m", "profile": "b"}, {"model": "default", "profile": "a"}]`)
	const unbound = `items[0]: the SchedulingProfile "b" has no effect: no model is bound to it`
	const missing = "bind a model, or default, to a SchedulingProfile"
	tests := []struct{ name, config, mistakes, warnings string }{
		{"one", list(a), "", ""},
		{"one for all models", list(bound, a), "", ""},
		{"one that is not bound", list(bound, a, b), "", unbound},
		{"one for some models", list(gateway(`"schedulingProfiles": [{"model": "m", "profile": "a"}]`), a), "",
			`items[0]: no profile is bound to the model default: models that are not named go by "a"; in Heimdall, ` +
				`by a profile that is built in`},
		{"no bindings", list(gateway(``), a), "items[0].spec.schedulingProfiles: is missing; " + missing, ""},
		{"an empty list of bindings", list(gateway(`"schedulingProfiles": []`), a),
			"items[0].spec.schedulingProfiles: is empty; " + missing, ""},
		{"bindings that are none", list(gateway(`"schedulingProfiles": 5`), a),
			"items[0].spec.schedulingProfiles: 5 is not a list", ""},
		{"no spec", list(head+`"AIGateway"}`, a), "items[0].spec.schedulingProfiles: is missing; " + missing, ""},
		{"no model", list(gateway(`"schedulingProfiles": [{"profile": "a"}]`), a),
			"items[0].spec.schedulingProfiles[0].model: is missing; name a model, or default", ""},
		{"a model twice", list(gateway(`"schedulingProfiles": [{"model": "m", "profile": "a"},
			{"model": "m", "profile": "b"}, {"model": "default", "profile": "b"}]`), a, b),
			`items[0].spec.schedulingProfiles[1](m).model: "m" is bound twice`, ""},
		{"the default twice", list(gateway(`"schedulingProfiles": [{"model": "default", "profile": "a"},
			{"model": "default", "profile": "b"}]`), a, b),
			`items[0].spec.schedulingProfiles[1](default).model: "default" is bound twice`, ""},
		{"an unknown profile", list(gateway(`"schedulingProfiles": [{"model": "default", "profile": "x"}]`), a),
			`items[0].spec.schedulingProfiles[0](default).profile: no SchedulingProfile is named "x"; here are a`, ""},
		{"an unknown key of a binding", list(gateway(`"schedulingProfiles": [{"model": "default", "profile": "a",
			"x": 1}]`), a), `items[0].spec.schedulingProfiles[0](default): unknown key "x"; known are model, profile`, ""},
		{"a gateway of no version", list(`{"kind": "AIGateway", "spec": {"schedulingProfiles": [{"model": "default",
			"profile": "a"}]}}`, a), "items[0].apiVersion: is missing; heimdall.moreh.io/v1alpha1 is right", ""},
		{"a plug-in twice", head + `"SchedulingProfile", "spec": {"profileHandler": "e2e", "plugins": [
			{"type": "constant-scorer"}, {"type": "constant-scorer"}],
			"profiles": {"default": {"pluginRefs": [{"name": "constant-scorer"}]}}}}`,
			`spec.plugins[1](constant-scorer).name: "constant-scorer" names two plug-ins; give one of them another name`, ""},
		{"two gateways", list(bound, bound, a),
			"items[1].kind: is a second AIGateway; give each of them a configuration of its own", ""},
		{"several without a gateway", list(a, b),
			"items: are several SchedulingProfiles, and no AIGateway says which model goes by which", ""},
		{"two pickers", profile("a", "max-score-picker", "random-picker"),
			`spec.profiles.default.pluginRefs[1](random-picker).name: "random-picker" is a second picker; a profile ` +
				`has only one`, ""},
		{"a mistyped name in one of two", list(two, profile("a", "constant-scorr"), b),
			`items[1].spec.profiles.default.pluginRefs[0](constant-scorr).name: "constant-scorr" is not the name of a ` +
				`declared plug-in; did you mean constant-scorer? declared are constant-scorer, max-score-picker`, ""},
		{"a plug-in that no profile refers to", head + `"SchedulingProfile", "spec": {"profileHandler": "e2e", "plugins": [
			{"type": "constant-scorer"}, {"type": "waiting-requests-scorer"}],
			"profiles": {"default": {"pluginRefs": [{"name": "constant-scorer"}]}}}}`, "",
			"waiting-requests-scorer: has no effect: nothing in the document refers to it"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, tc.config, tc.mistakes, tc.warnings)
		})
	}
	for _, tc := range []struct{ name, config, model, want string }{
		{"one", list(a), "m", "default"}, {"one that is bound", list(bound, a, b), "m", "default"},
		{"the default of two", list(two, a, b), "n", "a"}, {"the other one", list(two, a, b), "m", "b"},
	} {
		plan := plantest.Plan(t, tc.config, plantest.Neutral)
		c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1)
		c.Request.Model = tc.model
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure.Message)
		}
		if got := plan.ProfileName(plan.Primary(c)); got != tc.want {
			t.Errorf("%s: %s is served by the profile %s, want %s", tc.name, tc.model, got, tc.want)
		}
	}
}

// TestPickersOfResources: a SchedulingProfile without a reference to a picker has the first one of its own, else the
// default, whatever others declare.
func TestPickersOfResources(t *testing.T) {
	const head = `{"apiVersion": "heimdall.moreh.io/v1alpha1", "kind": `
	const random = `, {"type": "random-picker"}`
	profile := func(name, plugins string) string {
		return head + `"SchedulingProfile", "metadata": {"name": "` + name + `"}, "spec": {"profileHandler": "e2e",
			"plugins": [{"type": "waiting-requests-scorer"}` + plugins + `],
			"profiles": {"default": {"pluginRefs": [{"name": "waiting-requests-scorer"}]}}}}`
	}
	for _, tc := range []struct {
		name, plugins, others string // of the resource that is asked, and of the other one
		want                  int    // the number of servers that are picked
	}{
		{"none", "", "", 1},
		{"its own", random, "", 2},
		{"another's", "", random, 1},
		{"its own before another's", `, {"type": "max-score-picker"}` + random, random, 1},
	} {
		for _, asked := range []string{"a", "b"} {
			plugins := map[string]string{"a": tc.others, "b": tc.others}
			plugins[asked] = tc.plugins
			plan := plantest.Plan(t, `{"kind": "List", "items": [`+profile("a", plugins["a"])+`, `+
				profile("b", plugins["b"])+`, `+head+`"AIGateway", "spec": {"schedulingProfiles": [
				{"model": "default", "profile": "a"}, {"model": "b", "profile": "b"}]}}]}`, plantest.Neutral)
			picked := map[string]bool{}
			for seed := range uint64(20) {
				c := plantest.Cycle(plantest.Pool(plantest.Sampled(scoring.Metrics{}),
					plantest.Sampled(scoring.Metrics{WaitingRequests: 9})), seed)
				c.Request.Model = asked
				picked[strings.Join(plantest.Decide(plan, c).Picks, " ")] = true
			}
			if len(picked) != tc.want {
				t.Errorf("%s: of two servers %v are picked for %s, want %d", tc.name, picked, asked, tc.want)
			}
		}
	}
}

// TestPartsThatDoNotCount: of what has no effect, or names what it cannot go by, the operator is told.
func TestPartsThatDoNotCount(t *testing.T) {
	const admitter = `{"type": "latency-slo-admitter", "parameters": {"latencyPredictionInfoProducerName": `
	const llmd = `{"apiVersion": "llm-d.ai/v1alpha1", `
	tests := []struct{ name, config, mistakes, warnings string }{
		{"predictions of nobody", llmd + `"plugins": [` + admitter + `"x"}}]}`,
			`plugins[0](latency-slo-admitter).parameters.latencyPredictionInfoProducerName: "x" is not the name of a ` +
				`declared plug-in; declared are latency-slo-admitter`, ""},
		{"predictions of a scorer", llmd + `"plugins": [{"type": "queue-scorer"}, ` + admitter + `"queue-scorer"}}]}`,
			`plugins[1](latency-slo-admitter).parameters.latencyPredictionInfoProducerName: "queue-scorer" is not a ` +
				`producer of predicted latencies`, ""},
		{"two stores", `{"featureGates": ["prepareDataPlugins"], "plugins": [{"type": "queue-scorer"},
			{"type": "responses-store"}, {"type": "responses-store", "name": "again"}]}`, "",
			"responses-store: the sidecar has to read this document, too: pintle sidecar -plugins FILE; or its own " +
				"configuration has to say responses\nagain: is off, as another responses-store is declared before it"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, tc.config, tc.mistakes, tc.warnings)
		})
	}
}
