//go:build kubernetes

package kubernetes

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// llmdGroup is where llm-d's router has its objectives and rewrites, of the same schema.
const llmdGroup = "llm-d.ai"

// TestGroups: objectives of llm-d's group are found once their kind is defined, and come before those of the older one.
func TestGroups(t *testing.T) {
	const ns = "groups"
	old := snapshot.Objective{Name: "old", Priority: 1}
	before := []snapshot.Objective{{Name: "batch", Priority: -10}, old}
	after := []snapshot.Objective{{Name: "batch", Priority: -5}, old}
	o := observe(t, namespace(t, ns, forInferencePools), ns, kubernetes.Pool{InferencePool: "llama"})
	apply(t, objective(t, olderGroup, ns, "batch", "llama", "priority: -10, "),
		objective(t, olderGroup, ns, "old", "llama", "priority: 1, "))
	o.awaitObjectives("those of the older group", before...)

	kind := olderKind(t, "inferenceobjectives")
	kind.Set(kind.At("spec", "names", "plural").(string)+"."+llmdGroup, "metadata", "name")
	kind.Set(map[string]any{}, "metadata", "annotations")
	kind.Set(llmdGroup, "spec", "group")
	apply(t, kind)
	moved := objective(t, llmdGroup, ns, "batch", "llama", "priority: -5, ")
	apply(t, moved)
	o.awaitObjectives("the moved one", after...)
	if err := api.Delete(moved); err != nil {
		t.Fatal(err)
	}
	o.awaitObjectives("the older one again", before...)
	apply(t, moved)
	o.awaitObjectives("the moved one again", after...)
	if err := api.Delete(kind); err != nil {
		t.Fatal(err)
	}
	o.awaitObjectives("no kind of llm-d's any more", before...)
}

// TestOlderRole: a role that does not know of llm-d's group costs no endpoint, and is told of.
func TestOlderRole(t *testing.T) {
	const ns = "older-role"
	kubeconfig := namespace(t, ns, forInferencePools)
	role := shipped(t, forInferencePools, "role.yaml")
	role.Set(ns, "metadata", "namespace")
	for i := range role.At("rules").([]any) {
		groups := role.At("rules", i, "apiGroups").([]any)
		role.Set(slices.DeleteFunc(groups, func(g any) bool { return g == llmdGroup }), "rules", i, "apiGroups")
	}
	apply(t, role, parse(t, pool(ns)), pod(t, ns, "a", "{app: llama}", "{}"))
	setReady(t, ns, "a", "10.0.0.1", true)
	o := observe(t, kubeconfig, ns, kubernetes.Pool{InferencePool: "llama"})
	o.await("the pod, and a refusal that names the group", func(part topology.Part, err error) bool {
		return topology.IsPartly(err) && strings.Contains(err.Error(), llmdGroup) &&
			list(part) == ns+"/a=10.0.0.1:8000"
	})
}

// olderKind is the definition of a kind of the older group.
func olderKind(t *testing.T, resource string) mesh.Object {
	t.Helper()
	kinds, err := mesh.ModuleObjects("istio", "sigs.k8s.io/gateway-api-inference-extension",
		"config/crd/bases/"+olderGroup+"_"+resource+".yaml")
	if err != nil || len(kinds) != 1 {
		t.Fatalf("%d definitions of %s, want one: %v", len(kinds), resource, err)
	}
	return kinds[0]
}

// awaitObjectives waits for exactly those, in the order of their names.
func (o *observer) awaitObjectives(what string, want ...snapshot.Objective) {
	o.t.Helper()
	o.await(what, func(part topology.Part, _ error) bool {
		got := slices.Clone(part.Objectives)
		slices.SortFunc(got, func(a, b snapshot.Objective) int { return strings.Compare(a.Name, b.Name) })
		return reflect.DeepEqual(got, want)
	})
}
