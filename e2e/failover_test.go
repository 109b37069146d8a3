package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestFailOver: when the best endpoints are dead, the ranked list leads to one that lives, every time.
func TestFailOver(t *testing.T) {
	const requests = 20
	inCells(t, func(t *testing.T, f *fixture) {
		if !f.Cell.OverrideHost() {
			t.Skip("an ORIGINAL_DST cluster tries the same address again")
		}
		endpoints := f.pool()
		endpoints[2].Waiting = 5
		for i, address := range f.dead {
			endpoints = append(endpoints,
				harness.Endpoint{Name: "dead-" + address, Address: address, Waiting: uint32(i)})
		}
		f.Publish(t, endpoints...)
		f.forget(t)
		for i := range requests {
			wantServer(t, f.chat(t, "requests", i%2 == 1), "sim-2")
		}
		want := strings.Join([]string{f.dead[0], f.dead[1], f.servers[2].Address}, ",")
		for _, r := range f.received("sim-2") {
			if got := r.Headers["x-gateway-destination-endpoint"]; len(got) != 1 || got[0] != want {
				t.Errorf("server received the ranked list %q, want %q", got, want)
			}
			if r.BodySHA256 != sha(chatBody) {
				t.Errorf("server received the body %q after two retries, want %q", r.Body, chatBody)
			}
		}
	})
}

// TestDeadEndpoint: without a ranked list a dead endpoint is answered 503 at once, by Envoy.
func TestDeadEndpoint(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		if f.Cell.OverrideHost() {
			t.Skip("override_host fails over")
		}
		f.Publish(t, harness.Endpoint{Name: "dead", Address: f.dead[0]})
		if got := f.chat(t, "requests", false); got.Status != http.StatusServiceUnavailable ||
			got.Header.Get("X-Pintle-Reason") != "" {
			t.Errorf("got %d %q, want 503 without a reason of Pintle", got.Status, got.Header.Get("X-Pintle-Reason"))
		}
	})
}
