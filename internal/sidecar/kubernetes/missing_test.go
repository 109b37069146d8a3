package kubernetes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What is named and not there is told, and a pool whose pods are not ready is there.
func TestMissing(t *testing.T) {
	llama := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	llama.SetNamespace("ns")
	llama.SetName("llama")
	slice := func(service string, addresses ...string) *discoveryv1.EndpointSlice {
		name, port, ready := "http", int32(8000), false
		s := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Name: service + "-1", Namespace: "ns",
				Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			AddressType: discoveryv1.AddressTypeIPv4,
		}
		for _, a := range addresses {
			s.Ports = []discoveryv1.EndpointPort{{Name: &name, Port: &port}}
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a},
				Conditions: discoveryv1.EndpointConditions{Ready: &ready},
				TargetRef:  &corev1.ObjectReference{Kind: "Pod", Name: "p"}})
		}
		return s
	}
	portless := slice("portless", "10.0.0.2")
	portless.Ports = nil
	udp, protocol := slice("udp", "10.0.0.3"), corev1.ProtocolUDP
	udp.Ports[0].Protocol = &protocol
	objects := map[string][]any{
		"inferencepools.inference.networking.k8s.io": {llama},
		"endpointslices.discovery.k8s.io": {slice("vllm", "10.0.0.1"), slice("idle"), portless,
			udp},
	}
	const noPort = "the EndpointSlices of the Service ns/vllm have none of the ports 80; names, or numbers of the " +
		"pods' ports, are right"
	const noTCP = "the EndpointSlices of the Service ns/udp have no TCP port; a Service with one is right"
	tests := []struct {
		name  string
		pools []Pool
		want  string
	}{
		{"an InferencePool without pods", []Pool{{InferencePool: "llama"}}, ""},
		{"no InferencePool", []Pool{{InferencePool: "llama"}, {InferencePool: "lama"}},
			"InferencePool ns/lama is not there"},
		{"one of each", []Pool{{InferencePool: "lama"}, {InferencePool: "llama"}, {Service: "vlm"}},
			"InferencePool ns/lama is not there\nno EndpointSlice is of the Service ns/vlm"},
		{"a Service without ready pods", []Pool{{Service: "vllm"}}, ""},
		{"a Service without pods", []Pool{{Service: "idle", Ports: []string{"http"}}}, ""},
		{"a Service without ports", []Pool{{Service: "portless", Ports: []string{"http"}}},
			strings.NewReplacer("/vllm", "/portless", "80;", "http;").Replace(noPort)},
		{"a Service without ports, all of them", []Pool{{Service: "portless"}},
			strings.Replace(noTCP, "udp", "portless", 1)},
		{"a Service without ports of TCP", []Pool{{Service: "udp"}}, noTCP},
		{"no Service", []Pool{{Service: "vlm"}}, "no EndpointSlice is of the Service ns/vlm"},
		{"a port by name", []Pool{{Service: "vllm", Ports: []string{"http"}}}, ""},
		{"a port by number", []Pool{{Service: "vllm", Ports: []string{"8000"}}}, ""},
		{"one of two ports", []Pool{{Service: "vllm", Ports: []string{"grpc", "http"}}}, ""},
		{"the Service's own number", []Pool{{Service: "vllm", Ports: []string{"80"}}}, noPort},
		{"a selector that chooses nothing", []Pool{{Selector: "app=none", Ports: []string{"8000"}}}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := cached(t, test.pools, nil)
			for _, w := range d.order {
				for _, o := range objects[w.kind.GroupResource().String()] {
					if err := w.informer.GetStore().Add(o); err != nil {
						t.Fatal(err)
					}
				}
			}
			got := ""
			if err := d.missing(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
