//go:build vllm && linux

package vllm

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestAbort: an answer that its client breaks off is gone from the engine at once, whoever holds the requests.
func TestAbort(t *testing.T) {
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			g := open(t, cell, nil, nil)
			stop := openStream(t, g.URL("requests", ""), chat(model, "tell me everything", endless, true))
			harness.WaitFor(t, 10*time.Second, "an engine to run the request",
				func() (bool, string) { return inEngines(t) == 1, "" })
			broken := time.Now()
			stop()
			harness.WaitFor(t, 10*time.Second, "the request to be gone",
				func() (bool, string) { return inEngines(t) == 0, "" })
			t.Logf("the request was gone after %v", time.Since(broken))
		})
	}
}

func inEngines(t *testing.T) (sum int) {
	for _, e := range engines {
		now := loadOf(t, e.page(t, "/metrics"))
		sum += int(now.Running + now.Waiting)
	}
	return sum
}
