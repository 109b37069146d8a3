package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestWarnings: Envoy's log tells of a plug-in that nothing refers to, and a whole number may be written as templates
// write it.
func TestWarnings(t *testing.T) {
	t.Parallel()
	plugin := alone("queue-scorer")
	plugin["config"] = map[string]any{
		"plugins": []map[string]any{{"type": "queue-scorer"}, {"type": "kv-cache-utilization-scorer"},
			{"type": "max-score-picker", "parameters": map[string]any{"maxNumOfEndpoints": json.Number("1e+00")}}},
		"schedulingProfiles": []map[string]any{{"name": "default",
			"plugins": []map[string]any{{"pluginRef": "queue-scorer"}, {"pluginRef": "max-score-picker"}}}},
	}
	l := newLab(t, harness.Options{}, recoveryCells[0], plugin)
	const want = "pintle: kv-cache-utilization-scorer: has no effect: nothing in the document refers to it"
	harness.WaitFor(t, 20*time.Second, "a line with "+want,
		func() (bool, string) { return strings.Contains(l.Log(), want), l.Log() })
	got := harness.Send(t, harness.Client(t, false),
		harness.Request(t, http.MethodPost, l.URL("requests", chatPath), chatBody, false))
	wantError(t, got, http.StatusServiceUnavailable, "no_endpoints") // its configuration was taken
}
