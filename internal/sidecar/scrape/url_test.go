package scrape

import (
	"strings"
	"testing"
)

// TestMessagesNameThePage: what is wrong with a page is not hidden behind the names of all metrics that it was asked
// for.
func TestMessagesNameThePage(t *testing.T) {
	f := newFetcher(t.Context(), "127.0.0.1:1", nil)
	f.aim("/metrics/?name%5B%5D=vllm%3Anum_requests_waiting", 0)
	if want := "http://127.0.0.1:1/metrics/"; f.url != want {
		t.Errorf("got %s, want %s", f.url, want)
	}
	if request := string(f.bytes); !strings.HasPrefix(request, "GET /metrics/?name%5B%5D=vllm%3Anum") {
		t.Errorf("got the request %q, want the names in it", request)
	}
}
