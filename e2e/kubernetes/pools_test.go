//go:build kubernetes

package kubernetes

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/snapshot"
)

// pool is an InferencePool with one port.
func pool(namespace string) string {
	return `
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: llama, namespace: ` + namespace + `}
spec:
  selector: {matchLabels: {app: llama}}
  targetPorts: [{number: 8000}]
  endpointPickerRef: {name: none, port: {number: 9002}}
`
}

func TestInferencePool(t *testing.T) {
	const ns = "pool"
	o := observe(t, namespace(t, ns, forInferencePools), ns,
		kubernetes.Pool{InferencePool: "llama", Labels: []snapshot.Label{{Key: "pool", Value: "a"}},
			Models: []string{"m"}})
	o.awaitList("a pool that is not there")
	o.await("word of that", func(_ topology.Part, err error) bool {
		return topology.IsPartly(err) && strings.Contains(err.Error(), "InferencePool pool/llama is not there")
	})
	apply(t, parse(t, pool(ns)))
	o.await("no problem once it is there", func(_ topology.Part, err error) bool { return err == nil })
	apply(t, pod(t, ns, "vllm-0", "{app: llama, pool: own, inference.networking.k8s.io/engine-type: sglang}", "{}"),
		pod(t, ns, "vllm-1", "{app: llama}", "{}"), pod(t, ns, "other", "{app: other}", "{}"))
	setReady(t, ns, "other", "10.0.0.9", true)
	setReady(t, ns, "vllm-0", "10.0.0.1", true)
	got := o.awaitList("the ready pod", "pool/vllm-0=10.0.0.1:8000")
	want := snapshot.Endpoint{
		Name: "pool/vllm-0", Address: "10.0.0.1:8000", Engine: "sglang", Models: []string{"m"},
		Labels: []snapshot.Label{{Key: "app", Value: "llama"},
			{Key: "inference.networking.k8s.io/engine-type", Value: "sglang"}, {Key: "pool", Value: "a"}},
	}
	if !reflect.DeepEqual(got.Endpoints[0].Endpoint, want) {
		t.Errorf("got  %+v\nwant %+v", got.Endpoints[0], want)
	}
	setReady(t, ns, "vllm-1", "10.0.0.2", true)
	o.awaitList("the second pod", "pool/vllm-0=10.0.0.1:8000", "pool/vllm-1=10.0.0.2:8000")
	began := time.Now()
	setReady(t, ns, "vllm-0", "10.0.0.1", false)
	o.awaitList("without the unready pod", "pool/vllm-1=10.0.0.2:8000")
	t.Logf("an unready pod was out %v after its status was sent", time.Since(began))

	if err := api.Delete(pod(t, ns, "vllm-1", "{}", "{}")); err != nil {
		t.Fatal(err)
	}
	o.awaitList("without the pod that is being deleted")
}

// TestDeletedPool: a pool that a finalizer keeps is gone once it was deleted, and as good as ever without that.
func TestDeletedPool(t *testing.T) {
	const ns = "deleted"
	o := observe(t, namespace(t, ns, forInferencePools), ns, kubernetes.Pool{InferencePool: "llama"})
	kept := parse(t, strings.Replace(pool(ns), "name: llama,", "name: llama, finalizers: [example.com/kept],", 1))
	apply(t, kept, pod(t, ns, "vllm-0", "{app: llama}", "{}"))
	setReady(t, ns, "vllm-0", "10.0.0.1", true)
	o.awaitList("the ready pod", "deleted/vllm-0=10.0.0.1:8000")
	if err := api.Delete(kept); err != nil {
		t.Fatal(err)
	}
	o.awaitList("without the pool")
	o.await("word of that", func(_ topology.Part, err error) bool {
		return topology.IsPartly(err) && strings.Contains(err.Error(), "InferencePool deleted/llama is being deleted")
	})
	if there, err := api.Get(kept); err != nil || there.At("metadata", "deletionTimestamp") == nil {
		t.Errorf("got %v (%v), want the pool to be there, with a deletionTimestamp", there, err)
	}
	apply(t, parse(t, strings.Replace(pool(ns), "name: llama,", "name: llama, finalizers: [],", 1)))
	apply(t, parse(t, pool(ns)))
	o.awaitList("a new pool of the name", "deleted/vllm-0=10.0.0.1:8000")
}

func TestRanksAndActivePorts(t *testing.T) {
	const ns = "ranks"
	o := observe(t, namespace(t, ns, forInferencePools), ns, kubernetes.Pool{InferencePool: "llama"})
	apply(t,
		parse(t, strings.Replace(pool(ns), "[{number: 8000}]", "[{number: 8000}, {number: 8001}, {number: 8002}]", 1)))
	apply(t, pod(t, ns, "a", "{app: llama}", "{}"),
		pod(t, ns, "b", "{app: llama}", `{inference.networking.k8s.io/active-ports: "8002, 8000"}`))
	setReady(t, ns, "a", "10.0.0.1", true)
	setReady(t, ns, "b", "10.0.0.2", true)
	o.awaitList("ranks", "ranks/a-rank-0=10.0.0.1:8000", "ranks/a-rank-1=10.0.0.1:8001", "ranks/a-rank-2=10.0.0.1:8002",
		"ranks/b-rank-0=10.0.0.2:8000", "ranks/b-rank-2=10.0.0.2:8002")
	apply(t, pod(t, ns, "a", "{app: llama}", `{inference.networking.k8s.io/active-ports: "8001"}`))
	o.awaitList("a changed annotation", "ranks/a-rank-1=10.0.0.1:8001", "ranks/b-rank-0=10.0.0.2:8000",
		"ranks/b-rank-2=10.0.0.2:8002")
	apply(t, parse(t, pool(ns)))
	o.awaitList("one port left", "ranks/b=10.0.0.2:8000")
}

func TestService(t *testing.T) {
	const ns = "service"
	o := observe(t, namespace(t, ns, forServices), ns, kubernetes.Pool{Service: "vllm", Ports: []string{"http"}})
	o.await("word of the missing Service", func(_ topology.Part, err error) bool {
		return topology.IsPartly(err) &&
			strings.Contains(err.Error(), "no EndpointSlice is of the Service service/vllm")
	})
	apply(t, pod(t, ns, "a", "{app: x, role: decode}", "{}"), pod(t, ns, "b", "{app: x}", "{}"))
	setReady(t, ns, "a", "10.0.0.1", true)
	setReady(t, ns, "b", "10.0.0.2", true)
	slice := `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: vllm-1, namespace: service, labels: {kubernetes.io/service-name: vllm}}
addressType: IPv4
ports: [{name: metrics, port: 9090}, {name: http, port: 8000}]
endpoints:
- {addresses: [10.0.0.1], conditions: {ready: true}, targetRef: {kind: Pod, name: a, namespace: service}}
- {addresses: [10.0.0.2], conditions: {ready: BREADY}, targetRef: {kind: Pod, name: b, namespace: service}}
- {addresses: [10.0.0.3], conditions: {ready: true}}
`
	apply(t, parse(t, strings.Replace(slice, "BREADY", "false", 1)))
	got := o.awaitList("ready addresses", "service/a=10.0.0.1:8000", "service/vllm-10.0.0.3=10.0.0.3:8000")
	if role := got.Endpoints[0].Labels; len(role) != 2 || role[1].Value != "decode" {
		t.Errorf("labels: got %v, want those of the pod", role)
	}
	apply(t, parse(t, strings.Replace(slice, "BREADY", "true", 1)))
	o.awaitList("one more", "service/a=10.0.0.1:8000", "service/b=10.0.0.2:8000", "service/vllm-10.0.0.3=10.0.0.3:8000")
	setReady(t, ns, "a", "10.0.0.1", false)
	o.awaitList("a pod that turned unready before its slice knew", "service/b=10.0.0.2:8000",
		"service/vllm-10.0.0.3=10.0.0.3:8000")
}

func TestSeveralPools(t *testing.T) {
	const ns = "several"
	o := observe(t, namespace(t, ns, forServices), ns,
		kubernetes.Pool{Selector: "app in (a, b)", Ports: []string{"8000"},
			Labels: []snapshot.Label{{Key: "pool", Value: "first"}}},
		kubernetes.Pool{Selector: "app=b", Ports: []string{"8000"},
			Labels: []snapshot.Label{{Key: "pool", Value: "second"}}},
		kubernetes.Pool{Selector: "app=c", Ports: []string{"8000", "8001"}, Engine: "triton"})
	for i, name := range []string{"a", "b", "c"} {
		apply(t, pod(t, ns, name, "{app: "+name+"}", "{}"))
		setReady(t, ns, name, []string{"10.0.0.1", "fd00::2", "10.0.0.3"}[i], true)
	}
	got := o.awaitList("all pools", "several/a=10.0.0.1:8000", "several/b=[fd00::2]:8000",
		"several/c-rank-0=10.0.0.3:8000", "several/c-rank-1=10.0.0.3:8001")
	if labels := got.Endpoints[1].Labels; labels[1].Value != "first" {
		t.Errorf("labels of a pod in two pools: got %v, want those of the first", labels)
	}
	if engine := got.Endpoints[2].Engine; engine != "triton" {
		t.Errorf("engine: got %q, want the pool's", engine)
	}
}

// olderGroup is that of the Gateway API Inference Extension's objectives and rewrites.
const olderGroup = "inference.networking.x-k8s.io"

// objective is an InferenceObjective of a group, for a pool.
func objective(t *testing.T, group, namespace, name, pool, spec string) mesh.Object {
	t.Helper()
	return parse(t, `
apiVersion: `+group+`/v1alpha2
kind: InferenceObjective
metadata: {name: `+name+`, namespace: `+namespace+`}
spec: {`+spec+`poolRef: {name: `+pool+`}}
`)
}

func TestRules(t *testing.T) {
	const ns = "rules"
	o := observe(t, namespace(t, ns, forInferencePools), ns, kubernetes.Pool{InferencePool: "llama"})
	batch := objective(t, olderGroup, ns, "batch", "llama", "priority: -10, ")
	apply(t, batch, objective(t, olderGroup, ns, "plain", "llama", ""),
		objective(t, olderGroup, ns, "foreign", "other", "priority: 5, "))
	apply(t, parse(t, `
apiVersion: inference.networking.x-k8s.io/v1alpha2
kind: InferenceModelRewrite
metadata: {name: canary, namespace: rules}
spec:
  poolRef: {name: llama}
  rules:
  - matches: [{model: {value: m}}]
    targets: [{modelRewrite: m-v1, weight: 90}, {modelRewrite: m-v2, weight: 10}]
  - targets: [{modelRewrite: rest}]
`))
	wantRewrites := []snapshot.Rewrite{
		{Models: []string{"m"},
			Targets: []snapshot.RewriteTarget{{Model: "m-v1", Weight: 90}, {Model: "m-v2", Weight: 10}}},
		{Targets: []snapshot.RewriteTarget{{Model: "rest"}}},
	}
	o.await("objectives and rewrites of the pool", func(part topology.Part, _ error) bool {
		got := slices.Clone(part.Objectives)
		slices.SortFunc(got, func(a, b snapshot.Objective) int { return int(a.Priority) - int(b.Priority) })
		return reflect.DeepEqual(got, []snapshot.Objective{{Name: "batch", Priority: -10}, {Name: "plain"}}) &&
			reflect.DeepEqual(part.Rewrites, wantRewrites)
	})
	if err := api.Delete(batch); err != nil {
		t.Fatal(err)
	}
	o.await("without the deleted objective",
		func(part topology.Part, _ error) bool { return len(part.Objectives) == 1 })
}
