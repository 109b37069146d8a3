//go:build istio

package istio

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness"
)

// modelServers is the network of the model servers in the example for Envoy Gateway.
var modelServers = netip.MustParsePrefix("10.0.0.1/24")

// TestEnvoyGatewayAlone: Envoy Gateway makes of the example a Deployment, whose Envoy gets the module and all else from
// it, and requests are steered.
func TestEnvoyGatewayAlone(t *testing.T) {
	if !alone(t) {
		return
	}
	g := newEnvoyGateway(t)
	testTimeouts(t, g)
	testPausing(t, g)
}

// newEnvoyGateway deploys the example with three model servers. It ends with the test.
func newEnvoyGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{objects: envoyGateway(t), requests: "127.0.0.1:10080", ingest: "127.0.0.1:15099"}
	g.startServers(t, "10.0.0.1:8000", "10.0.0.2:8000", "10.0.0.3:8000")
	g.find("EnvoyExtensionPolicy", "pintle").Set(strings.TrimPrefix(newRegistry(t).url(), "oci://"), "spec", "wasm", 0,
		"code", "image", "url")
	definitions, err := mesh.GatewayDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, objects := range [][]mesh.Object{{mesh.Namespace("envoy-gateway-system")}, definitions, g.objects,
		g.kubernetesService()} {
		if err := control.Apply(objects...); err != nil {
			t.Fatal(err)
		}
	}
	plane, err := control.StartEnvoyGateway()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("last lines of Envoy Gateway:\n%s", plane.Log())
		}
	})
	if g.Envoy, err = plane.StartProxy(proxyOf(t)); err != nil {
		t.Fatalf("%v\nlast lines of Envoy Gateway:\n%s", err, plane.Log())
	}
	t.Cleanup(g.Envoy.Stop)
	g.Envoy.LogOnFailure(t)
	g.startSidecar(t, nil)
	g.waitServing(t)
	wantProgrammed(t, g.find("EnvoyPatchPolicy", "pintle"))
	return g
}

// kubernetesService is the Service that the example's routes name, with the slice that a cluster would keep of it.
func (g *gateway) kubernetesService() []mesh.Object {
	var endpoints []any
	for _, e := range g.endpoints {
		host, _ := split(e.Address)
		endpoints = append(endpoints, sliceEndpoint(host))
	}
	return serviceAndSlice("default", "model-servers", 8000, endpoints)
}

// proxyOf waits for the Deployment that Envoy Gateway makes, which has the sidecar.
func proxyOf(t *testing.T) (deployment mesh.Object) {
	t.Helper()
	harness.WaitFor(t, pushLimit, "Envoy Gateway's Deployment", func() (bool, string) {
		deployments, err := control.List(mesh.Object{"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"namespace": "envoy-gateway-system"}})
		if err != nil || len(deployments) == 0 {
			return false, fmt.Sprint(err)
		}
		deployment = deployments[0]
		return true, ""
	})
	if mesh.Container(deployment, "pintle") == nil {
		t.Errorf("the Deployment has no container pintle:\n%s", text(t, deployment))
	}
	return deployment
}

// wantProgrammed waits until Envoy Gateway says that a policy acts, with each of its patches.
func wantProgrammed(t *testing.T, policy mesh.Object) {
	t.Helper()
	harness.WaitFor(t, pushLimit, policy.String()+" programmed", func() (bool, string) {
		got, err := control.Get(policy)
		if err != nil {
			return false, err.Error()
		}
		conditions, _ := got.At("status", "ancestors", 0, "conditions").([]any)
		return len(conditions) > 0 && !slices.ContainsFunc(conditions, func(c any) bool {
			return mesh.Object{"condition": c}.At("condition", "status") != "True"
		}), text(t, got["status"])
	})
}
