package main_test

import (
	"strings"
	"testing"
)

// byFactors has latencies measured, and tokens counted with them.
const byFactors = `{"plugins":[{"type":"multi-factor-scorer"}]}`

func TestCompletionsTellTokens(t *testing.T) {
	const (
		chunk = `data: {"choices":[{"delta":{"content":"x"}}]}` + "\n\n"
		usage = `"usage":{"prompt_tokens":40,"completion_tokens":7,"total_tokens":47,"prompt_tokens_details":{"cached_tokens":32}}`
		done  = "data: [DONE]\n\n"
	)
	tests := []struct {
		name   string
		frames []string
		want   [3]uint32
		cached bool
	}{
		{"JSON", []string{`{"choices":[],` + usage + `}`}, [3]uint32{40, 7, 32}, true},
		{"JSON in pieces", []string{`{"choices":[],"usa`, `ge":{"prompt_tokens":40,"completion_to`, `kens":7}}`},
			[3]uint32{40, 7, 0}, false},
		{"a stream that reports", []string{chunk, chunk, `data: {"choices":[],` + usage + "}\n\n", done},
			[3]uint32{40, 7, 32}, true},
		{"a stream that does not", []string{chunk, chunk + chunk, chunk, chunk + done}, [3]uint32{0, 4, 0}, false},
		{"JSON behind a byte order mark", []string{"\xef\xbb", "\xbf{" + usage + "}"}, [3]uint32{40, 7, 32}, true},
		{"a stream behind a byte order mark", []string{"\xef\xbb\xbfdata: {" + usage + "}\n\n", done},
			[3]uint32{40, 7, 32}, true},
		{"an empty stream", []string{done}, [3]uint32{}, false},
		{"no JSON at all", []string{"hello"}, [3]uint32{}, false},
	}
	eachMode(t, func(t *testing.T, m mode) {
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				g := newGateway(t, m, 1, m.configuration(byFactors, ""))
				g.publish(newPool(0))
				s := g.workers[0].ask()
				s.SetServer(address(0))
				s.Respond(nil, false)
				for i, frame := range tc.frames {
					s.RespondBody([]byte(frame), i == len(tc.frames)-1)
				}
				all := g.completions()
				if len(all) != 1 {
					t.Fatalf("got %d completions, want 1", len(all))
				}
				if got := [3]uint32{all[0].InputTokens, all[0].OutputTokens, all[0].CachedTokens}; got != tc.want {
					t.Errorf("got %v input, output and cached tokens, want %v", got, tc.want)
				}
				if got := all[0].CachedReported; got != tc.cached {
					t.Errorf("cached tokens reported: got %v, want %v", got, tc.cached)
				}
				if got, want := string(s.ResponseBody()), strings.Join(tc.frames, ""); got != want {
					t.Errorf("the client got %q, want %q", got, want)
				}
			})
		}
	})
}
