//go:build kubernetes

package kubernetes

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// llmdKind defines llm-d's objectives, changed, until the test ends.
func llmdKind(t *testing.T, change func(kind mesh.Object)) (kind mesh.Object) {
	t.Helper()
	kind = olderKind(t, "inferenceobjectives")
	kind.Set(kind.At("spec", "names", "plural").(string)+"."+llmdGroup, "metadata", "name")
	kind.Set(map[string]any{}, "metadata", "annotations")
	kind.Set(llmdGroup, "spec", "group")
	change(kind)
	await(t, "another test's kind is gone", func() bool { _, err := api.Get(kind); return err != nil })
	apply(t, kind)
	t.Cleanup(func() {
		if err := api.Delete(kind); err != nil {
			t.Error(err)
		}
	})
	// A kind that was there before may still answer as if it were gone.
	one := objective(t, llmdGroup, "default", "", "llama", "")
	await(t, "the kind is served", func() bool { _, err := api.List(one); return err == nil })
	return kind
}

// addVersion gives a kind the version v1alpha3, in which it is stored.
func addVersion(kind mesh.Object) {
	next := maps.Clone(kind.At("spec", "versions", 0).(mesh.Object))
	next["name"] = "v1alpha3"
	kind.Set(false, "spec", "versions", 0, "storage")
	kind.Set(append(kind.At("spec", "versions").([]any), next), "spec", "versions")
}

// await waits until something is so.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// TestOddRules: an objective that cannot be read, as the definition of its kind lets anything through, and a rewrite to
// no model are told of, and cost neither an endpoint nor another rule.
func TestOddRules(t *testing.T) {
	const ns = "unreadable"
	kubeconfig := namespace(t, ns, forInferencePools)
	llmdKind(t, func(kind mesh.Object) {
		kind.Set(map[string]any{"x-kubernetes-preserve-unknown-fields": true}, "spec", "versions", 0, "schema",
			"openAPIV3Schema", "properties", "spec", "properties", "priority")
	})
	apply(t, parse(t, pool(ns)), pod(t, ns, "a", "{app: llama}", "{}"))
	setReady(t, ns, "a", "10.0.0.1", true)
	apply(t, objective(t, llmdGroup, ns, "batch", "llama", "priority: high, "),
		objective(t, llmdGroup, ns, "urgent", "llama", "priority: 5, "), parse(t, `
apiVersion: inference.networking.x-k8s.io/v1alpha2
kind: InferenceModelRewrite
metadata: {name: nowhere, namespace: `+ns+`}
spec: {poolRef: {name: llama}, rules: [{targets: [{modelRewrite: ""}]}]}
`))
	o := observe(t, kubeconfig, ns, kubernetes.Pool{InferencePool: "llama"})
	o.await("the pod, and word of both", func(part topology.Part, err error) bool {
		return topology.IsPartly(err) && list(part) == ns+"/a=10.0.0.1:8000" &&
			strings.Contains(err.Error(), llmdGroup+" "+ns+"/batch is left out: spec.priority: string") &&
			strings.Contains(err.Error(), olderGroup+" "+ns+"/nowhere is left out: spec.rules.targets.modelRewrite: ")
	})
	o.awaitObjectives("the other one", snapshot.Objective{Name: "urgent", Priority: 5})
	apply(t, objective(t, llmdGroup, ns, "batch", "llama", "priority: -1, "))
	o.await("no word of it once it can be read",
		func(_ topology.Part, err error) bool { return err != nil && !strings.Contains(err.Error(), "batch") })
}

// TestKindThatCannotBeConverted: objectives that the API server cannot convert, as the webhook for that is gone, cost
// no endpoint.
func TestKindThatCannotBeConverted(t *testing.T) {
	const ns = "unconverted"
	kubeconfig := namespace(t, ns, forInferencePools)
	llmdKind(t, func(kind mesh.Object) {
		addVersion(kind)
		kind.Set(map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"clientConfig": map[string]any{"url": "https://127.0.0.1:1/"}, "conversionReviewVersions": []any{"v1"},
		}}, "spec", "conversion")
	})
	apply(t, parse(t, pool(ns)), pod(t, ns, "a", "{app: llama}", "{}"))
	setReady(t, ns, "a", "10.0.0.1", true)
	stored := objective(t, llmdGroup, ns, "batch", "llama", "priority: 1, ")
	stored.Set(llmdGroup+"/v1alpha3", "apiVersion")
	apply(t, stored)
	asked := objective(t, llmdGroup, ns, "batch", "llama", "")
	await(t, "the API server needs the webhook", func() bool { _, err := api.List(asked); return err != nil })
	o := observe(t, kubeconfig, ns, kubernetes.Pool{InferencePool: "llama"})
	o.await("the pod, and word of the kind", func(part topology.Part, err error) bool {
		return topology.IsPartly(err) && strings.Contains(err.Error(), llmdGroup) &&
			list(part) == ns+"/a=10.0.0.1:8000"
	})
}

// TestKindOfAnotherVersion: when the version that is read is no longer served, objectives stay as they were and that is
// told, also by a sidecar that starts then, which has none.
func TestKindOfAnotherVersion(t *testing.T) {
	const ns = "versions"
	kubeconfig := namespace(t, ns, forInferencePools)
	kind := llmdKind(t, addVersion)
	apply(t, parse(t, pool(ns)), pod(t, ns, "a", "{app: llama}", "{}"),
		objective(t, llmdGroup, ns, "batch", "llama", "priority: 1, "))
	setReady(t, ns, "a", "10.0.0.1", true)
	o := observe(t, kubeconfig, ns, kubernetes.Pool{InferencePool: "llama"})
	o.awaitList("the pod", ns+"/a=10.0.0.1:8000")
	o.awaitObjectives("the objective", snapshot.Objective{Name: "batch", Priority: 1})
	kind.Set(false, "spec", "versions", 0, "served")
	apply(t, kind)
	told := func(objectives int) func(part topology.Part, err error) bool {
		return func(part topology.Part, err error) bool {
			return topology.IsPartly(err) && list(part) == ns+"/a=10.0.0.1:8000" &&
				len(part.Objectives) == objectives &&
				strings.Contains(err.Error(), "in the version v1alpha3, and not in v1alpha2")
		}
	}
	o.await("word of the version, with the objective", told(1))
	o = observe(t, kubeconfig, ns, kubernetes.Pool{InferencePool: "llama"})
	o.await("word of the version, without the objective", told(0))
}
