package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestIdle: keys that are read and do nothing are told, and no others.
func TestIdle(t *testing.T) {
	const (
		static = "discovery: {static: []}\n"
		tiers  = `tieredConfig: {redis: {address: "redis://h"}}`
		exact  = "config: {plugins: [{type: precise-prefix-cache-scorer, parameters: {indexerConfig: " +
			"{tokenizersPoolConfig: {modelName: m}}}}]}"
	)
	listed := "config: {plugins: [{type: file-discovery, parameters: {path: list.yaml}}], " +
		"dataLayer: {discovery: {pluginRef: file-discovery}}}"
	const alone = " has no effect: the document's file-discovery finds servers in its own list alone"
	for _, tc := range []struct{ name, text, document, want string }{
		{"nothing", "", "", ""},
		{"a memory beside tiers", "responses: {storeConfig: {inMemoryConfig: {ttl: 1h}, " + tiers + "}}\n", "",
			"responses.storeConfig.inMemoryConfig has no effect: conversations are kept as tieredConfig says"},
		{"tiers", "responses: {storeConfig: {" + tiers + "}}\n", "", ""},
		{"a memory", "responses: {storeConfig: {inMemoryConfig: {ttl: 1h}}}\n", "", ""},
		{"prefixes for nobody", "prefix: {address: '127.0.0.1:1'}\n", "",
			"prefix has no effect: no document of -plugins asks for exact prefixes"},
		{"prefixes", "prefix: {address: '127.0.0.1:1'}\n", exact, ""},
		{"a list of the document", "", listed, ""},
		{"and other sources", "discovery: {static: [{name: a, address: '10.0.0.1:1'}], file: list.yaml, kubernetes: " +
			"{pools: [{service: vllm}]}, dns: [{name: vllm.test, port: 8000}]}\n", listed, "discovery.static" + alone +
			"\ndiscovery.file" + alone + "\ndiscovery.kubernetes" + alone + "\ndiscovery.dns" + alone},
		{"other sources alone", "discovery: {static: [{name: a, address: '10.0.0.1:1'}], file: list.yaml}\n", "", ""},
		{"unfollowed", "follow: {enabled: false, interval: 1s, sample: 1}\n", "",
			"follow.interval has no effect: enabled is false\nfollow.sample has no effect: enabled is false"},
		{"unfollowed and no more", "follow: {enabled: false}\n", "", ""},
		{"followed", "follow: {enabled: true, interval: 1s, sample: 1}\n", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder := t.TempDir()
			writeFile(t, filepath.Join(folder, "list.yaml"), "endpoints: []")
			text := envoyYAML + tc.text
			if !strings.Contains(tc.text, "discovery") {
				text += static
			}
			c, err := Parse(filepath.Join(folder, "s.yaml"), []byte(text))
			if err == nil && tc.document != "" {
				document := filepath.Join(folder, "filter.yaml")
				writeFile(t, document, tc.document)
				err = c.ApplyPlugins(document)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(c.Idle(), "\n"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestIdleKeysThatChange: what has no effect asks for no restart when it changes, and has none then either: a
// document's list is all that servers are found in.
func TestIdleKeysThatChange(t *testing.T) {
	folder := t.TempDir()
	document := filepath.Join(folder, "filter.yaml")
	writeFile(t, filepath.Join(folder, "list.yaml"), "endpoints: []")
	writeFile(t, document, "config: {plugins: [{type: file-discovery, parameters: {path: list.yaml}}], "+
		"dataLayer: {discovery: {pluginRef: file-discovery}}}")
	c, err := Parse(filepath.Join(folder, "s.yaml"), []byte(envoyYAML+"discovery: {static: []}\n"))
	if err == nil {
		err = c.ApplyPlugins(document)
	}
	if err != nil {
		t.Fatal(err)
	}
	for text, same := range map[string]bool{
		"discovery: {static: [{name: a, address: '10.0.0.1:1'}]}\n":    true,
		"discovery: {static: [], dns: [{name: a.test, port: 8000}]}\n": true,
		"discovery: {static: []}\npush: {interval: 20ms}\n":            false,
	} {
		changed, err := c.ParseAgain([]byte(envoyYAML + text))
		if err != nil {
			t.Fatal(err)
		}
		if got := changed.SameButStatic(c); got != same {
			t.Errorf("%s: the same: %v, want %v", text, got, same)
		}
		if len(changed.Static.Endpoints)+len(changed.DNS) > 0 || changed.EndpointsFile != c.EndpointsFile {
			t.Errorf("%s: got %d endpoints, %d names and the list %s, want the list alone", text,
				len(changed.Static.Endpoints), len(changed.DNS), changed.EndpointsFile)
		}
	}
}
