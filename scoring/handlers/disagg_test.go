package handlers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestStageParameters: each way to name profiles and deciders has the stages run where they shall, whatever the order
// of the profiles.
func TestStageParameters(t *testing.T) {
	const headers = `{"type": "disagg-headers-handler", "parameters": {"prefillProfile": "p", "encodeProfile": "e"}}, `
	disagg := func(parameters string) string {
		return always + headers + `{"type": "disagg-profile-handler", "parameters": {` + parameters + `}}`
	}
	const nested = `"profiles": {"decode": "d", "prefill": "p", "encode": "e"}`
	const flat = `"decodeProfile": "d", "prefillProfile": "p", "encodeProfile": "e"`
	const prefill, encode = `"always-disagg-pd-decider"`, `"always-disagg-multimodal-decider"`
	pd := `{"type": "pd-profile-handler", "parameters": {"decodeProfile": "d", "prefillProfile": "p"`
	for _, tc := range []struct{ name, plugins, order, want string }{
		{"nested", disagg(nested + `, "deciders": {"prefill": ` + prefill + `, "encode": ` + encode + `}`), "dpe", "dpe"},
		{"another order", disagg(nested + `, "deciders": {"prefill": ` + prefill + `, "encode": ` + encode + `}`), "epd",
			"dpe"},
		{"prefill alone", disagg(nested + `, "deciders": {"prefill": ` + prefill + `}`), "ped", "dp"},
		{"encode alone", disagg(nested + `, "deciders": {"encode": ` + encode + `}`), "pde", "de"},
		{"prefill first", disagg(nested + `, "stageOrder": "prefill-first", "deciders": {"encode": ` + encode + `}`),
			"ped", "dpe"},
		{"decode first by another spelling", disagg(nested + `, "stageOrder": "decode_first"`), "ped", "d"},
		{"flat", disagg(flat + `, "prefillDeciderPluginName": ` + prefill + `, "encodeDeciderPluginName": ` + encode),
			"epd", "dpe"},
		{"flat, the oldest name", disagg(flat + `, "deciderPluginName": ` + prefill), "epd", "dp"},
		{"flat, both names", disagg(flat + `, "deciderPluginName": "nobody", "prefillDeciderPluginName": ` + prefill),
			"epd", "dp"},
		{"a pair", headers + `{"type": "paired-profile-handler", "parameters": {"decodeProfile": "d",
			"prefillProfile": "p"}}`, "epd", "dp"},
		{"legacy", always + pd + `, "deciderPluginName": ` + prefill + `}}`, "epd", "dp"},
		{"legacy by a threshold", pd + `, "threshold": 0}}`, "epd", "dp"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, byRole(tc.plugins, tc.order), plantest.Neutral)
			c := plantest.Cycle(plantest.Pool(plantest.Labelled("role", "p"), plantest.Labelled("role", "d"),
				plantest.Labelled("role", "e")), 1)
			if failure := c.Request.Read(new(openai.Request), openai.APIChat, []byte(pictured)); failure != nil {
				t.Fatal(failure.Message)
			}
			picked, failure := plan.Decide(c)
			if failure != nil {
				t.Fatal(failure.Message)
			}
			if got := roles(c, picked); got != tc.want {
				t.Errorf("stages run at %q, want %q", got, tc.want)
			}
		})
	}
}

// pictured is a chat about a picture, which all stages can have a part in.
const pictured = `{"model":"m","messages":[
				{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}]}`

// byRole is a configuration with plug-ins, and a profile for each role of those given, of the endpoints that have it.
func byRole(plugins, roles string) string {
	config, profiles := `{"plugins": [`+plugins, ""
	for _, name := range roles {
		config += `, {"type": "by-label", "name": "` + string(name) + `", "parameters": {"label": "role",
			"validValues": ["` + string(name) + `"]}}`
		profiles += `, {"name": "` + string(name) + `", "plugins": [{"pluginRef": "` + string(name) + `"}]}`
	}
	return config + `], "schedulingProfiles": [` + profiles[2:] + `]}`
}

// roles are those of where the request goes, and of what its headers name, prefill before encode.
func roles(c *scoring.Cycle, picked []*scoring.Endpoint) string {
	named := map[string]string{}
	for _, h := range c.RequestHeaders() {
		for _, e := range h.Endpoints {
			role, _ := e.Label("role")
			named[h.Name] += role
		}
	}
	role, _ := picked[0].Label("role")
	return role + named["mif-prefill-endpoint"] + named["mif-encode-endpoints"]
}

// TestStageMistakes: a mistake is said of the key that was written, nested or flat.
func TestStageMistakes(t *testing.T) {
	const at = "plugins[1](disagg-profile-handler).parameters."
	const undeclared = `: "x" is not the name of a declared plug-in; declared are disagg-headers-handler, ` +
		`disagg-profile-handler, d, p, e`
	const notAsked = ": is not asked with stageOrder: prefill-first, where prefill always runs; remove one of the two"
	for _, tc := range []struct{ name, parameters, want string }{
		{"a nested decider", `"profiles": {"decode": "d", "prefill": "p"}, "deciders": {"prefill": "x"}`,
			at + "deciders.prefill" + undeclared},
		{"a flat decider", `"decodeProfile": "d", "prefillProfile": "p", "prefillDeciderPluginName": "x"`,
			at + "prefillDeciderPluginName" + undeclared},
		{"the oldest name", `"decodeProfile": "d", "prefillProfile": "p", "deciderPluginName": "x"`,
			at + "deciderPluginName" + undeclared},
		{"a flat profile", `"decodeProfile": "x"`,
			at + `decodeProfile: no scheduling profile is named "x"; the profiles are d, p, e`},
		{"a nested profile", `"profiles": {"decode": "x"}`,
			at + `profiles.decode: no scheduling profile is named "x"; the profiles are d, p, e`},
		{"mixed with nested profiles", `"profiles": {"decode": "d"}, "prefillProfile": "p"`,
			at + "prefillProfile: is mixed with nested parameters; write it as profiles.prefill"},
		{"mixed with nested deciders", `"deciders": {}, "decodeProfile": "d"`,
			at + "decodeProfile: is mixed with nested parameters; write it as profiles.decode"},
		{"a decider that is not asked", `"stageOrder": "prefill-first", "profiles": {"decode": "d", "prefill": "p"},
			"deciders": {"prefill": "x"}`, at + "deciders.prefill" + notAsked},
		{"a flat decider that is not asked", `"stageOrder": "prefill-first", "decodeProfile": "d", "prefillProfile": "p",
			"deciderPluginName": "x"`, at + "deciderPluginName" + notAsked},
		{"another order", `"stageOrder": "encode-first", "profiles": {"decode": "d"}`, at + `stageOrder: "encode-first" ` +
			"is not one of decode-first, prefill-first, decode, decodefirst, decode_first, "},
		{"an unknown stage", `"profiles": {"decode": "d", "prefil": "p"}`,
			at + `profiles: unknown key "prefil"; did you mean prefill? known are decode, prefill, encode`},
		{"an unknown decider", `"profiles": {"decode": "d"}, "deciders": {"decode": "x"}`,
			at + `deciders: unknown key "decode"; known are prefill, encode`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, stageConfig(`{"type": "disagg-headers-handler", "parameters": {"prefillProfile": "p"}},
				{"type": "disagg-profile-handler", "parameters": {`+tc.parameters+`}}`), tc.want, "")
		})
	}
}

// TestFlatParameters: the operator is told of each deprecated parameter what it has become.
func TestFlatParameters(t *testing.T) {
	for parameter, nested := range map[string]string{
		`"decodeProfile": "d"`: "profiles.decode", `"prefillProfile": "x"`: "profiles.prefill",
		`"encodeProfile": "x"`: "profiles.encode", `"prefillDeciderPluginName": ""`: "deciders.prefill",
		`"encodeDeciderPluginName": ""`: "deciders.encode", `"deciderPluginName": ""`: "deciders.prefill",
	} {
		key, _, _ := strings.Cut(parameter[1:], `"`)
		plantest.CheckTold(t, `{"plugins": [{"type": "disagg-profile-handler", "parameters": {`+parameter+`}},
			{"type": "queue-scorer"}], "schedulingProfiles": [{"name": "d", "plugins": [{"pluginRef": "queue-scorer"}]},
			{"name": "decode", "plugins": [{"pluginRef": "queue-scorer"}]}]}`, "", `disagg-profile-handler: "`+key+
			`" is deprecated; write it as `+nested)
	}
}

// TestStagesOfLLMD: the handler itself tells the decode server of the prefill endpoint that was picked first and of all
// encode endpoints.
func TestStagesOfLLMD(t *testing.T) {
	const prefill, encode = `"prefill": "always-disagg-pd-decider"`, `"encode": "always-disagg-multimodal-decider"`
	for _, tc := range []struct{ name, parameters, want string }{
		{"both", `"deciders": {` + prefill + `, ` + encode + `}`, "x-prefiller-host-port=p x-encoder-hosts-ports=ee"},
		{"prefill", `"deciders": {` + prefill + `}`, "x-prefiller-host-port=p"},
		{"encode", `"deciders": {` + encode + `}`, "x-encoder-hosts-ports=ee"},
		{"prefill first", `"stageOrder": "prefill-first"`, "x-prefiller-host-port=p"},
		{"decode alone", `"stageOrder": ""`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config, profiles := `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "max-score-picker", "parameters":
				{"maxNumOfEndpoints": 2}}, `+always+`{"type": "disagg-profile-handler", "parameters": {`+tc.parameters+
				`}}`, ""
			for name, letter := range map[string]string{"decode": "d", "prefill": "p", "encode": "e"} {
				config += `, {"type": "by-label", "name": "` + letter + `", "parameters": {"label": "role",
					"validValues": ["` + letter + `"]}}`
				profiles += `, {"name": "` + name + `", "plugins": [{"pluginRef": "` + letter + `"}]}`
			}
			plan := plantest.Plan(t, config+`], "schedulingProfiles": [`+profiles[2:]+`]}`, plantest.Neutral)
			c := plantest.Cycle(plantest.Pool(plantest.Labelled("role", "d"), plantest.Labelled("role", "p"),
				plantest.Labelled("role", "p"), plantest.Labelled("role", "e"), plantest.Labelled("role", "e")), 1)
			if failure := c.Request.Read(new(openai.Request), openai.APIChat, []byte(`{"model":"m","messages":[
				{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}]}`)); failure != nil {
				t.Fatal(failure.Message)
			}
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			var told []string
			for _, h := range c.RequestHeaders() {
				text := h.Name + "="
				for _, e := range h.Endpoints {
					role, _ := e.Label("role")
					text += role
				}
				told = append(told, text)
			}
			if got := strings.Join(told, " "); got != tc.want {
				t.Errorf("told %q, want %q", got, tc.want)
			}
		})
	}
}
