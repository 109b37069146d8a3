//go:build vllm && linux

package vllm

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"
)

// page is a metrics page as this package reads it, which is not how the sidecar does.
type page string

var (
	seriesLine = regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_]+)="([^"]*)"`)
)

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

// sum adds all series of a name that have the given labels, NAME, VALUE and so on.
func (p page) sum(t testing.TB, name string, labels ...string) float64 {
	t.Helper()
	total, found := p.find(t, name, labels...)
	if !found {
		t.Fatalf("metrics: no %s with labels %q", name, labels)
	}
	return total
}

// find is sum where there may be none.
func (p page) find(t testing.TB, name string, labels ...string) (total float64, found bool) {
	t.Helper()
	for _, line := range seriesLine.FindAllStringSubmatch(string(p), -1) {
		if line[1] != name || !hasLabels(line[2], labels) {
			continue
		}
		value, err := strconv.ParseFloat(line[3], 64)
		if err != nil {
			t.Fatalf("metrics: %s: %v", line[0], err)
		}
		total, found = total+value, true
	}
	return total, found
}

func hasLabels(text string, labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		if labelOf(text, labels[i]) != labels[i+1] {
			return false
		}
	}
	return true
}

func labelOf(text, name string) string {
	for _, pair := range labelPair.FindAllStringSubmatch(text, -1) {
		if pair[1] == name {
			return pair[2]
		}
	}
	return ""
}

// label is a label of the first series of a name, as a number.
func (p page) label(t testing.TB, name, label string) uint32 {
	t.Helper()
	for _, line := range seriesLine.FindAllStringSubmatch(string(p), -1) {
		if line[1] == name {
			value, err := strconv.ParseUint(labelOf(line[2], label), 10, 32)
			if err != nil {
				t.Fatalf("metrics: %s of %s: %v", label, name, err)
			}
			return uint32(value)
		}
	}
	t.Fatalf("metrics: no %s", name)
	return 0
}

// load is what a sidecar should read, but for adapters.
func (p page) load(t testing.TB) load {
	t.Helper()
	const cache = "vllm:cache_config_info"
	return load{
		Waiting:      uint32(p.sum(t, "vllm:num_requests_waiting")),
		Running:      uint32(p.sum(t, "vllm:num_requests_running")),
		KVCacheUsage: p.sum(t, "vllm:kv_cache_usage_perc"),
		BlockSize:    p.label(t, cache, "block_size"), NumGPUBlocks: p.label(t, cache, "num_gpu_blocks"),
	}
}
