//go:build vllm && linux

package vllm

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestMetrics: the sidecar finds out that it reads vLLM, and tells of load and cache what the engines' pages say, idle
// and under load.
func TestMetrics(t *testing.T) {
	g := open(t, harness.Cell{Hold: "pause", Destination: "original-dst"}, nil, nil)
	for i := range engines {
		wantSeen(t, g, i, load{})
	}
	wantFilteredPages(t, g)
	const waiting = 3
	release := occupy(t, engines[0], slots+waiting)
	wantSeen(t, g, 0, load{Running: slots, Waiting: waiting})
	wantSeen(t, g, 1, load{})
	release()
	wantSeen(t, g, 0, load{})
}

// wantFilteredPages checks that the engines are asked for the needed metrics alone, and answer so: the sidecar reads a
// tenth of their pages at most.
func wantFilteredPages(t *testing.T, g *gateway) {
	t.Helper()
	const scrapes = "pintle_sidecar_scrapes_total"
	own := func() page {
		text, err := g.metrics()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	before := own()
	for _, e := range engines {
		whole := len(e.page(t, "/metrics"))
		first := before.Sum(t, scrapes, "endpoint", e.name)
		var now page
		harness.WaitFor(t, 20*time.Second, "twenty scrapes of engine "+e.name, func() (bool, string) {
			now = own()
			count := now.Sum(t, scrapes, "endpoint", e.name) - first
			return count >= 20, fmt.Sprint(count)
		})
		bytes := now.Sum(t, "pintle_sidecar_page_bytes_total", "endpoint", e.name) - before.Sum(t,
			"pintle_sidecar_page_bytes_total", "endpoint", e.name)
		mean := bytes / (now.Sum(t, scrapes, "endpoint", e.name) - first)
		if mean > float64(whole)/10 {
			t.Errorf("engine %s: the sidecar reads %.0f bytes a scrape of a page of %d, want the needed metrics alone",
				e.name, mean, whole)
		}
	}
}

// metrics is the sidecar's own page.
func (s sidecar) metrics() (page, error) {
	response, err := direct.Get("http://" + s.admin + "/metrics")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return page(text), err
}

// wantSeen waits until the sidecar says of an engine what its pages say before and after, which is want for the
// requests there.
func wantSeen(t *testing.T, g *gateway, i int, want load) {
	t.Helper()
	harness.WaitFor(t, 20*time.Second, fmt.Sprintf("the sidecar's view of engine %s", engines[i].name),
		func() (bool, string) {
			before := loadOf(t, engines[i].page(t, "/metrics"))
			time.Sleep(300 * time.Millisecond) // some scrapes
			seen, err := g.endpoints()
			after := loadOf(t, engines[i].page(t, "/metrics"))
			if err != nil || seen[i].Metrics == nil {
				return false, fmt.Sprint(seen, err)
			}
			got := *seen[i].Metrics
			low, high := min(before.KVCacheUsage, after.KVCacheUsage), max(before.KVCacheUsage, after.KVCacheUsage)
			same := got.Waiting == want.Waiting && got.Running == want.Running && after.Waiting == want.Waiting &&
				after.Running == want.Running &&
				got.BlockSize == after.BlockSize && got.NumGPUBlocks == after.NumGPUBlocks && got.BlockSize > 0 &&
				got.NumGPUBlocks > 0 &&
				low <= got.KVCacheUsage && got.KVCacheUsage <= high && (got.KVCacheUsage > 0) == (want.Running > 0)
			return same && seen[i].Engine == "vllm",
				fmt.Sprintf("engine %q, %+v between %+v and %+v", seen[i].Engine, got, before, after)
		})
}
