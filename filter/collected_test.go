package main_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestResourcesOutliveCollections starts a SchedulingProfile in memories of every fullness, so that garbage is
// collected at each place in the reading of it.
func TestResourcesOutliveCollections(t *testing.T) {
	const pairs = `{"apiVersion":"heimdall.moreh.io/v1alpha1","kind":"SchedulingProfile","metadata":{"name":"pairs"},"spec":{
		"profileHandler":"pd","plugins":[{"type":"waiting-requests-scorer"},{"type":"max-score-picker"}],"profiles":{
		"prefill":{"pluginRefs":[{"name":"waiting-requests-scorer"},{"name":"max-score-picker"}]},
		"decode":{"pluginRefs":[{"name":"waiting-requests-scorer"},{"name":"max-score-picker"}]}}}}`
	m := modes[0]
	host := newHost(t, m.options(wazerohost.NewClock(startTime)))
	for i := range 256 {
		w, err := host.Worker()
		if err != nil {
			t.Fatalf("Worker: %v", err)
		}
		configuration := wazerohost.PluginConfig{
			Configuration: m.configuration(pairs, "") + strings.Repeat(" ", i*512), Listener: requestListener}
		if _, err := w.Start(configuration); err != nil {
			t.Errorf("Start with %d bytes more: %v", i*512, err)
		}
	}
}
