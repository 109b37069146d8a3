package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// withCluster adds a cluster to Envoy's configuration.
func withCluster(name, address string) func(string) string {
	host, port, _ := strings.Cut(address, ":")
	place := fmt.Sprintf("socket_address: {address: %s, port_value: %s}", host, port)
	if strings.HasPrefix(address, "/") {
		place = "pipe: {path: " + address + "}"
	}
	cluster := fmt.Sprintf(`  clusters:
  - name: %[1]s
    connect_timeout: 1s
    type: STATIC
    load_assignment:
      cluster_name: %[1]s
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {%[2]s}}
`, name, place)
	return func(config string) string { return strings.Replace(config, "  clusters:\n", cluster, 1) }
}

// TestAsking: while a cluster is asked, the request is held whole, and goes on when the answer is there, or when it is
// clear that none comes.
func TestAsking(t *testing.T) {
	gone := make(chan struct{}, 100)
	consult := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch text := string(body); {
		case strings.Contains(text, "be slow"):
			select {
			case <-r.Context().Done():
			case <-time.After(2 * time.Second):
			}
			gone <- struct{}{}
		case strings.Contains(text, "ask again"):
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprint(w, "the second question")
		case strings.Contains(text, "refuse"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "not you")
		default:
			fmt.Fprintf(w, "%d bytes at %s", len(body), r.URL.Path)
		}
	}))
	defer consult.Close()
	ask := func(cluster, word string, size int) string {
		return fmt.Sprintf(
			`{"model":"sim-model","max_tokens":1,"messages":[{"role":"user","content":"ask-the-cluster %s"}],"user":"%s%s"}`,
			cluster, word, strings.Repeat("u", size))
	}
	tests := []struct {
		name, body string
		status     int
		answer     string
	}{
		{"an answer", ask("consult", "", 0), 200, "200 " + fmt.Sprint(len(ask("consult", "", 0))) + " bytes at /first"},
		{"300 KB", ask("consult", "", 300_000), 200,
			"200 " + fmt.Sprint(len(ask("consult", "", 300_000))) + " bytes at /first"},
		{"asked again", ask("consult", "ask again", 0), 200, "200 19 bytes at /again"},
		{"refused", ask("consult", "refuse", 0), 403, ""},
		{"too slow", ask("consult", "be slow", 0), 200, "504 upstream request timeout"},
		{"unknown cluster", ask("nobody", "", 0), 200, "0 "},
	}
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			o := harness.Options{Module: "pintle-failpoint.wasm",
				Edit: withCluster("consult", consult.Listener.Addr().String())}
			plugin := alone("active-request-scorer")
			delete(plugin, "debug")
			l := newLab(t, o, cell, plugin)
			l.LogOnFailure(t)
			l.Publish(t, l.endpoints()...)
			for _, tc := range tests {
				x := l.exchange(t, "requests", tc.body)
				if x.status != tc.status || x.cut || strings.TrimSpace(x.explained) != strings.TrimSpace(tc.answer) {
					t.Errorf("%s: got %v and %q, want %d and %q", tc.name, x, x.explained, tc.status, tc.answer)
				}
			}
			for range 10 { // clients that leave while the cluster is asked
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				request, _ := http.NewRequestWithContext(ctx, http.MethodPost, l.URL("requests", chatPath),
					strings.NewReader(ask("consult", "be slow", 0)))
				if response, err := harness.Client(t, false).Do(request); err == nil {
					_ = response.Body.Close()
					t.Error("an answer came before the cluster's")
				}
				cancel()
			}
			if x := l.exchange(t, "requests", chatBody); x.status != http.StatusOK {
				t.Errorf("after the clients left: got %v", x)
			}
			l.wantRest(t, 20*time.Second)
		})
	}
}
