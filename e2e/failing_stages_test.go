package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestFailingPrefill: behind a decode server that fails what its prefill servers fail, one that died is found out and
// left out, and the stage where there is no other one.
func TestFailingPrefill(t *testing.T) {
	const requests, most = 60, 6 + 1 // as in TestFailingEndpoint
	inCells(t, func(t *testing.T, f *fixture) {
		named := func(role, address string) harness.Endpoint {
			return harness.Endpoint{Name: fmt.Sprint(role, "-", time.Now().UnixNano()), Address: address,
				Labels: map[string]string{roleLabel: role}}
		}
		decode, died, alive := named("decode", f.scripted.Address), named("prefill", f.dead[0]),
			named("prefill", f.servers[2].Address)
		f.scripted.Script(t, func(w http.ResponseWriter, r *http.Request) {
			prefill := r.Header.Get("mif-prefill-endpoint")
			if strings.Contains(prefill, died.Address) {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			w.Header().Set("x-sim-server", "prefilled by "+prefill)
			_, _ = io.WriteString(w, "{}")
		})
		ask := func() harness.Answer {
			return harness.Send(t, harness.Client(t, true),
				harness.Request(t, http.MethodPost, f.URL("canonical", "/v1/completions"), completion(400), false))
		}
		f.Publish(t, decode, died, alive)
		lost := 0
		for range requests {
			if got := ask(); got.Status == http.StatusBadGateway {
				lost++
			} else if got.Status != http.StatusOK || got.Server() != "prefilled by "+alive.Address {
				t.Errorf("got %d, %s, want 200, prefilled by %s", got.Status, got.Server(), alive.Address)
			}
		}
		if lost > most {
			t.Errorf("%d of %d requests failed, want at most %d", lost, requests, most)
		}
		f.Publish(t, decode, died)
		for range 5 {
			if got := ask(); got.Status != http.StatusOK || got.Server() != "prefilled by " {
				t.Errorf("got %d, %q, want 200, prefilled by nobody", got.Status, got.Server())
			}
		}
	})
}
