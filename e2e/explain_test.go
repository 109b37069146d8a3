package e2e

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestExplain: with debug the answer says how it was decided, and without it nothing.
func TestExplain(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		for _, http2 := range []bool{false, true} {
			got := f.chat(t, "debug", http2)
			wantServer(t, got, "sim-0")
			var explanation struct {
				Picked []string
				Scores [][]any
			}
			header := got.Header.Get("X-Pintle-Explain")
			if err := json.Unmarshal([]byte(header), &explanation); err != nil {
				t.Fatalf("x-pintle-explain is %q: %v", header, err)
			}
			if len(explanation.Picked) == 0 || explanation.Picked[0] != "sim-0" {
				t.Errorf("picked is %q, want sim-0 first", explanation.Picked)
			}
			want := []any{"default", "sim-0", "queue-scorer", 1.0}
			if !slices.ContainsFunc(explanation.Scores, func(score []any) bool { return slices.Equal(score, want) }) {
				t.Errorf("scores are %v, want %v among them", explanation.Scores, want)
			}
			if header := f.chat(t, "requests", http2).Header.Get("X-Pintle-Explain"); header != "" {
				t.Errorf("without debug x-pintle-explain is %q, want none", header)
			}
		}
	})
}
