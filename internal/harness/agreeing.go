package harness

import (
	"fmt"
	"strings"
)

// Agreeing are documents, by name, of plug-ins that go by what became of earlier requests: workers that have seen the
// same have to decide alike by them. Odd weights keep totals from being equal, as chance would decide then.
func Agreeing() map[string]string {
	weighted := func(plugins ...string) string {
		var all, refs []string
		for i, plugin := range plugins {
			all = append(all, fmt.Sprintf(`{"type":%q}`, plugin))
			refs = append(refs, fmt.Sprintf(`{"pluginRef":%q,"weight":%.5f}`, plugin, 1/(0.97+1.37*float64(i*i))))
		}
		return `{"plugins":[` + strings.Join(all, ",") + `],"schedulingProfiles":[{"name":"default","plugins":[` +
			strings.Join(refs, ",") + `]}]}`
	}
	all := map[string]string{
		"round-robin": `{"plugins":[{"type":"round-robin"}]}`,
		"sessions": `{"plugins":[{"type":"session-affinity-filter","parameters":{"strategy":"session_id"}},
			{"type":"queue-scorer"}]}`,
		"bursts": `{"plugins":[{"type":"burst-prefix-cache-producer"},{"type":"prefix-cache-scorer"},
			{"type":"queue-scorer"}],"schedulingProfiles":[{"name":"default","plugins":[
			{"pluginRef":"prefix-cache-scorer","weight":1.0137},{"pluginRef":"queue-scorer","weight":0.71171}]}]}`,
		"prefill and decode": `{"plugins":[{"type":"pd-profile-handler","parameters":{"threshold":40}},
			{"type":"prefill-filter"},{"type":"decode-filter"},{"type":"prefix-cache-scorer"},{"type":"queue-scorer"},
			{"type":"active-request-scorer"}],"schedulingProfiles":[
			{"name":"prefill","plugins":[{"pluginRef":"prefill-filter"},{"pluginRef":"queue-scorer","weight":0.71171},
			{"pluginRef":"active-request-scorer","weight":1.031}]},
			{"name":"decode","plugins":[{"pluginRef":"decode-filter"},{"pluginRef":"prefix-cache-scorer","weight":1.0137},
			{"pluginRef":"active-request-scorer","weight":0.817},{"pluginRef":"queue-scorer","weight":0.21171}]}]}`,
		"strategies": `{"plugins":[{"type":"routing-strategy-handler","parameters":{
			"default":"least-request:311,vtc-basic:173,queue:229"}},{"type":"queue-scorer"},{"type":"least-request"},
			{"type":"vtc-basic"}],"schedulingProfiles":[{"name":"queue","plugins":[{"pluginRef":"queue-scorer"}]},
			{"name":"least-request","plugins":[{"pluginRef":"least-request"}]},
			{"name":"vtc-basic","plugins":[{"pluginRef":"vtc-basic"}]}]}`,
		"llm-d": `{"apiVersion":"llm-d.ai/v1alpha1","kind":"EndpointPickerConfig","plugins":[
			{"type":"approx-prefix-cache-producer"},{"type":"prefix-cache-scorer"},{"type":"active-request-scorer"},
			{"type":"token-load-scorer"},{"type":"queue-scorer"},{"type":"no-hit-lru-scorer"},{"type":"max-score-picker"}],
			"schedulingProfiles":[{"name":"default","plugins":[{"pluginRef":"prefix-cache-scorer","weight":1.31},
			{"pluginRef":"active-request-scorer","weight":0.817},{"pluginRef":"token-load-scorer","weight":0.4177},
			{"pluginRef":"queue-scorer","weight":0.71171},{"pluginRef":"no-hit-lru-scorer","weight":0.2713},
			{"pluginRef":"max-score-picker"}]}]}`,
		"many": weighted("queue-scorer", "prefix-cache-scorer", "active-request-scorer", "least-latency",
			"no-hit-lru-scorer", "token-load-scorer", "vtc-basic"),
	}
	for _, plugin := range []string{
		"active-request-scorer", "aibrix-prefix-cache", "cached-blocks-scorer", "context-length-aware",
		"latency-scorer", "least-busy-time", "least-latency", "least-request", "load-aware-scorer",
		"multi-factor-scorer", "predicted-latency-scorer", "prefill-load-scorer", "prefix-cache-affinity-filter",
		"prefix-cache-scorer", "running-requests-size-scorer", "throughput", "token-length-scorer", "token-load-scorer",
		"vtc-basic",
	} {
		all[plugin] = weighted(plugin, "queue-scorer", "kv-cache-utilization-scorer")
	}
	return all
}
