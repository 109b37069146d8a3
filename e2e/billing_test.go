package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/openai"
)

// TestBilling: Claude Code's billing header, which differs from request to request, reaches the server, but prompts are
// compared without it where servers leave it out.
func TestBilling(t *testing.T) {
	const header = openai.BillingHeader + `: cc_version=2.1.37; cch=HASH;`
	tests := []struct {
		name, path, body string
		cached           bool
	}{
		{"a block of a message", "/v1/messages", `{"max_tokens":2,"system":[{"type":"text","text":"` + header +
			`"},{"type":"text","text":"TEXT"}],"messages":[{"role":"user","content":"hi"}]`, true},
		{"a chat", chatPath, `{"messages":[{"role":"system","content":"` + header +
			`\nTEXT"},{"role":"user","content":"hi"}]`, true},
		{"instructions", "/v1/responses", `{"instructions":"` + header + `\nTEXT","input":"hi"`, true},
		{"a system message of an input", "/v1/responses", `{"input":[{"role":"system","content":"` + header +
			`\nTEXT"},{"role":"user","content":"hi"}]`, true},
		{"a part of an input", "/v1/responses", `{"input":[{"role":"system","content":[{"type":"input_text","text":"` +
			header + `\nTEXT"}]},{"role":"user","content":"hi"}]`, false},
		{"a user's text", "/v1/responses", `{"input":"` + header + `\nTEXT"`, false},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		for i, test := range tests {
			text := strings.Repeat(fmt.Sprintf("%020d ", time.Now().UnixNano()), 40)
			ask := func(hash string) (server string, known map[string]float64) {
				body := strings.NewReplacer("HASH", hash, "TEXT", text).Replace(test.body) + `,"model":"sim-model"}`
				got, r := f.sendTo(t, "prefix", test.path, body, i%2 == 1)
				f.wantArrival(t, test.name, passage{http2: i%2 == 1}, r, body)
				return got.Server(), scores(t, got)
			}
			first, _ := ask("a1b2c")
			if _, known := ask("d3e4f"); (known[first] > 0) != test.cached {
				t.Errorf("%s: %s is scored %v for the same prompt with another hash, want above 0: %v", test.name,
					first, known[first], test.cached)
			}
		}
	})
}
