package kubernetes

import (
	gslices "slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// namesOf are the names and addresses of a part's endpoints.
func namesOf(part *topology.Part) (all []string) {
	for _, e := range part.Endpoints {
		all = append(all, e.Name+"="+e.Address)
	}
	return all
}

// poolOf is the InferencePool llama that chooses pods by these labels.
func poolOf(labels map[string]any, ports ...int64) *unstructured.Unstructured {
	var targets []any
	for _, port := range ports {
		targets = append(targets, map[string]any{"number": port})
	}
	pool := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": labels}, "targetPorts": targets}}}
	pool.SetNamespace("ns")
	pool.SetName("llama")
	return pool
}

// TestPodsLeftOut: of an InferencePool's pods those are endpoints which its labels choose and which are ready, at the
// ports that they serve.
func TestPodsLeftOut(t *testing.T) {
	app := map[string]string{"app": "a"}
	changed := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := readyPod("p", "10.0.0.1", app)
		change(pod)
		return pod
	}
	chosen := map[string]any{"app": "a"}
	for _, tc := range []struct {
		name string
		pool *unstructured.Unstructured // nil for none
		pod  *corev1.Pod
		want string
	}{
		{"ready", poolOf(chosen, 8000), readyPod("p", "10.0.0.1", app), "ns/p=10.0.0.1:8000"},
		{"of IPv6", poolOf(chosen, 8000), readyPod("p", "fd00::1", app), "ns/p=[fd00::1]:8000"},
		{"two ports", poolOf(chosen, 8000, 8001), readyPod("p", "10.0.0.1", app),
			"ns/p-rank-0=10.0.0.1:8000 ns/p-rank-1=10.0.0.1:8001"},
		{"one of two ports", poolOf(chosen, 8000, 8001), changed(func(p *corev1.Pod) {
			p.Annotations = map[string]string{activePorts: "8001"}
		}), "ns/p-rank-1=10.0.0.1:8001"},
		{"no pool", nil, readyPod("p", "10.0.0.1", app), ""},
		{"a pool that chooses by nothing", poolOf(nil, 8000), readyPod("p", "10.0.0.1", app), ""},
		{"of another app", poolOf(chosen, 8000), readyPod("p", "10.0.0.1", map[string]string{"app": "b"}), ""},
		{"not ready", poolOf(chosen, 8000), changed(func(p *corev1.Pod) {
			p.Status.Conditions[0].Status = corev1.ConditionFalse
		}), ""},
		{"no address", poolOf(chosen, 8000), readyPod("p", "vllm-0", app), ""},
		{"an address of one link", poolOf(chosen, 8000), readyPod("p", "fe80::1%eth0", app), ""},
		{"port zero", poolOf(chosen, 0), readyPod("p", "10.0.0.1", app), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			objects := map[string][]any{"pods": {tc.pod}}
			if tc.pool != nil {
				objects["inferencepools.inference.networking.k8s.io"] = []any{tc.pool}
			}
			part, err := cached(t, []Pool{{InferencePool: "llama"}}, objects).part()
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(namesOf(part), " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestAddressesLeftOut: of a Service's addresses those are endpoints which are ready, and whose pods are, if they have
// one.
func TestAddressesLeftOut(t *testing.T) {
	yes, no, port := true, false, int32(8000)
	ofPod := func(name string) *corev1.ObjectReference { return &corev1.ObjectReference{Kind: "Pod", Name: name} }
	pod, unready := readyPod("p", "10.0.0.1", nil), readyPod("unready", "10.0.0.1", nil)
	pod.UID = "new"
	unready.Status.Conditions[0].Status = corev1.ConditionFalse
	for _, tc := range []struct {
		name   string
		at     discoveryv1.Endpoint
		family discoveryv1.AddressType
		want   string
	}{
		{"nothing said", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}}, "IPv4", "ns/s-10.0.0.1=10.0.0.1:8000"},
		{"ready", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"},
			Conditions: discoveryv1.EndpointConditions{Ready: &yes}}, "IPv4", "ns/s-10.0.0.1=10.0.0.1:8000"},
		{"of a pod", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, TargetRef: ofPod("p"),
			Conditions: discoveryv1.EndpointConditions{Ready: &yes}}, "IPv4", "ns/p=10.0.0.1:8000"},
		{"of something else than a pod", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"},
			TargetRef: &corev1.ObjectReference{Kind: "VirtualMachine", Name: "p"}}, "IPv4",
			"ns/s-10.0.0.1=10.0.0.1:8000"},
		{"not ready", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"},
			Conditions: discoveryv1.EndpointConditions{Ready: &no}}, "IPv4", ""},
		{"no address", discoveryv1.Endpoint{}, "IPv4", ""},
		{"no address in numbers", discoveryv1.Endpoint{Addresses: []string{"vllm-0"}}, "IPv4", ""},
		{"of a pod that is gone", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, TargetRef: ofPod("gone")},
			"IPv4", ""},
		{"of the pod that is there", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "p", UID: "new"}}, "IPv4", "ns/p=10.0.0.1:8000"},
		{"of a pod whose name another one has now", discoveryv1.Endpoint{Addresses: []string{"10.0.0.9"},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "p", UID: "old"}}, "IPv4", ""},
		{"of a pod that is not ready", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"},
			TargetRef: ofPod("unready"), Conditions: discoveryv1.EndpointConditions{Ready: &yes}}, "IPv4", ""},
		{"names", discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}}, discoveryv1.AddressTypeFQDN, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			slice := &discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{Name: "s-1", Namespace: "ns",
					Labels: map[string]string{discoveryv1.LabelServiceName: "s"}},
				AddressType: tc.family, Ports: []discoveryv1.EndpointPort{{Port: &port}},
				Endpoints: []discoveryv1.Endpoint{tc.at},
			}
			part, err := cached(t, []Pool{{Service: "s"}}, map[string][]any{
				"pods":                            {pod, unready},
				"endpointslices.discovery.k8s.io": {slice},
			}).part()
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(namesOf(part), " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestRewritesLeftOut: rewrites of other pools, of other kinds of them and of other namespaces are none of ours, and a
// rule without targets is none. A weight below zero is zero.
func TestRewritesLeftOut(t *testing.T) {
	to := func(targets ...any) map[string]any {
		return map[string]any{"rules": []any{map[string]any{"targets": targets}}}
	}
	target := func(model string, weight int64) any { return map[string]any{"modelRewrite": model, "weight": weight} }
	service := rule("ns", "service", "llama", 0, to(target("d", 1)))
	service.Object["spec"].(map[string]any)["poolRef"] = map[string]any{"kind": "Service", "name": "llama"}
	named := rule("ns", "named", "llama", 0, to(target("b", 7)))
	named.Object["spec"].(map[string]any)["poolRef"] = map[string]any{"kind": "InferencePool", "name": "llama"}
	d := cached(t, []Pool{{InferencePool: "llama"}}, map[string][]any{"inferencemodelrewrites.llm-d.ai": {
		rule("ns", "ours", "llama", time.Hour, to(target("a", 3), target("b", -1))), named, service,
		rule("ns", "foreign", "other", 0, to(target("c", 1))),
		rule("ns", "empty", "llama", 0, to()),
	}})
	d.config.Pools = append(d.config.Pools, Pool{InferencePool: "other", Namespace: "ns2"})
	part := &topology.Part{}
	if err := d.rules(part); err != nil {
		t.Fatal(err)
	}
	var got []string
	var weights []uint32
	for _, r := range part.Rewrites {
		for _, target := range r.Targets {
			got, weights = append(got, target.Model), append(weights, target.Weight)
		}
	}
	if strings.Join(got, " ") != "a b b" || !gslices.Equal(weights, []uint32{3, 0, 7}) || len(part.Rewrites) != 2 {
		t.Errorf("got targets %q with weights %v in %d rules, want a, b and b with 3, 0 and 7 in 2", got, weights,
			len(part.Rewrites))
	}
}
