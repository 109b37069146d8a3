package e2e

import (
	"net/http"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestUnreadFailOver: requests that go to a server by chance, as no model computes anything for them, are tried
// elsewhere, too, when that one is dead.
func TestUnreadFailOver(t *testing.T) {
	const requests = 20 // half of them meet the dead server first
	for _, name := range []string{"envoy.yaml", "envoy.override-host.yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := loadShipped(t, name)
			envoy, err := harness.StartText(s.text, s.admin)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(envoy.Stop)
			envoy.LogOnFailure(t)
			s.publish(t, []harness.Endpoint{{Name: "dead", Address: s.dead},
				{Name: s.servers[0].Name, Address: s.servers[0].Address}})
			for _, tc := range []struct{ method, path, body string }{
				{http.MethodGet, "/v1/models", ""},
				{http.MethodPost, "/tokenize", `{"model":"sim-model","prompt":"hello"}`},
			} {
				for i := range requests {
					got := harness.Send(t, harness.Client(t, i%2 == 1),
						harness.Request(t, tc.method, "http://"+s.requests+tc.path, tc.body, false))
					if got.Status != http.StatusOK || got.Server() != "sim-0" {
						t.Fatalf("%s %s: got %d from %q, want 200 from sim-0", tc.method, tc.path, got.Status,
							got.Server())
					}
				}
			}
		})
	}
}
