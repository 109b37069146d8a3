package scrape

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
)

func TestPodsOf(t *testing.T) {
	for name, want := range map[string][3]string{
		"ns/pod": {"ns", "pod", "pod"}, "ns/pod-rank-3": {"ns", "pod-rank-3", "pod"},
		"ns/pod-rank-x": {"ns", "pod-rank-x", "pod-rank-x"}, "pod": {"", "pod", "pod"},
	} {
		if namespace, whole, pod := podsOf(name); [3]string{namespace, whole, pod} != want {
			t.Errorf("%s: got %q, %q, %q, want %q", name, namespace, whole, pod, want)
		}
	}
}

// TestGPUReader: the exporter is asked at the endpoint's address or at its node's, for the endpoint's pod. The log says
// once that its GPUs are not known, and once that they are again.
func TestGPUReader(t *testing.T) {
	const page = "DCGM_FI_DEV_GPU_UTIL{pod=\"p\",namespace=\"n\"} 40\n"
	for _, test := range []struct {
		name    string
		onNode  bool
		address string
		node    string
		page    string // empty is not found
		failure string // empty is none
	}{
		{"at its address", false, "127.0.0.1:1", "127.0.0.9", page, ""},
		{"of a pod that is called as a rank is", false, "127.0.0.1:1", "",
			strings.Replace(page, `"p"`, `"p-rank-1"`, 1), ""},
		{"at its node's", true, "127.0.0.9:1", "127.0.0.1", page, ""},
		{"at a node that is not known", true, "127.0.0.1:1", "", page,
			"its node's address is not known; only Kubernetes tells it"},
		{"at a node whose address is none", true, "127.0.0.1:1", "node-1", page, `its node's address "node-1" is no IP`},
		{"no page", false, "127.0.0.1:1", "", "", "answered 404 Not Found; 200 is right"},
		{"of another pod alone", false, "127.0.0.1:1", "", strings.Replace(page, `"p"`, `"q"`, 1),
			"has no DCGM_FI_DEV_GPU_UTIL of pod p"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pages := map[string]string{}
			if test.page != "" {
				pages["/dcgm"] = test.page
			}
			server := newServer(t, pages)
			var log harness.Log
			s := newTestScraper(t, engine.Known, test.address)
			s.Log = slog.New(slog.NewTextHandler(&log, nil))
			s.GPU = &config.GPU{Path: "/dcgm", Port: server.port(t), Interval: time.Millisecond, Node: test.onNode}
			s.target.Name, s.target.Node = "n/p-rank-1", test.node
			changed := s.Pool.Watch()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				(&gpuReader{Scraper: s.Scraper, target: s.target}).run(ctx)
			}()
			defer func() { cancel(); <-ended }()
			known := func() (bool, string) {
				now := s.target.Now()
				return now.GPUKnown && now.GPU == 0.4 && now.GPUFailure == "", now.GPUFailure
			}
			if test.failure == "" {
				harness.WaitFor(t, time.Minute, "the use", known)
				if <-changed; strings.Contains(log.String(), "GPUs") {
					t.Errorf("got the log %q, want nothing in it", log.String())
				}
				return
			}
			harness.WaitFor(t, time.Minute, test.failure, func() (bool, string) {
				now := s.target.Now()
				return strings.Contains(now.GPUFailure, test.failure) && !now.GPUKnown, now.GPUFailure
			})
			if test.onNode {
				<-ended // nothing makes it known later
				return
			}
			server.mu.Lock()
			server.pages = map[string]string{"/dcgm": page}
			server.mu.Unlock()
			harness.WaitFor(t, time.Minute, "the use", known)
			cancel()
			<-ended
			for _, what := range []string{"is not known", "is known"} {
				line := "the use of the endpoint's GPUs " + what
				if n := strings.Count(log.String(), line); n != 1 {
					t.Errorf("got %d lines with %q, want 1:\n%s", n, line, log.String())
				}
			}
		})
	}
}
