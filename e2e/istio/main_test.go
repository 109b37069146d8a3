//go:build istio

package istio

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness"
)

// ingestToken is what the Secret pintle-ingest would hold.
const ingestToken = "a-token-for-the-tests"

// control is the control plane that all tests share.
var control *mesh.Mesh

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	defer harness.Clean()
	dir, err := os.MkdirTemp("", "pintle-istio-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// The Deployment gives it to the proxy, which the Envoys here are children of.
	os.Setenv("PINTLE_INGEST_TOKEN", ingestToken)
	began := time.Now()
	if mesh.Alone() {
		control, err = mesh.StartAlone(dir, modelServers)
	} else {
		control, err = mesh.Start(dir)
	}
	defer control.Stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("the control plane is up after %.1f s\n", time.Since(began).Seconds())
	return m.Run()
}

// alone reports whether the test runs with loopback of its own; where it does not it is run so by this call.
func alone(t *testing.T) bool {
	t.Helper()
	if mesh.Alone() {
		return true
	}
	output, err := mesh.RunAlone("-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return false
}
