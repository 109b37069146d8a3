package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/stack"
)

// Sidecar is a running pintle sidecar.
type Sidecar struct{ *stack.Process }

// StartSidecar starts the real sidecar with its default intervals, for an ingest URL and some servers. It ends with the
// test, and shows its log when the test has failed.
func StartSidecar(t testing.TB, ingest string, servers ...*Server) *Sidecar {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "envoy: {ingest: %q, token: %q}\nadmin: {address: \"127.0.0.1:0\"}\ndiscovery:\n  static:\n",
		ingest, Token)
	for _, s := range servers {
		fmt.Fprintf(&text, "  - {name: %q, address: %q, engine: vllm}\n", s.Name, s.Address)
	}
	return StartSidecarWith(t, text.String())
}

// StartSidecarWith is StartSidecar with a configuration, and further arguments.
func StartSidecarWith(t testing.TB, configuration string, args ...string) *Sidecar {
	t.Helper()
	binary, err := pintle()
	if err != nil {
		t.Fatal(err)
	}
	return StartSidecarOf(t, binary, nil, configuration, args...)
}

// StartSidecarOf is StartSidecarWith for another binary, with variables NAME=value added to its environment.
func StartSidecarOf(t testing.TB, binary string, variables []string, configuration string,
	args ...string) *Sidecar {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sidecar.yaml")
	if err := os.WriteFile(path, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := StartChild("sidecar", Root(), binary, variables,
		append([]string{"sidecar", "-c", path}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	s := &Sidecar{p}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("last lines of the sidecar:\n%s", s.Log())
		}
	})
	return s
}
