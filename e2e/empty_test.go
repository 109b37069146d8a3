package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestScaledToZero: while a sidecar's list has no server requests of all kinds wait for one, at the start and when the
// last one has left; Envoy's statistics say that they do, and they are served when there is one.
func TestScaledToZero(t *testing.T) {
	requests := []struct{ method, path, body string }{
		{http.MethodPost, chatPath, chatBody}, {http.MethodGet, "/v1/models", ""},
		{http.MethodPost, "/tokenize", chatBody},
	}
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			plugin := alone("queue-scorer")
			plugin["empty"] = map[string]any{"wait": "60s"}
			l := newLab(t, harness.Options{}, cell, plugin)
			l.LogOnFailure(t)
			list := filepath.Join(t.TempDir(), "servers.yaml")
			scale := func(servers ...*harness.Server) {
				var lines strings.Builder
				for _, s := range servers {
					fmt.Fprintf(&lines, "{name: %q, address: %q, engine: vllm},", s.Name, s.Address)
				}
				if err := os.WriteFile(list, []byte("endpoints: ["+lines.String()+"]\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			scale()
			harness.StartSidecarWith(t, fmt.Sprintf(
				"envoy: {ingest: %q, token: %q}\nadmin: {address: \"127.0.0.1:0\"}\ndiscovery: {file: %q}\n",
				l.URL("ingest", harness.IngestPath), harness.Token, list))
			answers := make(chan string)
			ask := func() {
				for i, r := range requests {
					request := harness.Request(t, r.method, l.URL("requests", r.path), r.body, r.body != "" && i > 0)
					client := harness.Client(t, i%2 == 1)
					go func() {
						response, err := client.Do(request)
						if err != nil {
							answers <- err.Error()
							return
						}
						_ = response.Body.Close()
						answers <- fmt.Sprint(response.StatusCode, response.Header.Get("X-Pintle-Reason"))
					}()
				}
			}
			// Of the listener rest nobody waits: it says when the workers know how many servers there are.
			wantServers := func(status int) {
				harness.WaitFor(t, 20*time.Second, fmt.Sprint("a status of ", status), func() (bool, string) {
					x := l.exchange(t, "rest", chatBody)
					return x.status == status, x.String()
				})
			}
			for round := range int64(2) {
				ask()
				l.wantStat(t, "wasmcustom.pintle.requests.waited", (round+1)*int64(len(requests)))
				scale(l.servers[round])
				for range requests {
					if got := <-answers; got != "200" {
						t.Errorf("round %d: a request that waited got %s, want 200", round, got)
					}
				}
				wantServers(http.StatusOK)
				scale()
				wantServers(http.StatusServiceUnavailable)
			}
		})
	}
}
