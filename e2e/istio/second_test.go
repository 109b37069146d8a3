//go:build istio

package istio

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestTwoReleases: the chart can be installed in two namespaces before the same model servers. What it has in the
// servers' namespace has a name of its own for each, or one would be refused, or take the other's rights.
func TestTwoReleases(t *testing.T) {
	for _, values := range []string{
		`{sidecar: {kubernetes: {pools: [{service: a, namespace: models}]}}}`,
		`{gateway: {api: true}, destination: override-host, service: {host: vllm.models.svc.cluster.local}}`,
	} {
		of := map[string]string{}
		for _, release := range []string{"pintle", "pintle-next"} {
			out, err := helmIn(t, release, values)
			for _, o := range parsed(t, out, err) {
				key := fmt.Sprintf("%s in %v", o, o.At("metadata", "namespace"))
				if of[key] != "" {
					t.Errorf("%s: %s is in the releases of %s and %s", values, key, of[key], release)
				}
				of[key] = release
			}
		}
	}
}

// TestSecondInstallation: Istio's Gateways choose pods of all namespaces, so those of a second installation choose the
// first one's pods, too. Its plug-in, its filters and its routes must not come with them.
func TestSecondInstallation(t *testing.T) {
	for _, overlay := range []string{"file", "override-host"} {
		t.Run(overlay, func(t *testing.T) {
			g := newGateway(t, render(t, "overlays/"+overlay), settings{})
			second := &gateway{objects: render(t, "overlays/"+overlay), endpoints: g.endpoints}
			second.adapt(t, settings{})
			const namespace, mark = "second-installation", "of-the-second-one"
			for _, o := range second.objects {
				if o.Kind() == "Namespace" {
					o.Set(namespace, "metadata", "name")
					continue
				}
				o.Set(namespace, "metadata", "namespace")
			}
			for _, name := range []string{"pintle", "pintle-ingest"} {
				second.find("Gateway", name).Set(g.find("Gateway", name).At("spec", "servers"), "spec", "servers")
			}
			second.find("WasmPlugin", "pintle").Set(map[string]any{"cluster": mark}, "spec", "pluginConfig", "sidecar")
			second.find("VirtualService", "pintle").Set(mark, "spec", "http", 0, "name")
			if err := control.Apply(second.objects...); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { second.deleteAll(t) })
			// What is applied later comes later.
			g.find("WasmPlugin", "pintle").Set(true, "spec", "pluginConfig", "debug")
			g.apply(t, "WasmPlugin", "pintle")
			harness.WaitFor(t, pushLimit, "the first one's own change", func() (bool, string) {
				got := g.chat(t, chatBody)
				if got.Status != http.StatusOK {
					t.Fatalf("got %d %s, want 200", got.Status, got.Body)
				}
				return got.Header.Get("X-Pintle-Explain") != "", "x-pintle-explain is not there"
			})
			dump, err := g.Admin("/config_dump")
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(dump, mark) {
				t.Errorf("the first one's Envoy has the plug-in or the route of the second installation:\n%s", dump)
			}
		})
	}
}
