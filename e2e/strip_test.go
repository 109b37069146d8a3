package e2e

import (
	"net/http"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestStrip: the headers that the configuration names do not reach a server, whatever kind of request has them; others
// do.
func TestStrip(t *testing.T) {
	requests := []struct{ name, method, path, body string }{
		{"a judged one", http.MethodPost, chatPath, chatBody},
		{"one without a body", http.MethodGet, "/v1/models", ""},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		received := make(chan http.Header, 1)
		f.scripted.Script(t, func(_ http.ResponseWriter, r *http.Request) { received <- r.Header })
		f.Publish(t, harness.Endpoint{Name: "scripted", Address: f.scripted.Address})
		for _, tc := range requests {
			for _, http2 := range []bool{false, true} {
				request := harness.Request(t, tc.method, f.URL("requests", tc.path), tc.body, false)
				request.Header["X-Data-Parallel-Rank"] = []string{"1", "2"}
				request.Header.Set("x-vllm-priority", "3")
				if got := harness.Send(t, harness.Client(t, http2), request); got.Status != http.StatusOK {
					t.Fatalf("%s: got %d, want 200: %s", tc.name, got.Status, got.Body)
				}
				got := <-received
				rank, priority := got.Values("x-data-parallel-rank"), got.Values("x-vllm-priority")
				if len(rank) != 0 || !slices.Equal(priority, []string{"3"}) {
					t.Errorf("%s: the server received the rank %q and the priority %q, want none and 3", tc.name, rank,
						priority)
				}
			}
		}
	})
}
