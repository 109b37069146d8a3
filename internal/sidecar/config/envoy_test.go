package config

import "testing"

// TestOneEnvoyInTwoSpellings: what is posted to counts, not how it is written.
func TestOneEnvoyInTwoSpellings(t *testing.T) {
	const snapshot = "/pintle/v1/snapshot"
	for _, test := range []struct {
		name, one, two string
		same           bool
	}{
		{"with the path", "http://a:1", "http://a:1" + snapshot, true},
		{"with a slash", "http://a:1/", "http://a:1", true},
		{"capitals", "http://a:1", "http://A:1" + snapshot, true},
		{"two slashes", "unix:///run/a.sock", "unix:///run//a.sock", true},
		{"another port", "http://a:1", "http://a:2" + snapshot, false},
		{"another socket", "unix:///run/a.sock", "unix:///run/b.sock", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("sidecar.yaml", []byte("envoy: {ingest: ['"+test.one+"', '"+test.two+
				"'], token: t}\ndiscovery: {static: []}\n"))
			got, want := "", ""
			if err != nil {
				got = err.Error()
			}
			if test.same {
				want = `line 1: envoy.ingest[1]: "` + test.two + `" is the same Envoy as "` + test.one + `"; once is right`
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
