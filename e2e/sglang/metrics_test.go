//go:build sglang && linux

package sglang

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/e2e/servers"
	"github.com/pintle-dev/pintle/internal/harness"
)

// TestLoad: the sidecar finds out that it reads SGLang, and tells of load and cache what the engine is doing, idle and
// under load.
func TestLoad(t *testing.T) {
	g := open(t, map[string]any{})
	wantSeen(t, g, load{})
	const waiting = 3
	release := occupy(t, slots+waiting)
	wantSeen(t, g, load{Running: slots, Waiting: waiting})
	release()
	wantSeen(t, g, load{})
}

// wantSeen waits until the sidecar says of the engine what is wanted.
func wantSeen(t *testing.T, g *gateway, want load) {
	t.Helper()
	want.BlockSize, want.NumGPUBlocks = pageTokens, pages
	harness.WaitFor(t, 40*time.Second, "the sidecar's view of the engine", func() (bool, string) {
		seen, err := g.endpoint()
		if err != nil || seen.Metrics == nil {
			return false, fmt.Sprint(seen, err)
		}
		got := *seen.Metrics
		usage := got.KVCacheUsage
		got.KVCacheUsage = 0
		return seen.Engine == "sglang" && got == want && (usage > 0) == (want.Running > 0) && usage < 1,
			fmt.Sprintf("engine %q, %+v, usage %v; want %+v", seen.Engine, got, usage, want)
	})
}

// occupy keeps n requests in the engine, past Envoy. The returned function ends them.
func occupy(t *testing.T, n int) (release func()) {
	t.Helper()
	return servers.Occupy(t, server.url(completions), n, func(i int) string {
		return fmt.Sprintf(`{"model":%q,"prompt":"occupation %d","max_tokens":1500,"stream":true,"ignore_eos":true}`,
			model, i)
	})
}

// TestModels: the sidecar lists the names by which the engine serves its model and its adapters, also of one that it
// loads while it runs. SGLang answers a request for an adapter by its bare name from the base model.
func TestModels(t *testing.T) {
	g := open(t, map[string]any{})
	const late = "late"
	first := []string{model, model + ":" + adapterName}
	wantModels(t, g, first)
	status := func(name string) int {
		body := fmt.Sprintf(`{"model":%q,"prompt":"hello","max_tokens":1}`, name)
		return harness.Send(t, direct, harness.Request(t, http.MethodPost, g.URL("requests", completions), body,
			false)).Status
	}
	for name, want := range map[string]int{model: 200, model + ":" + adapterName: 200, adapterName: 404, "other": 404,
		model + ":" + late: 404} {
		if got := status(name); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
	server.post(t, "/load_lora_adapter", fmt.Sprintf(`{"lora_name": %q, "lora_path": %q}`, late, adapter(2)))
	wantModels(t, g, append(slices.Clone(first), model+":"+late))
	harness.WaitFor(t, 20*time.Second, "the adapter to be served", func() (bool, string) {
		got := status(model + ":" + late)
		return got == http.StatusOK, fmt.Sprint(got)
	})
	server.post(t, "/unload_lora_adapter", fmt.Sprintf(`{"lora_name": %q}`, late))
	wantModels(t, g, first)
}

func wantModels(t *testing.T, g *gateway, want []string) {
	t.Helper()
	harness.WaitFor(t, 20*time.Second, "the engine's models", func() (bool, string) {
		seen, err := g.endpoint()
		return err == nil && slices.Equal(seen.Models, want), fmt.Sprintf("%q, %v; want %q", seen.Models, err, want)
	})
}
