package kubernetes

import (
	gslices "slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/pintle-dev/pintle/snapshot"
)

// cached is a discovery whose caches hold objects, as after a first list; nothing is watched.
func cached(t *testing.T, pools []Pool, kinds []kind, objects ...metav1.Object) *Discovery {
	t.Helper()
	engine := func(name string) string {
		if name == "sglang" || name == "vllm" {
			return name
		}
		return ""
	}
	d := &Discovery{config: Config{Pools: pools, Engine: engine}, watchers: map[watched]*watcher{}}
	for _, k := range kinds {
		w := &watcher{kind: k, informer: cache.NewSharedIndexInformer(&cache.ListWatch{}, k.example, 0, cache.Indexers{})}
		d.watchers[watched{k.Resource, "ns"}], d.order = w, append(d.order, w)
		for _, object := range objects {
			_, isPod := object.(*corev1.Pod)
			if u, ok := object.(*unstructured.Unstructured); isPod && k.Resource == pods.Resource || ok && u.GetKind() == k.Resource {
				if err := w.informer.GetStore().Add(object); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return d
}

func pod(name, ip string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: labels},
		Status:     corev1.PodStatus{PodIP: ip, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// TestPart: a pod belongs to the first pool that chooses it, its engine is what its label says, and the pool's labels win.
func TestPart(t *testing.T) {
	pools := []Pool{
		{Namespace: "ns", Selector: "app=vllm", Ports: []string{"8000"}, Engine: "vllm", Labels: []snapshot.Label{{Key: "role", Value: "decode"}}},
		{Namespace: "ns", Selector: "gpu=a100", Ports: []string{"9000"}},
	}
	d := cached(t, pools, []kind{pods},
		pod("both", "10.0.0.1", map[string]string{"app": "vllm", "gpu": "a100", "role": "prefill"}),
		pod("first", "10.0.0.2", map[string]string{"app": "vllm", engineLabel: "sglang"}),
		pod("unknown-engine", "10.0.0.3", map[string]string{"app": "vllm", engineLabel: "none"}),
		pod("second", "10.0.0.4", map[string]string{"gpu": "a100"}),
		pod("neither", "10.0.0.5", nil))
	part, err := d.part()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range part.Endpoints {
		role := "no role"
		for _, l := range e.Labels {
			if l.Key == "role" {
				role = l.Value
			}
		}
		got = append(got, e.Name+" "+e.Address+" "+e.Engine+" "+role)
	}
	want := []string{
		"ns/both 10.0.0.1:8000 vllm decode", "ns/first 10.0.0.2:8000 sglang decode", "ns/second 10.0.0.4:9000  no role",
		"ns/unknown-engine 10.0.0.3:8000 vllm decode",
	}
	if !gslices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestObjectives: of two for the same name the older one holds, and those of other pools do not.
func TestObjectives(t *testing.T) {
	objective := func(namespace, name, pool string, age time.Duration, priority int64) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{
			"kind": objectives.Resource, "spec": map[string]any{"priority": priority, "poolRef": map[string]any{"name": pool}},
		}}
		u.SetNamespace(namespace)
		u.SetName(name)
		u.SetCreationTimestamp(metav1.NewTime(time.Unix(1_700_000_000, 0).Add(-age)))
		return u
	}
	pools := []Pool{{Namespace: "ns", InferencePool: "vllm"}, {Namespace: "other", InferencePool: "vllm"}}
	d := cached(t, pools, []kind{inferencePools, pods, objectives},
		objective("ns", "batch", "vllm", time.Hour, -1), objective("other", "batch", "vllm", 2*time.Hour, -2),
		objective("ns", "foreign", "sglang", time.Hour, 7))
	d.watchers[watched{inferencePools.Resource, "other"}] = d.watchers[watched{inferencePools.Resource, "ns"}]
	part, err := d.part()
	if err != nil {
		t.Fatal(err)
	}
	if want := []snapshot.Objective{{Name: "batch", Priority: -2}}; !gslices.Equal(part.Objectives, want) {
		t.Errorf("got %v, want %v", part.Objectives, want)
	}
}
