package sidecar

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
)

func TestTokenFileIsReadAgain(t *testing.T) {
	t.Parallel()
	server := newModelServer(t, 1)
	in, url := newIngest(t)
	token := filepath.Join(t.TempDir(), "token")
	writeFile(t, token, "old-token\n")
	r := startWith(t, func(admin string) string {
		config := configYAML(admin, url, "{static: "+staticYAML("a", server.address())+"}")
		return strings.Replace(config, "token: "+testToken, "tokenFile: '"+token+"'", 1)
	})
	eventually(t, "the old token is refused",
		func() bool { return strings.Contains(r.log.String(), "result=status_401") })
	writeFile(t, token, testToken+"\n")
	in.await("the new token is accepted", func(r *received) bool { return r.waiting("a") == 1 })
}

func TestReload(t *testing.T) {
	t.Parallel()
	one, two := newModelServer(t, 1), newModelServer(t, 2)
	in, url := newIngest(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "endpoints.yaml")
	list := func(pairs ...string) string { return "endpoints: " + staticYAML(pairs...) }
	writeFile(t, file, list("two", two.address()))
	static := func(pairs ...string) string { return "{file: '" + file + "', static: " + staticYAML(pairs...) + "}" }
	r := start(t, url, static("one", one.address()))
	in.await("both sources", func(r *received) bool { return r.waiting("one") == 1 && r.waiting("two") == 2 })

	writeFile(t, file, list("three", two.address()))
	in.await("the file's new list", func(r *received) bool { return r.waiting("three") == 2 && r.waiting("two") < 0 })
	eventually(t, "no metrics of an endpoint that left", func() bool {
		_, body := r.get("/metrics")
		return strings.Contains(body, `{endpoint="three",`) && !strings.Contains(body, `endpoint="two"`)
	})

	writeFile(t, file, "endpoints: [{nam: x}]")
	eventually(t, "the broken file in /healthz", func() bool {
		status, body := r.get("/healthz")
		return status == http.StatusOK && strings.Contains(body, `line 1: endpoints[0]: unknown key \"nam\"`)
	})
	in.await("the old list with a broken file", func(r *received) bool { return r.waiting("three") == 2 })
	if n := strings.Count(r.log.String(), "discovery failed"); n != 1 {
		t.Errorf("got %d log lines on the broken file, want 1", n)
	}

	writeFile(t, file, list("one", two.address()))
	eventually(t, "a name in both sources in /healthz", func() bool {
		_, body := r.get("/healthz")
		return strings.Contains(body, "is there already")
	})
	writeFile(t, r.path, configYAML(r.admin, url, static("four", one.address())))
	in.await("both lists", func(r *received) bool { return r.waiting("one") == 2 && r.waiting("four") == 1 })
	if _, body := r.get("/healthz"); strings.Contains(body, "warnings") {
		t.Errorf("/healthz: got %s, want no warnings left", body)
	}
	const beyond = "configuration changed outside discovery.static"
	if strings.Contains(r.log.String(), beyond) {
		t.Errorf("got the log %s, want nothing of what needs a restart", r.log)
	}
	writeFile(t, r.path, strings.Replace(configYAML(r.admin, url, static("five", one.address())), "5ms", "6ms", 1))
	in.await("the endpoints of a file that says more", func(r *received) bool { return r.waiting("five") == 1 })
	if n := strings.Count(r.log.String(), beyond); n != 1 {
		t.Errorf("got %d log lines of what needs a restart, want 1:\n%s", n, r.log)
	}
	writeFile(t, r.path, configYAML(r.admin, url, static("five", one.address(), "six", one.address())))
	eventually(t, "the static endpoints in force in /status", func() bool {
		_, body := r.get("/status")
		return strings.Contains(body, `"staticEndpoints":2`)
	})
}

// TestReloadBesideTheDocument: what the filter's document said at the start holds for endpoints that are listed later,
// whatever has become of it since.
func TestReloadBesideTheDocument(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]string{"as it was": "https", "another one": "http", "broken": "gopher"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			path, document := filepath.Join(folder, "sidecar.yaml"), filepath.Join(folder, "filter.yaml")
			say := func(scheme string) {
				writeFile(t, document, "config:\n  plugins:\n  - {type: metrics-data-source, parameters: {scheme: "+
					scheme+"}}\n  - {type: core-metrics-extractor}\n  dataLayer: {sources: "+
					"[{pluginRef: metrics-data-source, extractors: [{pluginRef: core-metrics-extractor}]}]}\n")
			}
			say("https")
			writeFile(t, path, configYAML("127.0.0.1:0", "http://127.0.0.1:1", "{static: []}"))
			c, err := config.Load(path)
			if err == nil {
				err = c.ApplyPlugins(document)
			}
			if err != nil {
				t.Fatal(err)
			}
			say(later)
			var log strings.Builder
			part, err := staticDiscovery(c, slog.New(slog.NewTextHandler(&log, nil))).Parse([]byte(
				configYAML("127.0.0.1:0", "http://127.0.0.1:1", "{static: "+staticYAML("a", "10.0.0.1:1")+"}")))
			if err != nil || len(part.Endpoints) != 1 {
				t.Fatalf("got %+v, %v, want one endpoint", part, err)
			}
			if a := part.Endpoints[0].Access; a == nil || !a.HTTPS {
				t.Errorf("got an endpoint that is asked as %+v, want by https", a)
			}
			if log.Len() > 0 {
				t.Errorf("got the log %s, want nothing of what needs a restart", &log)
			}
		})
	}
}

// TestReloadBesideSecrets: what the files of replicate's secrets had at the start holds, whatever has become of them
// since.
func TestReloadBesideSecrets(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		become func(path string) error
	}{
		{"as they were", func(string) error { return nil }},
		{"others", func(path string) error { return os.WriteFile(path, []byte("other"), 0o600) }},
		{"empty", func(path string) error { return os.WriteFile(path, nil, 0o600) }},
		{"gone", os.Remove},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			path, secret := filepath.Join(folder, "sidecar.yaml"), filepath.Join(folder, "secret")
			text := func(static string) string {
				return configYAML("127.0.0.1:0", "http://127.0.0.1:1", "{static: "+static+"}") + "replicate: {redis: " +
					"'redis://127.0.0.1:1', gateway: g, passwordFile: secret, keyFile: secret}\n"
			}
			writeFile(t, secret, "first")
			writeFile(t, path, text("[]"))
			c, err := config.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.become(secret); err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			part, err := staticDiscovery(c, slog.New(slog.NewTextHandler(&log, nil))).Parse(
				[]byte(text(staticYAML("a", "10.0.0.1:1"))))
			if err != nil || len(part.Endpoints) != 1 {
				t.Fatalf("got %+v, %v, want one endpoint", part, err)
			}
			if log.Len() > 0 {
				t.Errorf("got the log %s, want nothing of what needs a restart", &log)
			}
		})
	}
}

func TestReloadThroughSymbolicLink(t *testing.T) {
	t.Parallel()
	server := newModelServer(t, 1)
	in, url := newIngest(t)
	folder := t.TempDir()
	for _, version := range []string{"v1", "v2"} {
		if err := os.Mkdir(filepath.Join(folder, version), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(folder, version, "endpoints.yaml"),
			"endpoints: "+staticYAML(version, server.address()))
	}
	link := func(version string) {
		if err := os.Symlink(version, filepath.Join(folder, "data.new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(folder, "data.new"), filepath.Join(folder, "data")); err != nil {
			t.Fatal(err)
		}
	}
	link("v1")
	start(t, url, "{file: '"+filepath.Join(folder, "data", "endpoints.yaml")+"'}")
	in.await("the first version", func(r *received) bool { return r.waiting("v1") == 1 })
	link("v2")
	in.await("the second version", func(r *received) bool { return r.waiting("v2") == 1 && r.waiting("v1") < 0 })
}
