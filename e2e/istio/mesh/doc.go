// Package mesh runs the parts of Istio that a gateway meets, without a cluster: a real kube-apiserver on a real etcd,
// an unmodified istiod that reads its resources from there, and stock Envoys that present themselves as Istio's
// gateways. Nothing runs pods: Deployments are taken by the API, and the tests start what would run in them. Envoy
// Gateway can be run in istiod's place.
//
// Everything listens on loopback; Envoy Gateway, and the proxies of a mesh with certificates, on all interfaces of a
// network of their own. The programs are built by build/setup.sh.
package mesh

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pintle-dev/pintle/internal/harness"
)

// tool returns the path of a program that build/setup.sh istio or build/setup.sh kube made.
func tool(name string) (string, error) {
	path := filepath.Join(harness.Root(), "build", ".cache", "tools", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("build/.cache/tools/%s is missing; run build/setup.sh istio, which builds it", name)
	}
	return path, nil
}
