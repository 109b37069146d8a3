//go:build kubernetes

package kubernetes

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

func TestNothingWithoutTheRole(t *testing.T) {
	namespace(t, "role", forServices)
	kubeconfig, err := api.Kubeconfig("system:serviceaccount:role:stranger")
	if err != nil {
		t.Fatal(err)
	}
	o := observe(t, kubeconfig, "role", kubernetes.Pool{Selector: "app=a", Ports: []string{"8000"}})
	o.await("a refusal that names the resource", func(part topology.Part, err error) bool {
		return err != nil && strings.Contains(err.Error(), "pods") && strings.Contains(err.Error(), "forbidden")
	})
	if o.told != 0 {
		t.Errorf("got %d lists, want none", o.told)
	}
}

// A shipped role is not enough for the other kind of pool, nor in another namespace.
func TestNothingBeyondTheRole(t *testing.T) {
	for _, test := range []struct {
		name, component string
		pool            kubernetes.Pool
		refused         string
	}{
		{"a Service's", forServices, kubernetes.Pool{InferencePool: "llama"}, "inferencepools"},
		{"an InferencePool's", forInferencePools, kubernetes.Pool{Service: "vllm"}, "endpointslices"},
		{"another namespace's", forServices, kubernetes.Pool{Service: "vllm", Namespace: "default"}, "endpointslices"},
	} {
		t.Run(test.name, func(t *testing.T) {
			const ns = "beyond"
			o := observe(t, namespace(t, ns, test.component), ns, test.pool)
			o.await("a refusal that names "+test.refused, func(_ topology.Part, err error) bool {
				return err != nil && strings.Contains(err.Error(), test.refused) &&
					strings.Contains(err.Error(), "forbidden")
			})
			if o.told != 0 {
				t.Errorf("got %d lists, want none", o.told)
			}
		})
	}
}

func TestLostAPIServer(t *testing.T) {
	const ns = "lost"
	o := observe(t, namespace(t, ns, forInferencePools), ns, kubernetes.Pool{InferencePool: "llama"})
	apply(t, parse(t, pool(ns)), pod(t, ns, "a", "{app: llama}", "{}"))
	setReady(t, ns, "a", "10.0.0.1", true)
	o.awaitList("the pod", "lost/a=10.0.0.1:8000")

	api.StopServer()
	got := o.await("word of the loss", func(_ topology.Part, err error) bool {
		return err != nil && strings.HasPrefix(err.Error(), "watch ")
	})
	if list(got) != "lost/a=10.0.0.1:8000" {
		t.Errorf("got %s without the API server, want the last list", list(got))
	}
	if err := api.StartServer(); err != nil {
		t.Fatal(err)
	}
	o.await("no problem once it is back", func(_ topology.Part, err error) bool { return err == nil })
	setReady(t, ns, "a", "10.0.0.1", false)
	o.awaitList("changes once it is back")
}
