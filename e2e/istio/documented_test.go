//go:build istio

package istio

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness"
)

// TestDocumented: the overlays and the chart's values that the documentation has render, and are taken, as its objects
// are, by all who read what they say.
func TestDocumented(t *testing.T) {
	if err := control.Apply(mesh.Namespace("pintle"), mesh.Namespace("models")); err != nil {
		t.Fatal(err)
	}
	for _, document := range []string{"istio.md", "precise.md"} {
		kinds := map[string]int{}
		for _, block := range blocks(t, document) {
			objects, kind := rendered(t, block)
			if kinds[kind]++; kind == "" {
				continue
			}
			t.Logf("%s: %s", document, block)
			validate(t, objects)
			if err := control.Check(objects...); err != nil {
				t.Error(err)
			}
			if kind == "object" {
				continue
			}
			for _, o := range objects {
				wantHarmless(t, o)
				wantConfiguration(t, o)
				wantSidecar(t, o)
			}
			wantOneService(t, objects)
			wantAsked(t, objects)
		}
		if kinds["overlay"] == 0 || kinds["values"] == 0 {
			t.Errorf("%s has %v, want an overlay and values at least", document, kinds)
		}
	}
}

// blocks are the YAML texts of a document.
func blocks(t *testing.T, document string) (texts []string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(harness.Root(), "docs", document))
	if err != nil {
		t.Fatal(err)
	}
	fenced := regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")
	for _, found := range fenced.FindAllStringSubmatch(string(content), -1) {
		texts = append(texts, regexp.MustCompile("(?m)^"+found[1]).ReplaceAllString(found[2], ""))
	}
	return texts
}

// rendered are the objects that an overlay or the chart's values make, or an object itself, and which of them it is;
// empty is neither.
func rendered(t *testing.T, block string) (objects []mesh.Object, kind string) {
	t.Helper()
	var content map[string]any
	if strings.HasPrefix(block, "-") {
		return nil, ""
	}
	if err := yaml.Unmarshal([]byte(block), &content); err != nil {
		t.Errorf("%v:\n%s", err, block)
	}
	switch {
	case content["kind"] == "Kustomization":
		return built(t, block), "overlay"
	case content["kind"] != nil:
		return []mesh.Object{content}, "object"
	case content["config"] != nil || content["sidecar"] != nil:
		return chart(t, block), "values"
	}
	return nil, ""
}

// built renders an overlay whose resources are those of this repository, with a copy of what it says is copied.
func built(t *testing.T, overlay string) []mesh.Object {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Rel(dir, harness.Root())
	if err != nil {
		t.Fatal(err)
	}
	overlay = regexp.MustCompile(`github\.com/pintle-dev/pintle/(istio/[^?]+)\?ref=v[\d.]+`).ReplaceAllString(overlay,
		filepath.ToSlash(root)+"/$1")
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	pods, err := os.ReadFile(filepath.Join(harness.Root(), "istio", "components", "gateway-api", "pods.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pods.yaml"), pods, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := mesh.Run(dir, "kustomize", "build", ".")
	return parsed(t, out, err)
}

// wantOneService checks that the cluster that is patched is the one that requests go to.
func wantOneService(t *testing.T, objects []mesh.Object) {
	t.Helper()
	filter := mesh.Find(objects, "EnvoyFilter", "pintle-override-host")
	if filter == nil {
		return
	}
	patched := filter.At("spec", "configPatches", 0, "match", "cluster")
	host, port := destinationOf(objects)
	want := map[string]any{"service": host, "portNumber": port}
	if text(t, patched) != text(t, want) {
		t.Errorf("the patched cluster is %s, want %s, where requests go", text(t, patched), text(t, want))
	}
	rule := mesh.Find(objects, "DestinationRule", "pintle-model-servers").At("spec", "host")
	if rule != host {
		t.Errorf("the DestinationRule is for %v, want %v, where requests go", rule, host)
	}
}

// wantAsked checks that a plug-in that asks the sidecar finds it, and that the sidecar knows what it will be asked.
func wantAsked(t *testing.T, objects []mesh.Object) {
	t.Helper()
	document := text(t, configurationOf(t, objects))
	precise := strings.Contains(document, `"precise-prefix-cache-scorer"`)
	asks := precise || strings.Contains(document, `"responses-store"`)
	if got := mesh.Find(objects, "EnvoyFilter", "pintle-sidecar") != nil; got != asks {
		t.Errorf("there is a cluster for the sidecar: %v, want %v", got, asks)
	}
	arguments := text(t, mesh.Find(objects, "Deployment", "pintle-gateway").At("spec", "template", "spec",
		"containers", 1, "args"))
	read, _ := mesh.Find(objects, "ConfigMap", "pintle-sidecar").At("data", "plugins.yaml").(string)
	if precise && (!strings.Contains(arguments, `"-plugins","/etc/pintle/plugins.yaml"`) ||
		!strings.Contains(read, "precise-prefix-cache-scorer")) {
		t.Errorf("the sidecar gets %s and %q, want the document", arguments, read)
	}
}
