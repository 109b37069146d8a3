package main

import (
	"encoding/json"

	"github.com/pintle-dev/pintle/internal/stack"
)

// strategies are what is compared, and the plug-in that stands for each.
var strategies = []struct{ name, plugin string }{
	{"random", "random-picker"},
	{"power-of-two", "power-of-two"},
	{"least-request", "least-request"},
	{"least-busy-time", "least-busy-time"},
	{"least-kv-cache", "least-kv-cache"},
	{"least-latency", "least-latency"},
	{"throughput", "throughput"},
	{"prefix-cache", "aibrix-prefix-cache"},
	{"vtc-basic", "vtc-basic"},
}

const token = "pintle-bench"

// envoyConfig is Envoy's configuration with a profile for each strategy.
func envoyConfig(p ports) (string, error) {
	plugin, err := json.Marshal(pluginConfig(p.ingest))
	if err != nil {
		return "", err
	}
	return stack.EnvoyConfig{AdminPort: p.envoy, Hold: "pause", Module: "bin/pintle.wasm",
		Listeners: []stack.EnvoyListener{
			{Name: "requests", Port: p.requests, Plugin: string(plugin)},
			{Name: "ingest", Port: p.ingest, Plugin: string(plugin), Ingest: true},
		}}.Text()
}

// pluginConfig has users' tokens count for a short window, so that a round soon stands on its own, and calls a server
// full where its queue is as long as these servers serve in a second or two.
func pluginConfig(ingest int) map[string]any {
	plugins := []map[string]any{{"type": "routing-strategy-handler"}, {"type": "max-score-picker"}}
	var profiles []map[string]any
	for _, s := range strategies {
		plugin := map[string]any{"type": s.plugin}
		references := []map[string]any{{"pluginRef": s.plugin}}
		if s.plugin == "vtc-basic" {
			plugin["parameters"] = map[string]any{"timeUnit": "seconds", "windowSize": tokenWindow,
				"maxPodLoad": fullLoad}
		}
		if s.plugin != "random-picker" && s.plugin != "power-of-two" {
			references = append(references, map[string]any{"pluginRef": "max-score-picker"})
		}
		plugins = append(plugins, plugin)
		profiles = append(profiles, map[string]any{"name": s.name, "plugins": references})
	}
	return map[string]any{
		"hold": "pause", "ingest": map[string]any{"port": ingest, "token": token},
		"config": map[string]any{"plugins": plugins, "schedulingProfiles": profiles},
	}
}
