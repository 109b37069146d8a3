package config

import (
	"net"
	"path/filepath"
	"testing"
)

// TestListens: whether somebody is at an ingest listener is known without a word to him.
func TestListens(t *testing.T) {
	for _, test := range []struct{ name, network, address, scheme string }{
		{"a port", "tcp", "127.0.0.1:0", "http://"},
		{"a socket", "unix", filepath.Join(t.TempDir(), "a.sock"), "unix://"},
	} {
		t.Run(test.name, func(t *testing.T) {
			listener, err := net.Listen(test.network, test.address)
			if err != nil {
				t.Fatal(err)
			}
			ingest, ok := parseIngest(test.scheme + listener.Addr().String())
			if !ok || !ingest.Listens() {
				t.Errorf("nobody is at %s, want somebody", listener.Addr())
			}
			_ = listener.Close()
			if ingest.Listens() {
				t.Errorf("somebody is at %s, want nobody", listener.Addr())
			}
		})
	}
}

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
