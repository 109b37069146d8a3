package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestPrimaryPort: with primaryPort a request goes to that port of the chosen rank's host, and the header names the
// rank. The ranks' own ports are dead.
func TestPrimaryPort(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		for i, best := range f.dead {
			f.Publish(t, harness.Endpoint{Name: "rank-0", Address: f.dead[0], Waiting: uint32(i)},
				harness.Endpoint{Name: "rank-1", Address: f.dead[1], Waiting: uint32(1 - i)})
			for _, http2 := range []bool{false, true} {
				got, r := f.sendTo(t, "ranks", chatPath, chatBody, http2, rankHeaders[0], forgedStage)
				wantServer(t, got, "sim-0")
				wantStage(t, "chat", r, rankHeaders[0], []string{best}, 1)
				f.wantResponseHeaders(t, "chat", got, best, "")
			}
		}
		f.Publish(t, f.pool("sim-2")...)
		request := harness.Request(t, http.MethodGet, f.URL("ranks", "/v1/models/sim-model"), "", false)
		wantAnyServer(t, harness.Send(t, harness.Client(t, false), request))
	})
}

// legacy is a configuration of the time when the handler brought its decider and its headers along.
const legacy = `{
	"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig",
	"plugins": [
		{"type": "pd-profile-handler"}, {"type": "prefill-filter"}, {"type": "decode-filter"},
		{"type": "context-length-aware", "parameters": {"enableFiltering": false, "charToTokenMultiplier": 0.25}},
		{"type": "max-score-picker"}],
	"schedulingProfiles": [
		{"name": "prefill", "plugins": [
			{"pluginRef": "prefill-filter"}, {"pluginRef": "context-length-aware"}, {"pluginRef": "max-score-picker"}]},
		{"name": "decode", "plugins": [
			{"pluginRef": "decode-filter"}, {"pluginRef": "context-length-aware"}, {"pluginRef": "max-score-picker"}]}]}`

// thresholdZero is legacy with the threshold of that time, by which prefill always runs.
func thresholdZero() json.RawMessage {
	return json.RawMessage(strings.Replace(legacy, `{"type": "pd-profile-handler"}`,
		`{"type": "disagg-headers-handler"}, {"type": "pd-profile-handler", "parameters": {"threshold": 0}}`, 1))
}

// TestLegacyDocument: it loads, routes, and says what it supplied once for each start of a VM, not with requests.
func TestLegacyDocument(t *testing.T) {
	const starts = 4 // two workers, the main thread, and the VM in which Envoy tries the configuration first
	warnings := []string{
		"no disagg-headers-handler is declared", "prefill never runs; set nonCachedTokens",
	}
	for _, cell := range []harness.Cell{harness.Cells()[0], harness.Cells()[3]} {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			f := &fixture{}
			t.Cleanup(func() { f.stop() })
			if err := f.startServers(); err != nil {
				t.Fatal(err)
			}
			var err error
			f.Envoy, err = harness.Start(cell, f.addresses(),
				&harness.Listener{Name: "legacy", Plugin: map[string]any{"config": json.RawMessage(legacy)},
					Carry: stageHeaders},
				&harness.Listener{Name: "threshold", Plugin: map[string]any{"config": thresholdZero()},
					Carry: stageHeaders},
				&harness.Listener{Name: "ingest", Ingest: true})
			if err != nil {
				t.Fatal(err)
			}
			f.LogOnFailure(t)
			pool := f.roles("prefill", "prefill", "decode", "prefill")
			f.Publish(t, pool...)
			for i := range 20 {
				got, r := f.sendTo(t, "legacy", "/v1/completions", completion(1000), i%2 == 1, stageHeaders[0],
					forgedStage)
				wantServer(t, got, "sim-2")
				wantStage(t, "legacy", r, stageHeaders[0], nil, 0)
			}
			got, r := f.sendTo(t, "threshold", "/v1/completions", completion(1), false, stageHeaders[0], forgedStage)
			wantServer(t, got, "sim-2")
			wantStage(t, "threshold", r, stageHeaders[0], addressesOf(pool, "prefill"),
				1)
			for _, warning := range warnings {
				harness.WaitFor(t, 20*time.Second, "the warning "+warning,
					func() (bool, string) { return f.Logged(warning) >= starts, f.Log() })
				if n := f.Logged(warning); n != starts {
					t.Errorf("%q is logged %d times after 20 requests, want %d", warning, n, starts)
				}
			}
		})
	}
}
