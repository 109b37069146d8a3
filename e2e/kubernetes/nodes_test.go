//go:build kubernetes

package kubernetes

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	targets "github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/scrape"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
)

// TestNodeAddress: the address of a pod's machine, which its kubelet writes, is where the exporter of its GPUs is read
// with useNodeAddress.
func TestNodeAddress(t *testing.T) {
	const ns, node = "nodes", "127.0.0.9"
	listener, err := net.Listen("tcp", node+":0")
	if err != nil {
		t.Fatal(err)
	}
	exporter := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `DCGM_FI_DEV_GPU_UTIL{gpu="0",pod="vllm-0",namespace="nodes"} 42`+"\n")
	}))
	_ = exporter.Listener.Close()
	exporter.Listener = listener
	exporter.Start()
	t.Cleanup(exporter.Close)

	o := observe(t, namespace(t, ns, forInferencePools), ns, kubernetes.Pool{InferencePool: "llama"})
	apply(t, parse(t, pool(ns)), pod(t, ns, "vllm-0", "{app: llama}", "{}"))
	setReady(t, ns, "vllm-0", "10.0.0.1", true)
	if part := o.awaitList("the ready pod", ns+"/vllm-0=10.0.0.1:8000"); part.Endpoints[0].Node != "" {
		t.Errorf("the node of a pod without hostIP is %q", part.Endpoints[0].Node)
	}
	setHost(t, ns, "vllm-0", "10.0.0.1", node)
	part := o.await("the pod's node", func(part topology.Part, _ error) bool {
		return len(part.Endpoints) == 1 && part.Endpoints[0].Node == node
	})

	ctx, cancel := context.WithCancel(t.Context())
	p := targets.New(slog.New(slog.DiscardHandler), engine.Known, []topology.Discovery{given{}})
	s := &scrape.Scraper{Engines: engine.Known, Pool: p, Log: slog.New(slog.DiscardHandler), Metrics: metrics.New(p),
		Demand: &scrape.Demand{}}
	s.Interval, s.Timeout = time.Second, time.Second
	s.GPU = &config.GPU{Attribute: "GPUUtilization/dcgm-extractor", Path: "/metrics",
		Port: uint16(listener.Addr().(*net.TCPAddr).Port), Node: true, Interval: 50 * time.Millisecond}
	p.Start = func(ctx context.Context, target *targets.Target) { s.Run(ctx, target, func() {}) }
	t.Cleanup(func() { cancel(); p.Wait() })
	p.Update(ctx, 0, part, nil)
	deadline := time.Now().Add(30 * time.Second)
	for {
		found := p.Generation().Targets
		if len(found) == 1 && found[0].Now().GPUKnown {
			if use := found[0].Now().GPU; use != 0.42 {
				t.Errorf("the use of the GPU is %v, want 0.42", use)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the exporter at the node's address was not read")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// given is the source of endpoints that the test gives itself.
type given struct{}

func (given) Name() string                                             { return "given" }
func (given) Run(context.Context, func(part topology.Part, err error)) {}

// setHost writes the address of a ready pod's machine as its kubelet does.
func setHost(t *testing.T, namespace, name, ip, host string) {
	t.Helper()
	status := parse(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s}
status: {phase: Running, podIP: %s, podIPs: [{ip: %s}], hostIP: %s, hostIPs: [{ip: %s}],
  conditions: [{type: Ready, status: "True"}]}
`, name, namespace, ip, ip, host, host))
	if err := api.SetStatus(status); err != nil {
		t.Fatal(err)
	}
}
