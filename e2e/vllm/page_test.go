//go:build vllm && linux

package vllm

import (
	"io"
	"net/http"
	"testing"

	"github.com/pintle-dev/pintle/e2e/servers"
)

type page = servers.Page

func (e *engine) page(t testing.TB, path string) page {
	t.Helper()
	response, err := direct.Get(e.url(path))
	if err != nil {
		t.Fatalf("engine %s: %v", e.name, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("engine %s: %s answers %s, %v", e.name, path, response.Status, err)
	}
	return page(text)
}

// loadOf is what a sidecar should read of a page, but for adapters.
func loadOf(t testing.TB, p page) load {
	t.Helper()
	const cache = "vllm:cache_config_info"
	return load{
		Waiting:      uint32(p.Sum(t, "vllm:num_requests_waiting")),
		Running:      uint32(p.Sum(t, "vllm:num_requests_running")),
		KVCacheUsage: p.Sum(t, "vllm:kv_cache_usage_perc"),
		BlockSize:    p.Label(t, cache, "block_size"), NumGPUBlocks: p.Label(t, cache, "num_gpu_blocks"),
	}
}
