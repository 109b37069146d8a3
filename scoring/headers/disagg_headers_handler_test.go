package headers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestOwnedHeaders: what tells the decode server of other stages comes from the plug-in alone, under whatever names.
func TestOwnedHeaders(t *testing.T) {
	tests := []struct {
		name, parameters string
		want             []string
	}{
		{"default", `{}`, []string{"mif-encode-endpoints", "mif-prefill-endpoint"}},
		{"named", `{"prefillHeader": "x-p", "encodeHeader": "x-e"}`, []string{"x-e", "x-p"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "disagg-headers-handler", "parameters": `+tc.parameters+
				`}]}`, plantest.Neutral)
			if got := slices.Sorted(slices.Values(plan.OwnedHeaders())); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestStageHeaders: the decode server learns of the prefill endpoint that was picked first and of all encode endpoints,
// and of no stage that did not run.
func TestStageHeaders(t *testing.T) {
	const text = `"x"`
	const image = `[{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]`
	for _, tc := range []struct {
		name, kind, parameters string
		order, content         string // of the profiles, and of the request
		want                   string
	}{
		{"both", "disagg-headers-handler", ``, "dpe", image, "mif-prefill-endpoint=p mif-encode-endpoints=e,e"},
		{"another order", "disagg-headers-handler", ``, "epd", image, "mif-prefill-endpoint=p mif-encode-endpoints=e,e"},
		{"prefill in front", "disagg-headers-handler", ``, "ped", image,
			"mif-prefill-endpoint=p mif-encode-endpoints=e,e"},
		{"prefill alone", "prefill-header-handler", ``, "dpe", text, "mif-prefill-endpoint=p"},
		{"other headers", "disagg-headers-handler", `"prefillHeader": "X-P", "encodeHeader": "X-E", `, "dpe", image,
			"x-p=p x-e=e,e"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, staged(tc.order, `{"type": "`+tc.kind+`", "parameters": {`+tc.parameters+
				`"prefillProfile": "p", "encodeProfile": "e"}}`), plantest.Neutral)
			var endpoints []scoring.Endpoint
			for _, role := range "dppxee" {
				endpoints = append(endpoints, plantest.Labelled("role", string(role)))
			}
			c := plantest.Cycle(plantest.Pool(endpoints...), 1)
			body := []byte(`{"model": "m", "messages": [{"role": "user", "content": ` + tc.content + `}]}`)
			if failure := c.Request.Read(new(openai.Request), openai.APIChat, body); failure != nil {
				t.Fatal(failure.Message)
			}
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			if got := told(c); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			c.Pool = plantest.Pool(endpoints[0])
			if _, failure := plan.Decide(c); failure != nil || told(c) != "" {
				t.Errorf("where nobody runs another stage: got %q and %v, want nothing", told(c), failure)
			}
		})
	}
	plan := plantest.Plan(t, `{"plugins": [{"type": "disagg-headers-handler"}, {"type": "queue-scorer"}]}`,
		plantest.Neutral)
	c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1)
	if _, failure := plan.Decide(c); failure != nil || told(c) != "" {
		t.Errorf("without the profiles: got %q and %v, want nothing", told(c), failure)
	}
}

// staged is a document with the profiles d, p and e, each of the endpoints with a label of the same value, of which the
// picker takes two.
func staged(order, handler string) string {
	config, profiles := `{"plugins": [`+handler+`, {"type": "always-disagg-pd-decider"},
		{"type": "always-disagg-multimodal-decider"}, {"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": 2}},
		{"type": "disagg-profile-handler", "parameters": {"profiles": {"decode": "d", "prefill": "p", "encode": "e"},
		"deciders": {"prefill": "always-disagg-pd-decider", "encode": "always-disagg-multimodal-decider"}}}`, ""
	for _, name := range order {
		config += `, {"type": "by-label", "name": "` + string(name) + `", "parameters": {"label": "role",
			"validValues": ["` + string(name) + `"]}}`
		profiles += `, {"name": "` + string(name) + `", "plugins": [{"pluginRef": "` + string(name) + `"}]}`
	}
	return config + `], "schedulingProfiles": [` + profiles[2:] + `]}`
}

// told are the headers that a request gets, with the roles of endpoints.
func told(c *scoring.Cycle) string {
	var headers []string
	for _, h := range c.RequestHeaders() {
		var roles []string
		for _, e := range h.Endpoints {
			role, _ := e.Label("role")
			roles = append(roles, role)
		}
		headers = append(headers, h.Name+"="+strings.Join(roles, ","))
	}
	return strings.Join(headers, " ")
}

// TestHeadersMistakes: a header has a name, and a profile that is named exists.
func TestHeadersMistakes(t *testing.T) {
	const at = "plugins[0](disagg-headers-handler).parameters."
	for _, tc := range []struct{ name, parameters, want string }{
		{"no prefill header", `"prefillHeader": ""`, at + "prefillHeader: is empty; give the header's name"},
		{"no encode header", `"encodeHeader": ""`, at + "encodeHeader: is empty; give the header's name"},
		{"no profile of the usual names", ``, ""},
		{"no prefill profile", `"prefillProfile": "prefill"`,
			at + `prefillProfile: no scheduling profile is named "prefill"; the profiles are default`},
		{"no encode profile", `"encodeProfile": "encode"`,
			at + `encodeProfile: no scheduling profile is named "encode"; the profiles are default`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := plantest.Mistakes(`{"plugins": [{"type": "disagg-headers-handler", "parameters": {` +
				tc.parameters + `}}]}`); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
