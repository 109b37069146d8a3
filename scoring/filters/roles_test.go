package filters_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestRoles: which roles pass in each dialect, and that the parameter chooses another one's label and roles.
func TestRoles(t *testing.T) {
	const heimdall, llmd = "mif.moreh.io/role", "llm-d.ai/role"
	const decode = "decode prefill-decode both encode-prefill-decode none"
	const prefill = "prefill encode-prefill prefill-decode both encode-prefill-decode"
	const encode = "encode encode-prefill encode-prefill-decode"
	for _, tc := range []struct{ name, kind, dialect, parameters, label, want string }{
		{"decode", "decode-filter", ``, `{}`, heimdall, "decode both none"},
		{"prefill", "prefill-filter", ``, `{}`, heimdall, "prefill"},
		{"encode", "encode-filter", ``, `{}`, heimdall, encode},
		{"decode of llm-d", "decode-filter", "llm-d.ai/v1", `{}`, llmd, decode},
		{"prefill of llm-d", "prefill-filter", "llm-d.ai/v1", `{}`, llmd, prefill},
		{"encode of llm-d", "encode-filter", "llm-d.ai/v1", `{}`, llmd, encode},
		{"decode as in llm-d", "decode-filter", ``, `{"roles": "llm-d"}`, llmd, decode},
		{"prefill as in llm-d", "prefill-filter", ``, `{"roles": "llm-d"}`, llmd, prefill},
		{"encode as in llm-d", "encode-filter", ``, `{"roles": "llm-d"}`, llmd, encode},
		{"decode as in Heimdall", "decode-filter", "llm-d.ai/v1", `{"roles": "heimdall"}`, heimdall, "decode both none"},
		{"prefill as in Heimdall", "prefill-filter", "llm-d.ai/v1", `{"roles": "heimdall"}`, heimdall, "prefill"},
		{"encode as in Heimdall", "encode-filter", "llm-d.ai/v1", `{"roles": "heimdall"}`, heimdall, encode},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := `{"plugins": [{"type": "` + tc.kind + `", "parameters": ` + tc.parameters + `}]}`
			if tc.dialect != "" {
				config = `{"apiVersion": "` + tc.dialect + `", ` + config[1:]
			}
			var pool []scoring.Endpoint
			for _, role := range []string{"decode", "prefill", "encode", "encode-prefill", "prefill-decode", "both",
				"encode-prefill-decode", "another"} {
				e := plantest.Labelled(tc.label, role)
				e.Name = role
				pool = append(pool, e)
			}
			pool = append(pool, scoring.Endpoint{Name: "none"})
			plan := plantest.Plan(t, config, plantest.Neutral)
			removed := plantest.Decide(plan, plantest.Cycle(plantest.Pool(pool...), 1)).Removed
			for _, e := range pool {
				if want := strings.Contains(" "+tc.want+" ", " "+e.Name+" "); (removed[e.Name] == "") != want {
					t.Errorf("%s is kept: %v, want %v", e.Name, !want, want)
				}
			}
		})
	}
}
