package sidecar

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/snapshot"
)

// pathServer is a model server with a page for each path; other paths are not found.
func pathServer(t testing.TB, pages map[string]string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestDetectsEngines(t *testing.T) {
	t.Parallel()
	const iterations = `[{"iter":1}]` // what trtllm-serve has at /metrics
	servers := map[string]string{
		"vllm":   pathServer(t, map[string]string{"/metrics": "vllm:num_requests_waiting 1\n"}),
		"sglang": pathServer(t, map[string]string{"/metrics": "sglang:num_queue_reqs 2\n"}),
		"trtllm": pathServer(t,
			map[string]string{"/metrics": iterations, "/prometheus/metrics": "trtllm_num_requests_waiting 3\n"}),
		"dynamo": pathServer(t, map[string]string{"/metrics": "trtllm_num_requests_waiting 4\n"}),
		"triton": pathServer(t, map[string]string{"/metrics": "nv_inference_pending_request_count{model=\"m\"} 5\n"}),
		"other":  pathServer(t, map[string]string{"/metrics": "own_queue 6\n"}),
	}
	in, url := newIngest(t)
	var pairs []string
	for name, address := range servers {
		pairs = append(pairs, name, address)
	}
	r := startWith(t, func(admin string) string {
		return configYAML(admin, url, "{static: "+staticYAML(pairs...)+"}") + "engines: {mine: {waiting: own_queue}}\n"
	})
	for name, waiting := range map[string]int{"vllm": 1, "sglang": 2, "trtllm": 3, "dynamo": 4, "triton": 5,
		"other": 6} {
		in.await(name, func(r *received) bool { return r.waiting(name) == waiting })
	}
	var body struct {
		Endpoints []struct{ Name, Engine string }
	}
	_, text := r.get("/endpoints")
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"vllm": "vllm", "sglang": "sglang", "trtllm": "trtllm", "dynamo": "trtllm",
		"triton": "triton", "other": "mine"}
	for _, e := range body.Endpoints {
		if e.Engine != want[e.Name] {
			t.Errorf("%s: got engine %q, want %q", e.Name, e.Engine, want[e.Name])
		}
	}
}

func TestEngineOnAnotherPort(t *testing.T) {
	t.Parallel()
	metrics := pathServer(t, map[string]string{"/metrics": "nv_inference_pending_request_count{model=\"m\"} 5\n"})
	requests := pathServer(t, nil)
	_, port, _ := strings.Cut(metrics, ":")
	in, url := newIngest(t)
	startWith(t, func(admin string) string {
		return configYAML(admin, url, fmt.Sprintf("{static: [{name: a, address: '%s', engine: triton}]}", requests)) +
			"engines: {triton: {port: " + port + "}}\n"
	})
	got := in.await("a sample from the other port", func(r *received) bool { return r.waiting("a") == 5 })
	if address := got.topology.Endpoints[0].Address; address != requests {
		t.Errorf("address: got %s, want that of the requests, %s", address, requests)
	}
}

func TestVanishedMetricIsReportedOnceAndLoudly(t *testing.T) {
	t.Parallel()
	server := newModelServer(t, 3)
	in, url := newIngest(t)
	r := start(t, url, "{static: "+staticYAML("a", server.address())+"}")
	in.await("a sample", func(r *received) bool { return r.waiting("a") == 3 })
	server.setPage("vllm:num_requests_waiting 4\nvllm:num_requests_running 2\nvllm:cache_usage_renamed 0.5\n")
	in.await("a sample without the metric", func(r *received) bool { return r.waiting("a") == 4 })
	const name = "vllm:kv_cache_usage_perc"
	eventually(t, "the metric in /healthz", func() bool {
		_, body := r.get("/healthz")
		return strings.Contains(body, "metric "+name+": missing at 1 of 1 endpoints, such as a")
	})
	if _, body := r.get("/metrics"); !strings.Contains(body,
		`pintle_sidecar_missing_metrics{endpoint="a",metric="`+name+`"} 1`) {
		t.Errorf("/metrics: want the missing metric, got\n%s", body)
	}
	scrapes := server.requests.Load()
	eventually(t, "ten more scrapes", func() bool { return server.requests.Load() > scrapes+10 })
	if n := strings.Count(r.log.String(),
		`level=ERROR msg="metric vanished; the endpoint is judged without it" endpoint=a engine=vllm metric=`+
			name); n != 1 {
		t.Errorf("got %d log lines on the metric, want 1", n)
	}
}

func TestIdleEndpointsAreScrapedSlower(t *testing.T) {
	t.Parallel()
	page := func(running int) string {
		return fmt.Sprintf("vllm:num_requests_waiting 0\nvllm:num_requests_running %d\nvllm:kv_cache_usage_perc 0\n",
			running)
	}
	idle, busy := newModelServer(t, 0), newModelServer(t, 0)
	idle.setPage(page(0))
	busy.setPage(page(1))
	in, url := newIngest(t)
	startWith(t, func(admin string) string {
		config := configYAML(admin, url, "{static: "+staticYAML("idle", idle.address(), "busy", busy.address())+"}")
		return strings.Replace(config, "interval: 10ms, timeout", "interval: 10ms, idleInterval: 1s, timeout", 1)
	})
	eventually(t, "idle", func() bool { return idle.requests.Load() > 11 })
	before, beforeBusy := idle.requests.Load(), busy.requests.Load()
	eventually(t, "50 scrapes of the busy endpoint", func() bool { return busy.requests.Load() > beforeBusy+50 })
	if n := idle.requests.Load() - before; n > 25 {
		t.Errorf("got %d scrapes of the idle endpoint in 50 of the busy one, want half at most", n)
	}
	idle.setPage(page(1))
	in.await("load on the idle endpoint",
		func(r *received) bool { return r.waiting("idle") == 0 && r.load.Endpoints[1].RunningRequests == 1 })
	before = idle.requests.Load()
	beforeBusy = busy.requests.Load()
	eventually(t, "50 more scrapes of the busy endpoint", func() bool { return busy.requests.Load() > beforeBusy+50 })
	if n := idle.requests.Load() - before; n < 25 {
		t.Errorf("got %d scrapes of the endpoint under load in 50 of the busy one, want as many", n)
	}
}

// TestEndpointsAreScrapedTogether: whatever the moment of their first scrape, the following ones have the same.
func TestEndpointsAreScrapedTogether(t *testing.T) {
	t.Parallel()
	const interval = 2 * time.Second
	type scrape struct {
		server int
		at     time.Time
	}
	seen := make(chan scrape, 1000)
	var pairs []string
	for i := range 8 {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			seen <- scrape{i, time.Now()}
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "vllm:num_requests_waiting 1\nvllm:num_requests_running 1\n")
		}))
		t.Cleanup(server.Close)
		pairs = append(pairs, fmt.Sprint("s", i), server.Listener.Addr().String())
	}
	_, url := newIngest(t)
	startWith(t, func(admin string) string {
		return strings.Replace(configYAML(admin, url, "{static: "+staticYAML(pairs...)+"}"), "scrape: {interval: 10ms",
			"scrape: {interval: "+interval.String(), 1)
	})
	asked, at := map[int]int{}, map[int]time.Time{}
	for len(at) < 8 {
		select {
		case s := <-seen:
			if asked[s.server]++; asked[s.server] > 1 {
				at[s.server] = s.at
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%d servers were scraped again within 30 s, want 8", len(at))
		}
	}
	for i, when := range at {
		off := when.Sub(at[0]) % interval
		if off < 0 {
			off += interval
		}
		if off > interval/4 && off < interval*3/4 {
			t.Errorf("server %d was scraped %v after another one, want about %v or nothing", i, off, interval)
		}
	}
}

// TestHostileServers have to cost bounded memory and time, and nobody else's scrapes.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	const line = "vllm:num_requests_waiting 7\n"
	comment := "# " + strings.Repeat("x", 1021) + "\n"
	serve := func(handle http.HandlerFunc) string {
		server := httptest.NewServer(handle)
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	large := func(kilobytes int) string {
		page := strings.Repeat(comment, kilobytes) + line
		return serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	}
	drip := serve(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "#"); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	})
	redirect := serve(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			t.Error("got a request for a redirect's target, want none")
		}
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	html := serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, line)
	})
	binary := serve(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("\x00\xff\xfe{{{{\n\x80" + strings.Repeat("vllm:num_requests_waiting{", 1000)))
	})
	healthy := newModelServer(t, 1)
	in, url := newIngest(t)
	discovery := "{static: " + staticYAML("large", large(9<<10), "tooLarge", large(11<<10), "drip", drip, "redirect",
		redirect,
		"html", html, "binary", binary, "healthy", healthy.address()) + "}"
	r := startWith(t, func(admin string) string {
		// Ten megabytes take a while under the race detector.
		return strings.Replace(configYAML(admin, url, discovery), "timeout: 30s", "timeout: 3s", 1)
	})
	in.await("a page of 9 MB", func(r *received) bool { return r.waiting("large") == 7 })
	in.await("a page of another type", func(r *received) bool { return r.waiting("html") == 7 })
	want := map[string]string{"tooLarge": "too_large", "drip": "timeout", "redirect": "status", "binary": "no_metrics"}
	for name, result := range want {
		eventually(t, name, func() bool {
			_, body := r.get("/metrics")
			return strings.Contains(body,
				fmt.Sprintf(`pintle_sidecar_scrapes_total{endpoint="%s",result="%s"}`, name, result))
		})
	}
	healthy.set(9)
	got := in.await("a change beside them", func(r *received) bool { return r.waiting("healthy") == 9 })
	for name := range want {
		if got.waiting(name) >= 0 {
			t.Errorf("%s: got a sample, want none", name)
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	metrics := "vllm:num_requests_waiting 1\n"
	one := pathServer(t, map[string]string{"/metrics": metrics,
		"/v1/models": `{"data":[{"id":"m"},{"id":"adapter","parent":"m"},{"id":"m"}]}`})
	two := pathServer(t, map[string]string{"/metrics": metrics, "/v1/models": `not JSON`})
	in, url := newIngest(t)
	discovery := fmt.Sprintf("{static: [{name: one, address: '%s'}, {name: two, address: '%s'}, {name: told, "+
		"address: '%s', models: [x]}]}", one, two, one)
	startWith(t, func(admin string) string {
		return strings.Replace(configYAML(admin, url, discovery), "interval: 10ms, timeout",
			"interval: 10ms, models: 1s, timeout", 1)
	})
	got := in.await("the models of one", func(r *received) bool { return len(r.topology.Endpoints[0].Models) > 0 })
	for i, want := range [][]string{{"m", "adapter"}, {"x"}, nil} {
		if e := got.topology.Endpoints[i]; len(e.Models) != len(want) || len(want) > 0 &&
			!reflect.DeepEqual(e.Models, want) {
			t.Errorf("%s: got %q, want %q", e.Name, e.Models, want)
		}
	}
}

// TestModelsOnDemand: without scrape.models the lists are read once an Envoy says that it goes by them, and not before.
func TestModelsOnDemand(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			asked.Add(1)
			_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
			return
		}
		_, _ = io.WriteString(w, "vllm:num_requests_waiting 1\n")
	}))
	t.Cleanup(server.Close)
	in, url := newIngest(t)
	start(t, url, fmt.Sprintf("{static: [{name: one, address: '%s'}]}", server.Listener.Addr()))
	for range 5 {
		in.await("a sample", func(r *received) bool { return r.waiting("one") == 1 })
	}
	if n := asked.Load(); n != 0 {
		t.Fatalf("the server was asked for its models %d times before any Envoy wanted them", n)
	}
	in.setRefuse(func(w http.ResponseWriter, _ *http.Request, _ snapshot.Position, _ bool) bool {
		w.Header().Set("x-pintle-wants", "models")
		return false
	})
	got := in.await("the models", func(r *received) bool { return len(r.topology.Endpoints[0].Models) > 0 })
	if models := got.topology.Endpoints[0].Models; !reflect.DeepEqual(models, []string{"m"}) {
		t.Errorf("got the models %q, want m", models)
	}
}
