package config

import (
	"fmt"
	"path/filepath"
	"testing"
)

// TestIntervalsOfTheDocument: the document's intervals hold, and where it has none those of the sidecar's configuration
// do. The engine of servers that name none is looked for first.
func TestIntervalsOfTheDocument(t *testing.T) {
	folder := t.TempDir()
	document := filepath.Join(folder, "filter.yaml")
	for _, tc := range []struct {
		name, own             string // own is what the sidecar's configuration says of scrapes besides
		metrics, models, core string
		want                  string // intervals under load, without, and of lists, and the first engine
	}{
		{"nothing", "", "{}", "{}", "{}", "40ms 80ms 7s vllm"},
		{"a long one", "", "{interval: 200ms}", "{}", "{}", "200ms 200ms 7s vllm"},
		{"one that doubles beyond what is fresh", "", "{interval: 60ms}", "{}", "{}", "60ms 100ms 7s vllm"},
		{"of lists", "", "{}", "{interval: 3s}", "{}", "40ms 80ms 3s vllm"},
		{"a time without load of the sidecar's own", ", idleInterval: 1s", "{interval: 60ms}", "{}", "{}",
			"60ms 1s 7s vllm"},
		{"one that is too short", ", idleInterval: 50ms", "{interval: 60ms}", "{}", "{}", "60ms 60ms 7s vllm"},
		{"an engine", "", "{}", "{}", "{defaultEngine: sglang}", "40ms 80ms 7s sglang"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			writeFile(t, document, "config:\n  apiVersion: llm-d.ai/v1alpha1\n  plugins:\n"+
				"  - {name: pages, type: metrics-data-source, parameters: "+tc.metrics+"}\n"+
				"  - {name: core, type: core-metrics-extractor, parameters: "+tc.core+"}\n"+
				"  - {name: lists, type: models-data-source, parameters: "+tc.models+"}\n"+
				"  - {type: models-data-extractor}\n"+
				"  dataLayer: {sources: [{pluginRef: pages, extractors: [{pluginRef: core}]}, "+
				"{pluginRef: lists, extractors: [{pluginRef: models-data-extractor}]}]}\n")
			c, err := Parse(filepath.Join(folder, "s.yaml"),
				[]byte(envoyYAML+"scrape: {interval: 40ms, models: 7s"+tc.own+"}\ndiscovery: {static: []}\n"))
			if err == nil {
				err = c.ApplyPlugins(document)
			}
			if err != nil {
				t.Fatal(err)
			}
			s := &c.Scrape
			got := fmt.Sprintf("%v %v %v %s", s.Interval, s.IdleInterval, s.Models, c.Engines.Names()[0])
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
