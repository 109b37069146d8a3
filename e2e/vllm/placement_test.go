//go:build vllm && linux

package vllm

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestAdaptersArePlaced: each LoRA adapter is served by one engine while others could serve it, too, as the sidecar
// tells adapters from base models by the engines' lists; and an engine says that it can have two at once.
func TestAdaptersArePlaced(t *testing.T) {
	adapters := []string{"placed-1", "placed-2", "placed-3", "placed-4"}
	for _, e := range engines {
		for i, name := range adapters {
			e.post(t, "/v1/load_lora_adapter", fmt.Sprintf(`{"lora_name": %q, "lora_path": %q}`, name, adapter(1+i%2)))
			t.Cleanup(func() { e.post(t, "/v1/unload_lora_adapter", fmt.Sprintf(`{"lora_name": %q}`, name)) })
		}
	}
	plugin := map[string]any{"debug": true, "config": map[string]any{"plugins": []map[string]any{
		{"type": "lora-placement-filter"}, {"type": "queue-scorer"}, {"type": "running-requests-size-scorer"}}}}
	g := open(t, harness.Cell{Hold: "pause", Destination: "original-dst"}, plugin,
		settings{"scrape": map[string]any{"models": "1s"}})
	harness.WaitFor(t, 10*time.Second, "the lists of models", func() (bool, string) {
		seen, err := g.endpoints()
		listed := err == nil
		for _, e := range seen {
			listed = listed && len(e.Models) == 1+len(adapters) && e.BaseModels == 1
		}
		return listed, fmt.Sprint(seen, err)
	})
	client := harness.Client(t, false)
	at, count := map[string]string{}, map[string]int{}
	for round := range 6 {
		for _, name := range adapters {
			request := harness.Request(t, http.MethodPost, g.URL("requests", chatPath), chat(name, "hello", 2, false),
				false)
			got := harness.Send(t, client, request)
			engine := gjson.Get(got.Header.Get("X-Pintle-Explain"), "picked.0").Str
			if round == 0 {
				at[name] = engine
				count[engine]++
			}
			if got.Status != http.StatusOK || engine != at[name] {
				t.Errorf("%s, round %d: got %d by engine %q, want 200 by %q", name, round, got.Status, engine, at[name])
			}
		}
	}
	for _, e := range engines {
		if count[e.name] != 2 { // for as many there is room
			t.Errorf("adapters are at %v, want two at each engine", at)
		}
	}
	seen, err := g.endpoints()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range seen {
		if e.Metrics == nil || e.Metrics.MaxLoRA != 2 {
			t.Errorf("%s: got %+v, want metrics that say that it can have two adapters", e.Name, e.Metrics)
		}
	}
}
