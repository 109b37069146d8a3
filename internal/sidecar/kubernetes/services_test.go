package kubernetes

import (
	gslices "slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A pod with an address of each family is one endpoint that stays where it is, though the cache of slices has no order:
// another address would be another endpoint, with nothing known of it.
func TestFamilies(t *testing.T) {
	slice := func(name string, family discoveryv1.AddressType, ip string) any {
		port := int32(8000)
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns",
				Labels: map[string]string{discoveryv1.LabelServiceName: "s"}},
			AddressType: family, Ports: []discoveryv1.EndpointPort{{Port: &port}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{ip},
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "p"}}},
		}
	}
	four := slice("s-1", discoveryv1.AddressTypeIPv4, "10.0.0.1")
	six := slice("s-2", discoveryv1.AddressTypeIPv6, "fd00::1")
	tests := []struct {
		name, own string
		slices    []any
		want      string
	}{
		{"the pod's own is the first family's", "10.0.0.1", []any{four, six}, "10.0.0.1:8000"},
		{"the pod's own is the second family's", "fd00::1", []any{four, six}, "[fd00::1]:8000"},
		{"the pod's own is in no slice", "10.0.0.9", []any{four, six}, "10.0.0.1:8000"},
		{"the Service has the other family alone", "10.0.0.1", []any{six}, "[fd00::1]:8000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := cached(t, []Pool{{Service: "s"}}, map[string][]any{
				"pods": {readyPod("p", test.own, nil)}, "endpointslices.discovery.k8s.io": test.slices,
			})
			for range 50 {
				part, err := d.part()
				if err != nil {
					t.Fatal(err)
				}
				if len(part.Endpoints) != 1 || part.Endpoints[0].Address != test.want {
					t.Fatalf("got %+v, want one endpoint at %s", part.Endpoints, test.want)
				}
			}
		})
	}
}

// sliceOfTwo is of the Service s, with the ports 8000 and 8001 at the pod p and at an address without a pod.
func sliceOfTwo() *discoveryv1.EndpointSlice {
	first, second := int32(8000), int32(8001)
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "s-1", Namespace: "ns",
			Labels: map[string]string{discoveryv1.LabelServiceName: "s"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Port: &first}, {Port: &second}},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.0.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "p"}},
			{Addresses: []string{"10.0.0.2"}},
		},
	}
}

// TestServiceActivePorts: a pod's annotation holds for a Service's ports as for an InferencePool's. An address without
// a pod has none.
func TestServiceActivePorts(t *testing.T) {
	pod := readyPod("p", "10.0.0.1", nil)
	pod.Annotations = map[string]string{activePorts: "8001"}
	part, err := cached(t, []Pool{{Service: "s"}}, map[string][]any{
		"pods": {pod}, "endpointslices.discovery.k8s.io": {sliceOfTwo()},
	}).part()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range part.Endpoints {
		got = append(got, e.Name+"="+e.Address)
	}
	want := []string{"ns/p-rank-1=10.0.0.1:8001", "ns/s-10.0.0.2-rank-0=10.0.0.2:8000",
		"ns/s-10.0.0.2-rank-1=10.0.0.2:8001"}
	if !gslices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPortByNameAndNumber: a port that is named and numbered is one endpoint, called as where it is alone.
func TestPortByNameAndNumber(t *testing.T) {
	slice, name := sliceOfTwo(), "http"
	slice.Ports[0].Name = &name
	part, err := cached(t, []Pool{{Service: "s", Ports: []string{"http", "8000"}}}, map[string][]any{
		"pods": {readyPod("p", "10.0.0.1", nil)}, "endpointslices.discovery.k8s.io": {slice},
	}).part()
	want := []string{"ns/p=10.0.0.1:8000", "ns/s-10.0.0.2=10.0.0.2:8000"}
	if got := namesOf(part); err != nil || !gslices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestTwoPoolsOfOnePod: a pod is of the first pool that chooses it, also where the second one has more ports and would
// give it other names.
func TestTwoPoolsOfOnePod(t *testing.T) {
	app := map[string]string{"app": "a"}
	one, both := Pool{Selector: "app=a", Ports: []string{"8000"}}, Pool{Service: "s"}
	address := []string{"ns/s-10.0.0.2-rank-0=10.0.0.2:8000", "ns/s-10.0.0.2-rank-1=10.0.0.2:8001"}
	for _, test := range []struct {
		name  string
		pools []Pool
		want  []string
	}{
		{"one port first", []Pool{one, both}, append([]string{"ns/p=10.0.0.1:8000"}, address...)},
		{"both ports first", []Pool{both, one},
			append([]string{"ns/p-rank-0=10.0.0.1:8000", "ns/p-rank-1=10.0.0.1:8001"}, address...)},
	} {
		t.Run(test.name, func(t *testing.T) {
			part, err := cached(t, test.pools, map[string][]any{
				"pods": {readyPod("p", "10.0.0.1", app)}, "endpointslices.discovery.k8s.io": {sliceOfTwo()},
			}).part()
			if got := namesOf(part); err != nil || !gslices.Equal(got, test.want) {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}
