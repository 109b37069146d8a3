package e2e

import (
	"os"
	"os/exec"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestOpenAIClient: OpenAI's Python client is served as by a model server, and understands what Pintle refuses.
func TestOpenAIClient(t *testing.T) {
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		base := f.URL("requests", "/v1")
		harness.RunOpenAI(t, "openai_client.py", base, "served")
		f.Publish(t)
		harness.RunOpenAI(t, "openai_client.py", base, "unavailable")
	})
}

// TestNodeFetch: Node's fetch is served, with bodies that it streams in chunks too.
func TestNodeFetch(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not on PATH")
	}
	inCells(t, func(t *testing.T, f *fixture) {
		harness.RunCases(t, os.Environ(), "node", "e2e/clients/fetch.mjs", f.URL("requests", "/v1"))
		f.wantIdle(t)
	})
}

// TestCurl: curl is served with the ways of sending a body that are its own.
func TestCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not on PATH")
	}
	long := longChat(1_200_000) // above 1 MB curl asks with Expect: 100-continue
	tests := []struct {
		name, body string
		options    []string
	}{
		{"plain", chatBody, nil},
		{"chunked", chatBody, []string{"-H", "Transfer-Encoding: chunked"}},
		{"form type", chatBody, []string{"-H", "Content-Type: application/x-www-form-urlencoded"}},
		{"http2", chatBody, []string{"--http2-prior-knowledge"}},
		{"upgrade to http2", chatBody, []string{"--http2"}},
		{"expect", long, []string{"-H", "Expect: 100-continue"}},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		for _, test := range tests {
			f.forget(t)
			args := append([]string{"--silent", "--show-error", "--max-time", "20", "--noproxy", "*", "--data-binary",
				"@-",
				"-o", os.DevNull, "-w", "%{http_code} %header{x-sim-server}"}, test.options...)
			output, err := harness.Output(os.Environ(), test.body, "curl", append(args, f.URL("requests", chatPath))...)
			if err != nil || output != "200 sim-0" {
				t.Errorf("%s: got %q (%v), want 200 sim-0", test.name, output, err)
				continue
			}
			f.wantBody(t, "sim-0", test.body)
		}
	})
}
