package pluginconfig

import (
	"strings"
	"testing"
)

// affinityBy is a plug-in that reads these keys of the body.
func affinityBy(keys ...string) string {
	return `{"type": "session-affinity-scorer", "parameters": {"strategy": "session_id", "sessionIdConfig": {"sources": [
		{"body": "` + strings.Join(keys, `"}, {"body": "`) + `"}]}}}`
}

// A shadow's mistakes are told and leave the rest of the configuration as it is.
func TestShadow(t *testing.T) {
	for _, tc := range []struct {
		name, text, mistake string
		shadow              bool
	}{
		{"none", `{}`, "", false},
		{"one", `{"shadow": {"config": {"plugins": [{"type": "random-picker"}]}}}`, "", true},
		{"empty document", `{"shadow": {"config": {}}}`, "", true},
		{"no config", `{"shadow": {}}`, "shadow.config: is missing", false},
		{"another key", `{"shadow": {"config": {}, "share": 1}}`, `shadow: unknown key "share"`, false},
		{"as many keys of the body as may be", `{"config": {"plugins": [` + affinityBy("a", "b", "c", "d") + `]},
			"shadow": {"config": {"plugins": [` + affinityBy("f", "g", "h", "i") + `]}}}`, "", true},
		{"too many keys of the body", `{"config": {"plugins": [` + affinityBy("a", "b", "c", "d", "e") + `]},
			"shadow": {"config": {"plugins": [` + affinityBy("f", "g", "h", "i") + `]}}}`,
			"shadow: with config it reads 9 keys of the body; 8 or less are right", false},
		{"a mistake inside", `{"shadow": {"config": {"plugins": [{"type": "randon-picker"}]}}}`,
			`shadow.config.plugins[0](randon-picker).type: "randon-picker" is not a known`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := Parse([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			if c.ShadowError != nil {
				said = c.ShadowError.Error()
			}
			wrong := !strings.HasPrefix(said, tc.mistake) || (tc.mistake == "") != (said == "")
			if c.Plan == nil || (c.Shadow != nil) != tc.shadow || wrong {
				t.Errorf("plan %v, shadow %v, mistakes %q", c.Plan != nil, c.Shadow != nil, said)
			}
		})
	}
	if _, err := Parse([]byte(`{"shadow": 3}`)); err == nil {
		t.Error("a shadow that is no object is taken")
	}
}

// TestShadowWarnings: what has no effect is told of a shadow, too, and that the sidecar does nothing for it.
func TestShadowWarnings(t *testing.T) {
	const exact = `{"type": "precise-prefix-cache-scorer", "parameters": {"indexerConfig": {"tokenizersPoolConfig":
		{"modelName": "m"}}}}`
	for _, tc := range []struct{ name, text, want string }{
		{"none", `{"config": {"featureGates": ["flowControl"]}}`, ""},
		{"a mistake", `{"shadow": {"config": {"featureGates": ["flow"]}}}`, ""},
		{"nothing to say", `{"config": {"featureGates": ["flowControl"]}, "shadow": {"config": {}}}`, ""},
		{"no effect", `{"shadow": {"config": {"featureGates": ["flowControl"]}}}`,
			"shadow: config: featureGates: flowControl has no effect: requests are not queued in the proxy"},
		{"exact prefixes", `{"shadow": {"config": {"plugins": [` + exact + `]}}}`,
			"shadow: precise-prefix-cache-scorer: the sidecar goes by config alone"},
		{"conversations", `{"shadow": {"config": {"featureGates": ["prepareDataPlugins"], "plugins": [
			{"type": "responses-store"}]}}}`, "shadow: responses-store: the sidecar goes by config alone"},
		{"salts", `{"shadow": {"config": {"plugins": [{"type": "tenant-cache-salt", "parameters":
			{"tenantHeader": "x-team", "secret": "0123456789abcdef"}}]}}}`,
			"shadow: tenant-cache-salt has no effect: requests leave as config says"},
	} {
		c, err := Parse([]byte(tc.text))
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if got := strings.Join(c.ShadowWarnings(), "\n"); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}
