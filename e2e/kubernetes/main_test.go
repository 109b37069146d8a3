//go:build kubernetes

package kubernetes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/e2e/istio/mesh"
	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// api is the API server that all tests share. Each has namespaces of its own.
var api *mesh.Kube

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	defer harness.Clean()
	dir, err := os.MkdirTemp("", "pintle-kubernetes-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	api, err = mesh.StartKube(dir)
	defer func() { api.StopKube() }()
	if err == nil {
		err = defineKinds()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// defineKinds gives the API the Gateway API Inference Extension's kinds.
func defineKinds() error {
	kinds, err := mesh.ModuleObjects("istio", "sigs.k8s.io/gateway-api-inference-extension", "config/crd/bases/*.yaml")
	if err != nil {
		return err
	}
	return api.Apply(kinds...)
}

// The components that ship a role: for pools of a Service or a selector, and for InferencePools.
const (
	forServices       = "kubernetes"
	forInferencePools = "kubernetes-inference-pool"
)

// namespace makes one in which the gateway's account has a component's role, and returns the account's kubeconfig.
func namespace(t *testing.T, name, component string) (kubeconfig string) {
	t.Helper()
	role, binding := shipped(t, component, "role.yaml"), shipped(t, forServices, "rolebinding.yaml")
	role.Set(name, "metadata", "namespace")
	binding.Set(name, "metadata", "namespace")
	apply(t, mesh.Namespace(name), role, binding)
	kubeconfig, err := api.Kubeconfig("system:serviceaccount:pintle:pintle-gateway")
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// shipped is a manifest of a component.
func shipped(t *testing.T, component, file string) mesh.Object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(), "istio", "components", component, file))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

func parse(t *testing.T, text string) mesh.Object {
	t.Helper()
	objects, err := mesh.Parse([]byte(text))
	if err != nil || len(objects) != 1 {
		t.Fatalf("%v in\n%s", err, text)
	}
	return objects[0]
}

func apply(t *testing.T, objects ...mesh.Object) {
	t.Helper()
	if err := api.Apply(objects...); err != nil {
		t.Fatal(err)
	}
}

// pod is a pod with labels and annotations in YAML's flow style.
func pod(t *testing.T, namespace, name, labels, annotations string) mesh.Object {
	return parse(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s, labels: %s, annotations: %s}
spec: {nodeName: node, containers: [{name: server, image: vllm}]}
`, name, namespace, labels, annotations))
}

// setReady writes a pod's status as its kubelet does.
func setReady(t *testing.T, namespace, name, ip string, ready bool) {
	t.Helper()
	condition := "False"
	if ready {
		condition = "True"
	}
	status := parse(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s}
status: {phase: Running, podIP: %s, podIPs: [{ip: %s}], conditions: [{type: Ready, status: "%s"}]}
`, name, namespace, ip, ip, condition))
	if err := api.SetStatus(status); err != nil {
		t.Fatal(err)
	}
}

// observer keeps what a discovery said last.
type observer struct {
	t *testing.T

	mu   sync.Mutex
	part topology.Part
	err  error
	told int
}

// observe runs a discovery until the test ends.
func observe(t *testing.T, kubeconfig, namespace string, pools ...kubernetes.Pool) *observer {
	t.Helper()
	d, err := kubernetes.New(kubernetes.Config{
		Kubeconfig: kubeconfig, Namespace: namespace, Pools: pools,
		Engine: func(name string) string {
			if e := engine.Known.ByName(name); e != nil {
				return e.Name()
			}
			return ""
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := &observer{t: t}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx, o.emit)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return o
}

func (o *observer) emit(part topology.Part, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err = err; err == nil || topology.IsPartly(err) {
		o.part = part
		o.told++
	}
}

func (o *observer) now() (topology.Part, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.part, o.err
}

// await waits until fits says yes of the last list.
func (o *observer) await(what string, fits func(part topology.Part, err error) bool) topology.Part {
	o.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(time.Millisecond) {
		part, err := o.now()
		if fits(part, err) {
			return part
		}
		if time.Now().After(deadline) {
			o.t.Fatalf("waited in vain: %s; last %s, %v", what, list(part), err)
		}
	}
}

// awaitList waits for exactly those endpoints, written as NAME=ADDRESS.
func (o *observer) awaitList(what string, want ...string) topology.Part {
	o.t.Helper()
	return o.await(what+": "+strings.Join(want, " "), func(part topology.Part, _ error) bool {
		o.mu.Lock()
		told := o.told
		o.mu.Unlock()
		return told > 0 && list(part) == strings.Join(want, " ")
	})
}

func list(part topology.Part) string {
	var all []string
	for _, e := range part.Endpoints {
		all = append(all, e.Name+"="+e.Address)
	}
	return strings.Join(all, " ")
}
