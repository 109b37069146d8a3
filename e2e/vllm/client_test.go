//go:build vllm && linux

package vllm

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

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
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python(), "e2e/vllm/client.py", base, who)
	cmd.Dir, cmd.Env = harness.Root(), append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=127.0.0.1")
	output, err := cmd.CombinedOutput()
	cases := 0
	for line := range strings.Lines(string(output)) {
		verdict, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if verdict != "ok" && verdict != "FAIL" {
			continue
		}
		cases++
		name, why, _ := strings.Cut(rest, ": ")
		t.Run(name, func(t *testing.T) {
			if verdict == "FAIL" {
				t.Error(why)
			}
		})
	}
	if err != nil || cases == 0 {
		t.Errorf("client.py %s: %v, %d cases:\n%s", base, err, cases, output)
	}
}
