package handlers_test

import (
	"strconv"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// stageConfig is a document with the profiles d, p and e, each of the endpoints with a label of the same value.
func stageConfig(plugins string) string {
	config := `{"plugins": [` + plugins
	profiles := ""
	for _, name := range []string{"d", "p", "e"} {
		config += `, {"type": "by-label", "name": "` + name + `", "parameters": {"label": "role", "validValues": ["` +
			name + `"]}}`
		profiles += `, {"name": "` + name + `", "plugins": [{"pluginRef": "` + name + `"}]}`
	}
	return config + `], "schedulingProfiles": [` + profiles[2:] + `]}`
}

const (
	always  = `{"type": "always-disagg-pd-decider"}, {"type": "always-disagg-multimodal-decider"}, `
	renamed = `{"type": "disagg-profile-handler", "parameters": {"profiles": {"decode": "d", "prefill": "p", "encode": "e"},
		"deciders": {"prefill": "always-disagg-pd-decider", "encode": "always-disagg-multimodal-decider"}}}`
)

// TestStagesThatNeverRun: a document by which a stage would never run is wrong, or the operator is told.
func TestStagesThatNeverRun(t *testing.T) {
	const idleEncode = "\nalways-disagg-multimodal-decider: " + scoring.NothingRefers
	const idlePrefill = "\nalways-disagg-pd-decider: " + scoring.NothingRefers
	const pd = `{"type": "pd-profile-handler", "parameters": {"decodeProfile": "d", "prefillProfile": "p"`
	const disagg = `{"type": "disagg-headers-handler", "parameters": {"prefillProfile": "p"}},
		{"type": "disagg-profile-handler", "parameters": {"profiles": {"decode": "d", "prefill": "p", "encode": "e"}, "deciders": `
	const shared = `{"type": "disagg-headers-handler", "parameters": {"prefillProfile": "p", "encodeProfile": "p"}},
		{"type": "disagg-profile-handler", "parameters": {"profiles": {"decode": "d", "prefill": "p", `
	const sharedAt = "plugins[3](disagg-profile-handler).parameters.profiles.encode: "
	const own = "; encode needs one of its own"
	const unheard = "plugins[2](disagg-profile-handler).parameters.deciders: need a disagg-headers-handler; without " +
		"it the decode server would not learn of the other stages"
	tests := []struct{ name, plugins, mistakes, warnings string }{
		{
			name:    "renamed profiles",
			plugins: always + `{"type": "disagg-headers-handler"}, ` + renamed,
			mistakes: `plugins[3](disagg-profile-handler).parameters.profiles.prefill: prefill never runs, because no disagg-headers-handler tells the ` +
				"decode server of the profile \"p\"; give that plug-in prefillProfile: \"p\"\n" +
				`plugins[3](disagg-profile-handler).parameters.profiles.encode: encode never runs, because no disagg-headers-handler tells the ` +
				`decode server of the profile "e"; give that plug-in encodeProfile: "e"`,
		},
		{
			name: "renamed alike",
			plugins: always +
				`{"type": "disagg-headers-handler", "parameters": {"prefillProfile": "p", "encodeProfile": "e"}}, ` +
				renamed,
		},
		{
			name: "stages exchanged",
			plugins: always +
				`{"type": "disagg-headers-handler", "parameters": {"prefillProfile": "e", "encodeProfile": "p"}}, ` +
				renamed,
			mistakes: `plugins[3](disagg-profile-handler).parameters.profiles.prefill: prefill never runs, because no disagg-headers-handler tells the ` +
				"decode server of the profile \"p\"; give that plug-in prefillProfile: \"p\"\n" +
				`plugins[3](disagg-profile-handler).parameters.profiles.encode: encode never runs, because no disagg-headers-handler tells the ` +
				`decode server of the profile "e"; give that plug-in encodeProfile: "e"`,
		},
		{
			name: "no decider",
			plugins: `{"type": "disagg-headers-handler"}, {"type": "disagg-profile-handler", "parameters":
				{"profiles": {"decode": "d", "prefill": "p"}}}`,
			warnings: `disagg-profile-handler: prefill never runs, because no decider for it is named; name one in deciders.prefill, ` +
				`or remove the profile "p"`,
		},
		{
			name: "no decider for encode",
			plugins: always + `{"type": "disagg-headers-handler", "parameters": {"prefillProfile": "p"}},
				{"type": "disagg-profile-handler", "parameters": {"profiles": {"decode": "d", "prefill": "p",
				"encode": "e"}, "deciders": {"prefill": "always-disagg-pd-decider"}}}`,
			warnings: `disagg-profile-handler: encode never runs, because no decider for it is named; name one in deciders.encode, ` +
				`or remove the profile "e"` + idleEncode,
		},
		{
			name: "profiles of other stages, which run",
			plugins: `{"type": "disagg-profile-handler", "parameters": {"profiles": {"decode": "d", "prefill": "d",
				"encode": "d"}}}`,
		},
		{
			name: "renamed profiles of the legacy handler",
			plugins: always + `{"type": "disagg-headers-handler"}, ` + pd +
				`, "deciderPluginName": "always-disagg-pd-decider"}}`,
			mistakes: `plugins[3](pd-profile-handler).parameters.prefillProfile: prefill never runs, because no disagg-headers-handler tells the ` +
				`decode server of the profile "p"; give that plug-in prefillProfile: "p"`,
		},
		{
			name:     "renamed profiles of the legacy handler alone",
			plugins:  always + pd + `, "deciderPluginName": "always-disagg-pd-decider"}}`,
			warnings: `pd-profile-handler: no disagg-headers-handler is declared; one with default parameters is used` + idleEncode,
		},
		{
			name:    "the default decider",
			plugins: pd + `}}`,
			warnings: "prefix-based-pd-decider: prefill never runs; set nonCachedTokens to the number of tokens not " +
				"cached " +
				"from which it shall\n" +
				"pd-profile-handler: no disagg-headers-handler is declared; one with default parameters is used",
		},
		{
			name: "a threshold of old",
			plugins: `{"type": "disagg-headers-handler", "parameters": {"prefillProfile": "p"}}, ` + pd +
				`, "threshold": 10, "hashBlockSize": 5}}`,
			warnings: "pd-profile-handler: hashBlockSize has no effect: the prefix scorer says how long a block is\n" +
				`pd-profile-handler: "threshold" is deprecated and counts characters; write it as nonCachedTokens of a ` +
				`prefix-based-pd-decider`,
		},
		{
			name: "a threshold of old that is 0",
			plugins: `{"type": "disagg-headers-handler", "parameters": {"prefillProfile": "p"}}, ` + pd +
				`, "threshold": 0}}`,
			warnings: `pd-profile-handler: "threshold" is deprecated, and with 0 prefill always runs; write it as ` +
				`deciderPluginName: always-disagg-pd-decider`,
		},
		{
			name: "declared in any order",
			plugins: pd +
				`, "deciderPluginName": "always-disagg-pd-decider"}}, {"type": "prefill-header-handler", "parameters":
				{"prefillProfile": "p"}}, {"type": "always-disagg-pd-decider"}`,
		},
		{
			name:     "a decider that is its handler",
			plugins:  pd + `, "deciderPluginName": "pd-profile-handler"}}`,
			mistakes: `plugins[0](pd-profile-handler).parameters.deciderPluginName: "pd-profile-handler" and "pd-profile-handler" name each other`,
		},
		{
			name:    "an unknown prefix scorer",
			plugins: always + pd + `, "deciderPluginName": "always-disagg-pd-decider", "prefixPluginName": "bogus"}}`,
			mistakes: `plugins[2](pd-profile-handler).parameters.prefixPluginName: "bogus" is not the name of a declared plug-in; ` +
				`declared are always-disagg-pd-decider, always-disagg-multimodal-decider, pd-profile-handler, d, p, e`,
		},
		{
			name: "a prefix scorer that is none",
			plugins: always + pd +
				`, "deciderPluginName": "always-disagg-pd-decider", "prefixPluginName": "always-disagg-pd-decider"}}`,
			mistakes: `plugins[2](pd-profile-handler).parameters.prefixPluginName: "always-disagg-pd-decider" is not a prefix scorer`,
		},
		{
			name:     "an unknown type of prefix scorers",
			plugins:  always + pd + `, "deciderPluginName": "always-disagg-pd-decider", "prefixPluginType": "bogus"}}`,
			mistakes: `plugins[2](pd-profile-handler).parameters.prefixPluginType: "bogus" is not a known plug-in; it is the type of a prefix scorer`,
		},
		{
			name:     "a type that is none of prefix scorers",
			plugins:  always + pd + `, "deciderPluginName": "always-disagg-pd-decider", "prefixPluginType": "by-label"}}`,
			mistakes: `plugins[2](pd-profile-handler).parameters.prefixPluginType: "by-label" is not the type of a prefix scorer`,
		},
		{"a block of less than nothing", pd + `, "threshold": 1, "hashBlockSize": -1}}`, `plugins[0](pd-profile-handler).` +
			`parameters.hashBlockSize: -1 is not a whole number from 0 to 2147483647`, ""},
		{"prefill by decode's profile", always + `{"type": "disagg-headers-handler"}, {"type": "disagg-profile-handler",
			"parameters": {"profiles": {"decode": "d", "prefill": "d"}, "deciders": {"prefill":
			"always-disagg-pd-decider"}}}`, `plugins[3](disagg-profile-handler).parameters.profiles.prefill: "d" is the ` +
			`decode profile; prefill needs one of its own`, ""},
		{"no headers handler for prefill", always + `{"type": "disagg-profile-handler", "parameters": {"profiles":
			{"decode": "d", "prefill": "p"}, "deciders": {"prefill": "always-disagg-pd-decider"}}}`, unheard, ""},
		{"no headers handler for encode", always + `{"type": "disagg-profile-handler", "parameters": {"profiles":
			{"decode": "d", "encode": "e"}, "deciders": {"encode": "always-disagg-multimodal-decider"}}}`, unheard, ""},
		{"encode by a profile that could be prefill's", always + shared + `"encode": "p"}, "deciders":
			{"encode": "always-disagg-multimodal-decider"}}}`, "", `disagg-profile-handler: prefill never runs, because ` +
			`no decider for it is named; name one in deciders.prefill, or remove the profile "p"` + idlePrefill},
		{"a prefix scorer", `{"type": "prefix-cache-scorer", "name": "prefix"}, ` + always + pd +
			`, "deciderPluginName": "always-disagg-pd-decider", "prefixPluginName": "prefix"}}`, "",
			"pd-profile-handler: no disagg-headers-handler is declared; one with default parameters is used" +
				idleEncode},
		{"a default profile", `{"type": "header-profile-handler", "parameters": {"defaultProfile": "d"}}`, "", ""},
		{"one profile for both stages", `{"type": "pd-profile-handler", "parameters": {"decodeProfile": "d",
			"prefillProfile": "d", "threshold": 5}}`, `plugins[0](pd-profile-handler).parameters.prefillProfile: ` +
			`"d" is the decode profile; prefill needs one of its own`, ""},
		{"one profile for a pair", `{"type": "paired-profile-handler", "parameters": {"decodeProfile": "d",
			"prefillProfile": "d"}}`, `plugins[0](paired-profile-handler).parameters.prefillProfile: "d" is the decode ` +
			`profile; prefill needs one of its own`, ""},
		{"a prefill decider that is none", always + disagg + `{"prefill": "always-disagg-multimodal-decider"}}}`,
			`plugins[3](disagg-profile-handler).parameters.deciders.prefill: "always-disagg-multimodal-decider" is not a ` +
				`prefill decider`, ""},
		{"an encode decider that is none", always + disagg + `{"encode": "always-disagg-pd-decider"}}}`,
			`plugins[3](disagg-profile-handler).parameters.deciders.encode: "always-disagg-pd-decider" is not an encode ` +
				`decider`, ""},
		{"an encode decider that nobody declares", disagg + `{"encode": "x"}}}`,
			`plugins[1](disagg-profile-handler).parameters.deciders.encode: "x" is not the name of a declared plug-in; ` +
				`declared are disagg-headers-handler, disagg-profile-handler, d, p, e`, ""},
		{"encode by decode's profile", always + shared + `"encode": "d"}, "deciders":
			{"encode": "always-disagg-multimodal-decider"}}}`, sharedAt + `"d" is the decode profile` + own, ""},
		{"encode by prefill's profile", always + shared + `"encode": "p"}, "deciders": {"prefill":
			"always-disagg-pd-decider", "encode": "always-disagg-multimodal-decider"}}}`,
			sharedAt + `"p" is the prefill profile` + own, ""},
		{"ranks of several profiles", `{"type": "data-parallel-profile-handler"}`,
			`plugins[0](data-parallel-profile-handler).parameters: data-parallel-profile-handler runs one scheduling ` +
				`profile, but there are 3`, ""},
		{"a default profile that is none", `{"type": "header-profile-handler"}`, "",
			`header-profile-handler: no scheduling profile is named "decode": requests without the header are refused`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, stageConfig(tc.plugins), tc.mistakes, tc.warnings)
		})
	}
}

// TestSuppliedHeadersHandler: what the legacy handler supplies tells of the profile that it runs, whatever its name.
func TestSuppliedHeadersHandler(t *testing.T) {
	plan := plantest.Plan(t, stageConfig(always+`{"type": "pd-profile-handler", "parameters": {"decodeProfile": "d",
		"prefillProfile": "p", "deciderPluginName": "always-disagg-pd-decider"}}`), plantest.Neutral)
	c := staged(t, plan, plantest.Labelled("role", "d"), plantest.Labelled("role", "p"))
	want := func(h scoring.RequestHeader) bool {
		return h.Name == "mif-prefill-endpoint" && len(h.Endpoints) == 1 && h.Endpoints[0].Name == "b"
	}
	if got := c.RequestHeaders(); len(got) != 1 || !want(got[0]) {
		t.Errorf("got headers %v, want the prefill endpoint b", got)
	}
}

// TestPrefillFirstWithoutProfile: llm-d leaves out a prefill stage that has no profile, and so is one that runs first.
func TestPrefillFirstWithoutProfile(t *testing.T) {
	const llmd, old = `{"apiVersion": "llm-d.ai/v1alpha1", `, `{`
	const rest = `}}, {"type": "decode-filter"}],
		"schedulingProfiles": [{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}]}]}`
	const order, first = `"plugins": [{"type": "disagg-profile-handler", "parameters": {"stageOrder": `, `"prefill-first"`
	for _, tc := range []struct{ config, mistakes, warnings string }{
		{llmd + order + first + rest, "", `disagg-profile-handler: prefill never runs, because there is no profile "prefill"`},
		{llmd + order + `"decode-first"` + rest, "", ""},
		{old + order + `"decode-first"` + rest, "", ""},
		{old + order + first + rest, `plugins[0](disagg-profile-handler).parameters.profiles.prefill: no scheduling profile ` +
			`is named "prefill"; the profiles are decode` + "\n" + `plugins[0](disagg-profile-handler).parameters.deciders: ` +
			`need a disagg-headers-handler; without it the decode server would not learn of the other stages`, ""},
	} {
		plantest.CheckTold(t, tc.config, tc.mistakes, tc.warnings)
	}
	const config = llmd + order + first + rest
	plan := plantest.Plan(t, config, plantest.Neutral)
	c := staged(t, plan, plantest.Labelled("llm-d.ai/role", "decode"))
	if headers := c.RequestHeaders(); c.Prefill() != nil || len(headers) != 0 {
		t.Errorf("prefill at %v, headers %v; want none", c.Prefill(), headers)
	}
}

// TestPrefillFirstPeer: where prefill comes first, the decode endpoint is chosen near it.
func TestPrefillFirstPeer(t *testing.T) {
	const host, role = "kubernetes.io/hostname", "llm-d.ai/role"
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
		{"type": "disagg-profile-handler", "parameters": {"stageOrder": "prefill-first"}}, {"type": "decode-filter"},
		{"type": "prefill-filter"}, {"type": "topology-affinity-filter"}], "schedulingProfiles": [
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}]},
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}, {"pluginRef": "topology-affinity-filter"}]}]}`,
		plantest.Neutral)
	for near := range 4 {
		endpoints := []scoring.Endpoint{plantest.Labelled(role, "prefill", host, "h"+strconv.Itoa(near))}
		for i := range 4 {
			endpoints = append(endpoints, plantest.Labelled(role, "decode", host, "h"+strconv.Itoa(i)))
		}
		c := staged(t, plan, endpoints...)
		if got := c.Primary().Picked[0].Index; got != 1+near || c.Prefill() == nil || c.Prefill().Index != 0 {
			t.Errorf("decode at %d, prefill at %v; want %d and the only one", got, c.Prefill(), 1+near)
		}
	}
}

// TestStagesWithoutPrompt: a request whose prompt is not known has the decode stage alone, whatever deciders say.
func TestStagesWithoutPrompt(t *testing.T) {
	const headers = `{"type": "disagg-headers-handler", "parameters": {"prefillProfile": "p", "encodeProfile": "e"}}, `
	for name, handler := range map[string]string{
		"disagg": always + headers + renamed,
		"prefill first": headers + `{"type": "disagg-profile-handler", "parameters": {"stageOrder": "prefill-first",
			"profiles": {"decode": "d", "prefill": "p"}}}`,
		"legacy": `{"type": "pd-profile-handler", "parameters": {"decodeProfile": "d", "prefillProfile": "p",
			"threshold": 0}}`,
		"paired": headers + `{"type": "paired-profile-handler", "parameters": {"decodeProfile": "d",
			"prefillProfile": "p"}}`,
	} {
		plan := plantest.Plan(t, stageConfig(handler), plantest.Neutral)
		endpoints := []scoring.Endpoint{plantest.Labelled("role", "d"), plantest.Labelled("role", "p"),
			plantest.Labelled("role", "e")}
		c := plantest.Cycle(plantest.Pool(endpoints...), 1)
		picked, failure := plan.Decide(c)
		if failure != nil || picked[0].Name != "a" || c.Prefill() != nil || len(c.RequestHeaders()) != 0 {
			t.Errorf("%s: picked %v, %v, prefill at %v, headers %v; want a alone", name, picked, failure, c.Prefill(),
				c.RequestHeaders())
		}
		if c = staged(t, plan, endpoints...); c.Prefill() == nil || len(c.RequestHeaders()) == 0 {
			t.Errorf("%s: with a prompt prefill is at %v, headers %v", name, c.Prefill(), c.RequestHeaders())
		}
	}
}

// TestProfileThatNoStageRuns: a profile is none of prefill's where no decider for it is named, wherever it stands.
func TestProfileThatNoStageRuns(t *testing.T) {
	plan := plantest.Plan(t, stageConfig(`{"type": "disagg-profile-handler", "parameters":
		{"profiles": {"decode": "p"}}}`), plantest.Neutral)
	c := staged(t, plan, plantest.Labelled("role", "d"), plantest.Labelled("role", "p"))
	if got := c.Primary().Picked[0].Name; got != "b" || c.Prefill() != nil || c.Result(0).State != scoring.NotRun {
		t.Errorf("picked %s, prefill at %v, the first profile's state is %d; want b, none and %d", got, c.Prefill(),
			c.Result(0).State, scoring.NotRun)
	}
}

// staged decides a request with a prompt.
func staged(t *testing.T, plan *scoring.Plan, endpoints ...scoring.Endpoint) *scoring.Cycle {
	t.Helper()
	c := plantest.Cycle(plantest.Pool(endpoints...), 1)
	if failure := c.Request.Read(new(openai.Request), openai.APICompletions,
		[]byte(`{"model":"m","prompt":"x"}`)); failure != nil {
		t.Fatal(failure.Message)
	}
	if _, failure := plan.Decide(c); failure != nil {
		t.Fatal(failure.Message)
	}
	return c
}
