//go:build vllm && linux

package vllm

import (
	"fmt"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestMetrics: the sidecar finds out that it reads vLLM, and tells of load and cache what the engines' pages say, idle and under load.
func TestMetrics(t *testing.T) {
	g := open(t, harness.Cell{Hold: "pause", Destination: "original-dst"}, nil, nil)
	for i := range engines {
		wantSeen(t, g, i, load{})
	}
	const waiting = 3
	release := occupy(t, engines[0], slots+waiting)
	wantSeen(t, g, 0, load{Running: slots, Waiting: waiting})
	wantSeen(t, g, 1, load{})
	release()
	wantSeen(t, g, 0, load{})
}

// wantSeen waits until the sidecar says of an engine what its pages say before and after, which is want for the requests there.
func wantSeen(t *testing.T, g *gateway, i int, want load) {
	t.Helper()
	harness.WaitFor(t, 20*time.Second, fmt.Sprintf("the sidecar's view of engine %s", engines[i].name), func() (bool, string) {
		before := engines[i].page(t, "/metrics").load(t)
		time.Sleep(300 * time.Millisecond) // some scrapes
		seen, err := g.endpoints()
		after := engines[i].page(t, "/metrics").load(t)
		if err != nil || seen[i].Metrics == nil {
			return false, fmt.Sprint(seen, err)
		}
		got := *seen[i].Metrics
		low, high := min(before.KVCacheUsage, after.KVCacheUsage), max(before.KVCacheUsage, after.KVCacheUsage)
		same := got.Waiting == want.Waiting && got.Running == want.Running && after.Waiting == want.Waiting && after.Running == want.Running &&
			got.BlockSize == after.BlockSize && got.NumGPUBlocks == after.NumGPUBlocks && got.BlockSize > 0 && got.NumGPUBlocks > 0 &&
			low <= got.KVCacheUsage && got.KVCacheUsage <= high && (got.KVCacheUsage > 0) == (want.Running > 0)
		return same && seen[i].Engine == "vllm", fmt.Sprintf("engine %q, %+v between %+v and %+v", seen[i].Engine, got, before, after)
	})
}
