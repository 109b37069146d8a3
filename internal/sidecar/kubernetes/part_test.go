package kubernetes

import (
	"fmt"
	"math"
	"reflect"
	gslices "slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// cached is a discovery whose caches hold objects as if they had been watched.
func cached(t *testing.T, pools []Pool, objects map[string][]any) *Discovery {
	t.Helper()
	clients, err := newClients(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	d := &Discovery{watchers: map[watched]*watcher{}, wake: make(chan struct{}, 1), readable: map[*Pool]inferencePool{}}
	d.config = Config{Namespace: "ns", Pools: pools, Engine: func(name string) string {
		if name == "vllm" || name == "sglang" {
			return name
		}
		return ""
	}}
	for i := range d.config.Pools {
		p := &d.config.Pools[i]
		p.Namespace = "ns"
		for _, k := range p.kinds() {
			if err := d.watch(clients, k, p.Namespace); err != nil {
				t.Fatal(err)
			}
		}
	}
	for resource, all := range objects {
		store := d.watchers[watched{schema.ParseGroupResource(resource), "ns"}].informer.GetStore()
		for _, o := range all {
			if err := store.Add(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	return d
}

func readyPod(name, ip string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: labels},
		Status: corev1.PodStatus{PodIP: ip,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

func TestPart(t *testing.T) {
	label := func(pairs ...string) (all []snapshot.Label) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, snapshot.Label{Key: pairs[i], Value: pairs[i+1]})
		}
		return all
	}
	access := &topology.Access{HTTPS: true}
	placed := readyPod("p", "10.0.0.1", map[string]string{"app": "a"})
	placed.Status.HostIP = "10.9.0.1"
	tests := []struct {
		name  string
		pools []Pool
		pods  []any
		want  []topology.Endpoint
	}{
		{
			"a pod of two pools belongs to the first",
			[]Pool{{Selector: "app=a", Ports: []string{"8000"}, Models: []string{"one"}},
				{Selector: "tier=x", Ports: []string{"9000"}, Models: []string{"two"}}},
			[]any{readyPod("p", "10.0.0.1", map[string]string{"app": "a", "tier": "x"}),
				readyPod("q", "10.0.0.2", map[string]string{"tier": "x"})},
			[]topology.Endpoint{
				{Endpoint: snapshot.Endpoint{Name: "ns/p", Address: "10.0.0.1:8000", Models: []string{"one"},
					Labels: label("app", "a", "tier", "x")}},
				{Endpoint: snapshot.Endpoint{Name: "ns/q", Address: "10.0.0.2:9000", Models: []string{"two"},
					Labels: label("tier", "x")}},
			},
		},
		{
			"a pod's label names its engine, the pool's holds for the others, and an unknown one for none",
			[]Pool{{Selector: "app=a", Ports: []string{"8000"}, Engine: "vllm"}},
			[]any{
				readyPod("p", "10.0.0.1", map[string]string{"app": "a", engineLabel: "sglang"}),
				readyPod("q", "10.0.0.2", map[string]string{"app": "a", llmdEngineLabel: "sglang"}),
				readyPod("r", "10.0.0.3", map[string]string{"app": "a", engineLabel: "other"}),
				readyPod("s", "10.0.0.4", map[string]string{"app": "a"}),
				readyPod("t", "10.0.0.5", map[string]string{"app": "a", engineLabel: "vllm",
					llmdEngineLabel: "sglang"}),
			},
			[]topology.Endpoint{
				{Endpoint: snapshot.Endpoint{Name: "ns/p", Address: "10.0.0.1:8000", Engine: "sglang",
					Labels: label("app", "a", engineLabel, "sglang")}},
				{Endpoint: snapshot.Endpoint{Name: "ns/q", Address: "10.0.0.2:8000", Engine: "sglang",
					Labels: label("app", "a", llmdEngineLabel, "sglang")}},
				{Endpoint: snapshot.Endpoint{Name: "ns/r", Address: "10.0.0.3:8000", Engine: "vllm",
					Labels: label("app", "a", engineLabel, "other")}},
				{Endpoint: snapshot.Endpoint{Name: "ns/s", Address: "10.0.0.4:8000", Engine: "vllm",
					Labels: label("app", "a")}},
				{Endpoint: snapshot.Endpoint{Name: "ns/t", Address: "10.0.0.5:8000", Engine: "sglang",
					Labels: label("app", "a", engineLabel, "vllm", llmdEngineLabel, "sglang")}},
			},
		},
		{
			"the address of a pod's node is known",
			[]Pool{{Selector: "app=a", Ports: []string{"8000"}}},
			[]any{placed},
			[]topology.Endpoint{{
				Endpoint: snapshot.Endpoint{Name: "ns/p", Address: "10.0.0.1:8000", Labels: label("app", "a")},
				Node:     "10.9.0.1",
			}},
		},
		{
			"the pool's labels win over the pod's, and its access holds",
			[]Pool{{Selector: "app=a", Ports: []string{"8000"}, Labels: label("pool", "b", "zone", "east"),
				Access: access}},
			[]any{readyPod("p", "10.0.0.1", map[string]string{"app": "a", "pool": "own"})},
			[]topology.Endpoint{{
				Endpoint: snapshot.Endpoint{Name: "ns/p", Address: "10.0.0.1:8000",
					Labels: label("app", "a", "pool", "b", "zone", "east")},
				Access: access,
			}},
		},
		{"a pool without pods", []Pool{{Selector: "app=a", Ports: []string{"8000"}}}, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := cached(t, test.pools, map[string][]any{"pods": test.pods}).part()
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Pools) != len(test.pools) {
				t.Errorf("got the pools %q, want %d", got.Pools, len(test.pools))
			}
			for i := range got.Endpoints {
				e := &got.Endpoints[i]
				if !gslices.ContainsFunc(test.pools,
					func(p Pool) bool { return e.Pool == "ns/"+p.Selector+p.InferencePool+p.Service }) ||
					!gslices.Contains(got.Pools, e.Pool) {
					t.Errorf("%s is of the pool %q, want one of those that are there", e.Name, e.Pool)
				}
				e.Pool = ""
			}
			if !reflect.DeepEqual(got.Endpoints, test.want) {
				t.Errorf("got  %+v\nwant %+v", got.Endpoints, test.want)
			}
		})
	}
}

// rule is an InferenceObjective or an InferenceModelRewrite of a pool, made that long before an instant.
func rule(namespace, name, pool string, age time.Duration, spec map[string]any) *unstructured.Unstructured {
	spec["poolRef"] = map[string]any{"name": pool}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetCreationTimestamp(metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(-age)))
	return o
}

// Of two objectives with one name the older object holds, and those of other pools are none of ours. A priority that is
// no int32, which the API server takes, is the nearest one.
func TestRules(t *testing.T) {
	priority := func(n int64) map[string]any { return map[string]any{"priority": n} }
	d := cached(t, []Pool{{InferencePool: "llama"}}, map[string][]any{
		"inferenceobjectives.inference.networking.x-k8s.io": {
			rule("ns", "batch", "llama", time.Hour, priority(-1)),
			rule("ns", "urgent", "llama", 2*time.Hour, priority(5)),
			rule("ns", "foreign", "other", 3*time.Hour, priority(9)),
			rule("ns", "highest", "llama", time.Minute, priority(math.MaxInt32+1)),
			rule("ns", "lowest", "llama", time.Second, priority(math.MinInt64)),
			rule("ns", "none", "llama", 0, map[string]any{}),
		},
	})
	// A second namespace whose pool has the same name, with an older and a younger object of the names.
	clients, err := newClients(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	d.config.Pools = append(d.config.Pools, Pool{InferencePool: "llama", Namespace: "ns2"})
	older := objectives[1]
	if err := d.watch(clients, older, "ns2"); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*unstructured.Unstructured{
		rule("ns2", "batch", "llama", 4*time.Hour, priority(-7)),
		rule("ns2", "urgent", "llama", time.Minute, priority(1)),
	} {
		if err := d.watchers[watched{older.GroupResource(), "ns2"}].informer.GetStore().Add(o); err != nil {
			t.Fatal(err)
		}
	}
	part := &topology.Part{}
	if err := d.rules(part); err != nil {
		t.Fatal(err)
	}
	want := []snapshot.Objective{{Name: "batch", Priority: -7}, {Name: "urgent", Priority: 5},
		{Name: "highest", Priority: math.MaxInt32}, {Name: "lowest", Priority: math.MinInt32}, {Name: "none"}}
	if !reflect.DeepEqual(part.Objectives, want) {
		t.Errorf("got %+v, want %+v", part.Objectives, want)
	}
}

// An object of llm-d's group comes before all of the older group, and stands in place of one of its name there.
func TestGroups(t *testing.T) {
	to := func(from, model string) map[string]any {
		return map[string]any{"rules": []any{map[string]any{
			"matches": []any{map[string]any{"model": map[string]any{"value": from}}},
			"targets": []any{map[string]any{"modelRewrite": model}},
		}}}
	}
	priority := func(n int64) map[string]any { return map[string]any{"priority": n} }
	d := cached(t, []Pool{{InferencePool: "llama"}}, map[string][]any{
		"inferenceobjectives.inference.networking.x-k8s.io": {
			rule("ns", "batch", "llama", 2*time.Hour, priority(-1)),
			rule("ns", "urgent", "llama", 2*time.Hour, priority(5)),
		},
		"inferenceobjectives.llm-d.ai": {
			rule("ns", "batch", "llama", time.Hour, priority(-9)),
			rule("ns", "new", "llama", time.Hour, priority(1)),
		},
		"inferencemodelrewrites.inference.networking.x-k8s.io": {
			rule("ns", "kept", "llama", 3*time.Hour, to("m", "old")),
			rule("ns", "moved", "llama", 2*time.Hour, to("n", "old")),
		},
		"inferencemodelrewrites.llm-d.ai": {rule("ns", "moved", "llama", time.Hour, to("m", "new"))},
	})
	part := &topology.Part{}
	if err := d.rules(part); err != nil {
		t.Fatal(err)
	}
	want := &topology.Part{
		Objectives: []snapshot.Objective{{Name: "batch", Priority: -9}, {Name: "new", Priority: 1},
			{Name: "urgent", Priority: 5}},
		Rewrites: []snapshot.Rewrite{
			{Models: []string{"m"}, Targets: []snapshot.RewriteTarget{{Model: "new"}}},
			{Models: []string{"m"}, Targets: []snapshot.RewriteTarget{{Model: "old"}}},
		},
	}
	if !reflect.DeepEqual(part, want) {
		t.Errorf("got  %+v\nwant %+v", part, want)
	}
}

// What is deleted and only kept by a finalizer is gone, for endpoint pickers as well: a pool has no endpoints, an
// objective no priority, and a rewrite that stood in place of an older one gives way to it.
func TestDeleted(t *testing.T) {
	to := func(model string) map[string]any {
		return map[string]any{"rules": []any{
			map[string]any{"targets": []any{map[string]any{"modelRewrite": model}}}}}
	}
	pool := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"selector":    map[string]any{"matchLabels": map[string]any{"app": "a"}},
		"targetPorts": []any{map[string]any{"number": int64(8000)}}}}}
	pool.SetNamespace("ns")
	pool.SetName("llama")
	batch := rule("ns", "batch", "llama", 0, map[string]any{"priority": int64(-1)})
	moved := rule("ns", "r", "llama", 0, to("new"))
	const rewrites = "inferencemodelrewrites."
	d := cached(t, []Pool{{InferencePool: "llama"}}, map[string][]any{
		"pods": {readyPod("p", "10.0.0.1", map[string]string{"app": "a"})},
		"inferencepools.inference.networking.k8s.io":        {pool},
		"inferenceobjectives.inference.networking.x-k8s.io": {batch},
		rewrites + "llm-d.ai":                               {moved},
		rewrites + "inference.networking.x-k8s.io":          {rule("ns", "r", "llama", 0, to("old"))},
	})
	want := func(when string, endpoints, objectives int, target, missing string) {
		t.Helper()
		part, err := d.part()
		if err != nil {
			t.Fatal(err)
		}
		if len(part.Endpoints) != endpoints || len(part.Objectives) != objectives || len(part.Rewrites) != 1 ||
			part.Rewrites[0].Targets[0].Model != target {
			t.Errorf("%s: got %+v, want %d endpoints, %d objectives and a rewrite to %s", when, part, endpoints,
				objectives, target)
		}
		if got := fmt.Sprint(d.missing()); got != missing {
			t.Errorf("%s: got %s, want %s", when, got, missing)
		}
	}
	want("before", 1, 1, "new", "<nil>")
	now := metav1.Now()
	for _, o := range []*unstructured.Unstructured{pool, batch, moved} {
		o.SetDeletionTimestamp(&now)
	}
	want("deleted", 0, 0, "old", "InferencePool ns/llama is being deleted")
}
