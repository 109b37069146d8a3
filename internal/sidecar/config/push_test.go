package config

import (
	"strings"
	"testing"
)

// TestOldSamples: what makes every second sample look like a full server is told, what is documented as right is not.
func TestOldSamples(t *testing.T) {
	for _, test := range []struct{ name, yaml, want string }{
		{"defaults", "", ""},
		{"the longest push interval with them", "push: {interval: 99ms}", ""},
		{"a longer one", "push: {interval: 100ms}",
			"scrape.idleInterval 100ms and push.interval 100ms Envoys see samples of 200ms"},
		{"and less idle", "push: {interval: 100ms}\nscrape: {idleInterval: 50ms}", ""},
		{"idle for long", "scrape: {idleInterval: 150ms}", "idleInterval 150ms and push.interval 10ms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := Parse("sidecar.yaml", []byte(envoyYAML+test.yaml+"\ndiscovery: {static: []}\n"))
			if err != nil {
				t.Fatal(err)
			}
			if got := c.OldSamples(); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestPushIntervalHasABound(t *testing.T) {
	for interval, want := range map[string]string{
		"1s":  "",
		"10m": "line 2: push.interval: 10m0s leaves Envoys with stale samples; 1s or less is right",
	} {
		got := ""
		document := envoyYAML + "push: {interval: " + interval + "}\ndiscovery: {static: []}\n"
		if _, err := Parse("sidecar.yaml", []byte(document)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", interval, got, want)
		}
	}
}
