package main

import (
	_ "embed"
	"encoding/json"
	"strings"
	"text/template"
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

//go:embed envoy.yaml.tmpl
var envoyText string

var envoyTemplate = template.Must(template.New("envoy.yaml").Parse(envoyText))

// envoyConfig is Envoy's configuration with a profile for each strategy.
func envoyConfig(p ports) (string, error) {
	plugin, err := json.Marshal(pluginConfig(p.ingest))
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = envoyTemplate.Execute(&text, map[string]any{
		"Admin": p.envoy, "Listeners": map[string]int{"requests": p.requests, "ingest": p.ingest}, "Plugin": string(plugin),
	})
	return text.String(), err
}

// pluginConfig has users' tokens count for a short window, so that a round soon stands on its own, and calls a server full where its queue is
// as long as these servers serve in a second or two.
func pluginConfig(ingest int) map[string]any {
	plugins := []map[string]any{{"type": "routing-strategy-handler"}, {"type": "max-score-picker"}}
	var profiles []map[string]any
	for _, s := range strategies {
		plugin := map[string]any{"type": s.plugin}
		references := []map[string]any{{"pluginRef": s.plugin}}
		if s.plugin == "vtc-basic" {
			plugin["parameters"] = map[string]any{"timeUnit": "seconds", "windowSize": tokenWindow, "maxPodLoad": fullLoad}
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
