//go:build vllm && linux

package vllm

import (
	"os"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestOpenAIClient: OpenAI's Python client gets through Pintle what it gets from an engine itself.
func TestOpenAIClient(t *testing.T) {
	t.Run("direct", func(t *testing.T) { runClient(t, engines[0].url("/v1"), "vllm") })
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			g := open(t, cell, nil, nil)
			runClient(t, g.URL("requests", "/v1"), "pintle")
		})
	}
}

// runClient makes a subtest of each case that client.py reports.
func runClient(t *testing.T, base, who string) {
	t.Helper()
	environment := append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=127.0.0.1")
	harness.RunCases(t, environment, python(), "e2e/vllm/client.py", base, who)
}
