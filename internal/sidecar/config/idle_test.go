package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestIdle: keys that are read and do nothing are told, and no others.
func TestIdle(t *testing.T) {
	const (
		static = envoyYAML + "discovery: {static: []}\n"
		tiers  = `tieredConfig: {redis: {address: "redis://h"}}`
		exact  = "config: {plugins: [{type: precise-prefix-cache-scorer, parameters: {indexerConfig: " +
			"{tokenizersPoolConfig: {modelName: m}}}}]}"
	)
	for _, tc := range []struct{ name, text, document, want string }{
		{"nothing", "", "", ""},
		{"a memory beside tiers", "responses: {storeConfig: {inMemoryConfig: {ttl: 1h}, " + tiers + "}}\n", "",
			"responses.storeConfig.inMemoryConfig has no effect: conversations are kept as tieredConfig says"},
		{"tiers", "responses: {storeConfig: {" + tiers + "}}\n", "", ""},
		{"a memory", "responses: {storeConfig: {inMemoryConfig: {ttl: 1h}}}\n", "", ""},
		{"prefixes for nobody", "prefix: {address: '127.0.0.1:1'}\n", "",
			"prefix has no effect: no document of -plugins asks for exact prefixes"},
		{"prefixes", "prefix: {address: '127.0.0.1:1'}\n", exact, ""},
		{"unfollowed", "follow: {enabled: false, interval: 1s, sample: 1}\n", "",
			"follow.interval has no effect: enabled is false\nfollow.sample has no effect: enabled is false"},
		{"unfollowed and no more", "follow: {enabled: false}\n", "", ""},
		{"followed", "follow: {enabled: true, interval: 1s, sample: 1}\n", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder := t.TempDir()
			c, err := Parse(filepath.Join(folder, "s.yaml"), []byte(static+tc.text))
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
