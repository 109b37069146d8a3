package e2e

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/e2e/harness"
)

// TestStartUp: the time from the start of Envoy to its first routed request. The aim is two seconds on an idle machine; what is
// asserted leaves room for a busy one.
func TestStartUp(t *testing.T) {
	const most = 10 * time.Second
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			start := time.Now()
			envoy := freshEnvoy(t, cell)
			status, server, err := ask(harness.Client(t, false), envoy.URL("requests", chatPath))
			took := time.Since(start)
			if err != nil || status != 200 {
				t.Fatalf("got %d from %q, %v", status, server, err)
			}
			t.Logf("%v from start to the first routed request", took)
			if took > most {
				t.Errorf("took %v, want at most %v", took, most)
			}
		})
	}
}
