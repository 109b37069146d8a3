package state

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/openai"
)

// TestBillingHeader: the turns of one of Claude Code's conversations have the same blocks and ids, whatever the hash in
// its billing header, and so does the prompt without one.
func TestBillingHeader(t *testing.T) {
	rest := strings.Repeat("You are Claude Code. ", 40)
	user := `{"role":"user","content":"hi"}`
	for _, tc := range []struct {
		name string
		api  openai.API
		body func(header string) string
	}{
		{"blocks", openai.APIMessages, func(header string) string {
			if header != "" {
				header = `{"type":"text","text":"` + header + `"},`
			}
			return `{"system":[` + header + `{"type":"text","text":"` + rest + `"}],"messages":[` + user + `]}`
		}},
		{"a string", openai.APIMessages, func(header string) string {
			if header != "" {
				header += `\n`
			}
			return `{"messages":[` + user + `],"system":"` + header + rest + `"}`
		}},
		{"a chat", openai.APIChat, func(header string) string {
			if header != "" {
				header += `\n`
			}
			return `{"messages":[{"content":"` + header + rest + `","role":"system"},` + user + `]}`
		}},
		{"instructions", openai.APIResponses, func(header string) string {
			if header != "" {
				header += `\n`
			}
			return `{"instructions":"` + header + rest + `","input":[` + user + `]}`
		}},
		{"an item", openai.APIResponses, func(header string) string {
			if header != "" {
				header += `\n`
			}
			return `{"input":[{"content":"` + header + rest + `","role":"system"},` + user + `]}`
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cut := func(header string) (blocks, ids []uint64, count int) {
				body := tc.body(header)
				r := scanned(t, tc.api, body)
				ids, _ = new(Hasher).IDBlocks(nil, nil, "m", r, []byte(body), Chain{BlockBytes: 64, IDs: true}, 99, nil)
				return hashes(t, tc.api, body, 16, 99), ids, CountIDs(r, []byte(body), nil)
			}
			blocks, ids, count := cut("")
			if len(blocks) < 10 || len(ids) < 10 {
				t.Fatalf("%d and %d blocks of %d bytes", len(blocks), len(ids), len(rest))
			}
			for _, hash := range []string{"a1b2c", "d3e4f"} {
				otherBlocks, otherIDs, otherCount := cut(
					"x-anthropic-billing-header: cc_version=2.1.37.3a3; cc_entrypoint=cli; cch=" + hash + ";")
				if !slices.Equal(blocks, otherBlocks) || !slices.Equal(ids, otherIDs) || count != otherCount {
					t.Errorf("cch=%s: %d ids or other blocks, want %d ids and the blocks as without a header", hash,
						otherCount, count)
				}
			}
		})
	}
}
