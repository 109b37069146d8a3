package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// explanation is what x-pintle-explain says.
type explanation struct {
	Picked      []string
	Mix         [][]any
	Scores      [][]any
	FilteredOut [][]any
}

// explained reads an answer's x-pintle-explain.
func explained(t testing.TB, got harness.Answer) (e explanation) {
	t.Helper()
	header := got.Header.Get("X-Pintle-Explain")
	if err := json.Unmarshal([]byte(header), &e); err != nil {
		t.Fatalf("x-pintle-explain is %q: %v", header, err)
	}
	return e
}

// TestExplain: with debug the answer says how it was decided, and without it nothing.
func TestExplain(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		for _, http2 := range []bool{false, true} {
			got := f.chat(t, "debug", http2)
			wantServer(t, got, "sim-0")
			e := explained(t, got)
			if len(e.Picked) == 0 || e.Picked[0] != "sim-0" {
				t.Errorf("picked is %q, want sim-0 first", e.Picked)
			}
			want := []any{"default", "sim-0", "queue-scorer", 1.0}
			if !slices.ContainsFunc(e.Scores, func(score []any) bool { return slices.Equal(score, want) }) {
				t.Errorf("scores are %v, want %v among them", e.Scores, want)
			}
			if header := f.chat(t, "requests", http2).Header.Get("X-Pintle-Explain"); header != "" {
				t.Errorf("without debug x-pintle-explain is %q, want none", header)
			}
		}
	})
}

// TestExplainOddNames: whatever an endpoint is called, clients can read the header; Go's refuses an answer with a
// U+007F in one.
func TestExplainOddNames(t *testing.T) {
	const odd = "a\x7f \"b\" \\ \n\x01é😀"
	inCells(t, func(t *testing.T, f *fixture) {
		f.Publish(t, harness.Endpoint{Name: odd, Address: f.servers[0].Address})
		for _, http2 := range []bool{false, true} {
			got := f.chat(t, "debug", http2)
			if e := explained(t, got); got.Status != http.StatusOK || !slices.Equal(e.Picked, []string{odd}) {
				t.Errorf("got %d, picked %q, want 200 and %q", got.Status, e.Picked, odd)
			}
		}
	})
}
