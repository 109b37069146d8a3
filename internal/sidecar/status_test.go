package sidecar

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/sidecar/admin"
	"github.com/pintle-dev/pintle/snapshot"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	server := newModelServer(t, 3)
	in, url := newIngest(t)
	r := start(t, url, "{static: "+staticYAML("a", server.address(), "dead", "127.0.0.1:1")+"}")
	got := in.await("a sample", func(r *received) bool { return r.waiting("a") == 3 })

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.admin+"/status/events", nil)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("content type: got %q, want text/event-stream", kind)
	}
	events := bufio.NewScanner(response.Body)
	events.Buffer(nil, 1<<20)
	server.set(8)
	for events.Scan() {
		text, ok := strings.CutPrefix(events.Text(), "data: ")
		if !ok {
			continue
		}
		var status admin.Status
		if err := json.Unmarshal([]byte(text), &status); err != nil {
			t.Fatal(err)
		}
		if m := status.Endpoints[0].Metrics; m == nil || m.Waiting != 8 || len(status.Mistakes) == 0 ||
			status.Envoys[0].Accepted == "" {
			continue
		}
		if e := status.Envoys[0]; e.Ingest != url || e.Result != "accepted" || e.Epoch != got.position.Epoch ||
			e.Sequence == 0 || e.Topology != status.Topology {
			t.Errorf("Envoy: got %+v, want what it accepted", e)
		}
		if !strings.Contains(status.Mistakes[0].Text, "scrape failed endpoint=dead") {
			t.Errorf("mistakes: got %+v, want that of the dead endpoint", status.Mistakes)
		}
		if status.Status != "ok" || status.Configuration.ScrapeInterval != "10ms" || strings.Contains(text, testToken) {
			t.Errorf("got %s, want ok, the configuration and no token", text)
		}
		break
	}
	if err := events.Err(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/": "<title>Pintle sidecar", "/page.js": "EventSource",
		"/page.css": "body", "/status": `"status":"ok"`} {
		if status, body := r.get(path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: got %d %.80s, want 200 with %s", path, status, body, want)
		}
	}
	for _, path := range []string{"/debug/pprof/", "/nothing"} {
		if status, _ := r.get(path); status != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", path, status)
		}
	}
}

// TestFilterVersion: which module an Envoy runs is on the status page, in the metrics, and in the log when it changes,
// also while the module refuses what it is told.
func TestFilterVersion(t *testing.T) {
	t.Parallel()
	in, url := newIngest(t)
	in.setVersion("v1.2.3")
	r := start(t, url, "{static: []}")
	shown := func(version string) func() bool {
		return func() bool {
			_, status := r.get("/status")
			_, metrics := r.get("/metrics")
			name := `pintle_sidecar_filter_info{target="` + url + `",version="`
			if version == "" {
				return !strings.Contains(status, `"filter"`) && !strings.Contains(metrics, name)
			}
			return strings.Contains(status, `"filter":"`+version+`"`) && strings.Contains(metrics, name+version+`"} 1`)
		}
	}
	eventually(t, "the first version", shown("v1.2.3"))
	if _, status := r.get("/status"); !strings.Contains(status, `"version":"`+command.Version()+`"`) {
		t.Errorf("got %s, want the sidecar's own version, %s", status, command.Version())
	}
	in.setVersion("v1.3.0")
	eventually(t, "the next version", shown("v1.3.0"))
	in.setRefuse(func(w http.ResponseWriter, _ *http.Request, _ snapshot.Position, _ bool) bool {
		answer(w, http.StatusBadRequest, "unsupported_version", snapshot.Position{})
		return true
	})
	in.setVersion("v0.9.0")
	eventually(t, "the version of a module that refuses", shown("v0.9.0"))
	in.setRefuse(nil)
	in.setVersion("")
	eventually(t, "no version", shown(""))
	for _, version := range []string{"v1.2.3", "v1.3.0", "v0.9.0"} {
		if n := strings.Count(r.log.String(), "filter="+version); n != 1 {
			t.Errorf("got %d lines with %s, want 1:\n%s", n, version, r.log.String())
		}
	}
}

func TestProfilesBehindAFlag(t *testing.T) {
	t.Parallel()
	_, url := newIngest(t)
	r := startWith(t, func(admin string) string {
		return strings.Replace(configYAML(admin, url, "{static: []}"), "admin: {", "admin: {pprof: true, ", 1)
	})
	eventually(t, "the heap profile",
		func() bool { status, _ := r.get("/debug/pprof/heap"); return status == http.StatusOK })
}
