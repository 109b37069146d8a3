//go:build istio

package istio

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness/pki"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
)

// wantSidecar has the sidecar read its configuration, where the ConfigMap is mounted.
func wantSidecar(t *testing.T, o mesh.Object) {
	t.Helper()
	if o.Kind() != "ConfigMap" || o.Name() != "pintle-sidecar" {
		return
	}
	dir := t.TempDir()
	files := map[string]string{"token": ingestToken}
	another := pki.New(t)
	another.Issue("pintle", &x509.Certificate{})
	there := strings.NewReplacer("/run/pintle/token", filepath.Join(dir, "token"),
		"/run/certificates/cert-chain.pem", another.File("pintle.pem"),
		"/run/certificates/key.pem", another.File("pintle.key"))
	for name, text := range o.At("data").(mesh.Object) {
		files[name] = there.Replace(text.(string))
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Load(filepath.Join(dir, "sidecar.yaml"))
	if err == nil && files["plugins.yaml"] != "" {
		err = c.ApplyPlugins(filepath.Join(dir, "plugins.yaml"))
	}
	if err != nil {
		t.Errorf("%s: %v", o, err)
	}
}

// TestKubernetesToken: the sidecar's container alone has a token for the API server, in the account's usual place.
func TestKubernetesToken(t *testing.T) {
	const volume = "pintle-kubernetes"
	for _, overlay := range overlays {
		deployment := mesh.Find(render(t, "overlays/"+overlay.name), "Deployment", "pintle-gateway")
		containers := []any{"spec", "template", "spec", "containers"}
		var got []string
		for i := range deployment.At(containers...).([]any) {
			at := func(path ...any) any { return deployment.At(slices.Concat(containers, []any{i}, path)...) }
			mounts, _ := at("volumeMounts").([]any)
			for m := range mounts {
				if at("volumeMounts", m, "name") == volume {
					got = append(got, fmt.Sprint(at("name"), " ", at("volumeMounts", m, "mountPath")))
				}
			}
		}
		var want []string
		if strings.HasPrefix(overlay.name, "kubernetes") {
			want = []string{"pintle /var/run/secrets/kubernetes.io/serviceaccount"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %s is mounted in %q, want %q", overlay.name, volume, got, want)
		}
	}
}

// TestChartRoles: each namespace of pools has a role with what its pools need and no more.
func TestChartRoles(t *testing.T) {
	objects := chart(t,
		`{sidecar: {kubernetes: {pools: [{service: a, namespace: one}, {inferencePool: b, namespace: one},
		{selector: app=c, ports: [8000], namespace: two}, {service: d, namespace: three}]}}}`)
	want := map[string]string{
		"one":   "pods endpointslices inferencepools inferenceobjectives inferencemodelrewrites",
		"two":   "pods",
		"three": "pods endpointslices",
	}
	got, bound := map[string]string{}, 0
	for _, o := range objects {
		switch o.Kind() {
		case "Role":
			var resources []string
			for rule := range o.At("rules").([]any) {
				for _, resource := range o.At("rules", rule, "resources").([]any) {
					resources = append(resources, resource.(string))
				}
			}
			got[o.At("metadata", "namespace").(string)] = strings.Join(resources, " ")
		case "RoleBinding":
			bound++
		}
	}
	if !reflect.DeepEqual(got, want) || bound != len(want) {
		t.Errorf("got %d bindings and the roles %v, want one for each of %v", bound, got, want)
	}
}
