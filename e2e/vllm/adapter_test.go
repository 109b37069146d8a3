//go:build vllm && linux

package vllm

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestAdapterAtRunTime: a LoRA adapter that one engine loads while it runs is served soon after the next look at its
// models, always by that engine, and no longer once it is unloaded.
func TestAdapterAtRunTime(t *testing.T) {
	const adapterName = "late"
	const models = time.Second
	g := open(t, harness.Cell{Hold: "pause", Destination: "original-dst"}, nil,
		settings{"scrape": map[string]any{"models": models.String()}})
	client := harness.Client(t, false)
	status := func() int {
		request := harness.Request(t, http.MethodPost, g.URL("requests", chatPath),
			chat(adapterName, "hello", 2, false), false)
		return harness.Send(t, client, request).Status
	}
	wantStatus := func(when string, want int) {
		t.Helper()
		began := time.Now()
		harness.WaitFor(t, models+10*time.Second, when,
			func() (bool, string) { got := status(); return got == want, fmt.Sprint(got) })
		t.Logf("%s after %v", when, time.Since(began).Round(10*time.Millisecond))
		for i := range 10 {
			if got := status(); got != want {
				t.Errorf("%s, request %d: got %d, want %d", when, i, got, want)
			}
		}
	}
	wantStatus("refused before it is loaded", http.StatusNotFound)
	b := engines[1]
	b.post(t, "/v1/load_lora_adapter", fmt.Sprintf(`{"lora_name": %q, "lora_path": %q}`, adapterName, adapter(2)))
	unload := fmt.Sprintf(`{"lora_name": %q}`, adapterName)
	defer func() {
		if t.Failed() {
			b.post(t, "/v1/unload_lora_adapter", unload)
		}
	}()
	wantStatus("served", http.StatusOK)
	b.post(t, "/v1/unload_lora_adapter", unload)
	wantStatus("refused", http.StatusNotFound)
}
