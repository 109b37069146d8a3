package scoring_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestHeaderNames: every plug-in takes the same names of headers, in any case, and refuses at the start what can be
// none.
func TestHeaderNames(t *testing.T) {
	const empty = "is empty; "
	tests := []struct{ plugin, parameters, key, empty string }{
		{"header-profile-handler", `"headerName": NAME`, "headerName", ""},
		{"routing-strategy-handler", `"header": NAME`, "header", empty + "name the request header that names the strategy"},
		{"disagg-headers-handler", `"prefillHeader": NAME`, "prefillHeader", empty + "give the header's name"},
		{"disagg-headers-handler", `"encodeHeader": NAME`, "encodeHeader", empty + "give the header's name"},
		{"disaggregatedset-rollout-screener", `"scope": {"labelSelector": "a=b"}, "revisionGating": {
			"mode": "disabled", "revisionHeaderName": NAME}`, "revisionGating.revisionHeaderName", ""},
		{"disaggregatedset-rollout-screener", `"scope": {"labelSelector": "a=b"}, "revisionGating": {
			"mode": "disabled"}, "headerSelectors": [{"headerName": NAME, "labelKey": "l", "mode": "strict"}]`,
			"headerSelectors[0].headerName", empty + "a header selector has a headerName, a labelKey and a mode"},
		{"header-label-affinity-scorer", `"headerName": NAME, "labelKey": "l"`, "headerName",
			empty + "name the header whose value is compared"},
		{"session-affinity-scorer", `"headerName": NAME`, "headerName", ""},
		{"session-affinity-scorer", `"encodedEndpointHeaderConfig": {"header": NAME}`,
			"encodedEndpointHeaderConfig.header", ""},
		{"session-affinity-filter", `"strategy": "session_id", "sessionIdConfig": {"sources": [{"header": NAME}]}`,
			"sessionIdConfig.sources[0].header", "; give one of header, body, attribute"},
		{"session-id-producer", `"headerName": NAME`, "headerName", empty + "give headerName or cookieName"},
		{"agent-identity", `"additionalSessionHeaders": [NAME]`, "additionalSessionHeaders",
			`"" is not the name of a header; one such as x-session-id is right`},
		{"vtc-basic", `"userHeader": NAME`, "userHeader", empty + "name the request header that names the user"},
	}
	for _, test := range tests {
		t.Run(test.plugin+" "+test.key, func(t *testing.T) {
			mistakes := func(name string) string {
				return plantest.Mistakes(`{"plugins": [{"type": "` + test.plugin + `", "parameters": {` +
					strings.Replace(test.parameters, "NAME", name, 1) + `}}]}`)
			}
			at := "plugins[0](" + test.plugin + ").parameters." + test.key + ": "
			for _, name := range []string{`"x y"`, `":path"`, `"x:"`, `"é"`} {
				want := at + name + " is not the name of a header; one such as x-session-id is right"
				if got := mistakes(name); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
			for _, name := range []string{`"X-User"`, `"x_y.1"`, `"Disagg!"`} {
				if got := mistakes(name); got != "" {
					t.Errorf("%s: got %q, want no mistake", name, got)
				}
			}
			if got := mistakes(`""`); !strings.HasSuffix(got, test.empty) || (got == "") != (test.empty == "") {
				t.Errorf("empty: got %q, want %q", got, test.empty)
			}
		})
	}
}
