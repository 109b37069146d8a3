package sidecar

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/snapshot"
)

func TestPushesWhatItScrapes(t *testing.T) {
	t.Parallel()
	server := newModelServer(t, 3)
	in, url := newIngest(t)
	r := start(t, url, "{static: "+staticYAML("b", "127.0.0.1:1", "a", server.address())+"}")
	got := in.await("a sample of a", func(r *received) bool { return r.waiting("a") == 3 })
	wantTopology := &snapshot.Topology{Endpoints: []snapshot.Endpoint{
		{Name: "a", Address: server.address(), Engine: "vllm", Labels: []snapshot.Label{{Key: "role", Value: "decode"}}, Models: []string{"m1"}},
		{Name: "b", Address: "127.0.0.1:1", Engine: "vllm", Labels: []snapshot.Label{{Key: "role", Value: "decode"}}, Models: []string{"m1"}},
	}}
	if !reflect.DeepEqual(got.topology, wantTopology) {
		t.Errorf("topology: got %+v\nwant %+v", got.topology, wantTopology)
	}
	a, b := got.load.Endpoints[0], got.load.Endpoints[1]
	a.AgeMillis = 0
	want := snapshot.EndpointLoad{
		WaitingRequests: 3, RunningRequests: 2, KVCacheUsage: 0.5, KVBlockTokens: 16, KVBlocks: 100, MaxLoRA: 4,
		RunningLoRA: []uint16{0, 1}, WaitingLoRA: []uint16{1},
	}
	if !reflect.DeepEqual(a, want) || !reflect.DeepEqual(got.load.Adapters, []string{"a", "b"}) {
		t.Errorf("load of a: got %+v, adapters %q\nwant %+v", a, got.load.Adapters, want)
	}
	if b.AgeMillis != snapshot.NoSample {
		t.Errorf("age of b, which never answered: got %d, want NoSample", b.AgeMillis)
	}
	server.set(7)
	in.await("the change", func(r *received) bool { return r.waiting("a") == 7 })
	eventually(t, "heartbeats without a change", func() bool { n := len(in.messages()); return n >= 8 })
	for i, m := range in.messages() {
		if m.full != (i == 0) {
			t.Errorf("message %d: got full=%v, want only the first full", i, m.full)
		}
		if m.position.Sequence != uint64(i+1) {
			t.Errorf("message %d: got sequence %d, want %d", i, m.position.Sequence, i+1)
		}
	}
	if code := r.stop(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

func TestAgeGrowsWhileAnEndpointFails(t *testing.T) {
	t.Parallel()
	server := newModelServer(t, 3)
	in, url := newIngest(t)
	start(t, url, "{static: "+staticYAML("a", server.address())+"}")
	in.await("a sample", func(r *received) bool { return r.waiting("a") == 3 })
	server.status.Store(http.StatusFound)
	in.await("an old sample with its numbers", func(r *received) bool {
		return r.waiting("a") == 3 && r.load.Endpoints[0].AgeMillis > 400
	})
	server.setPage("<html></html>")
	server.status.Store(0)
	in.await("a page without metrics does not count as a sample", func(r *received) bool {
		return r.waiting("a") == 3 && r.load.Endpoints[0].AgeMillis > 900
	})
	server.set(4)
	in.await("a fresh sample", func(r *received) bool { return r.waiting("a") == 4 && r.load.Endpoints[0].AgeMillis < 900 })
}

func TestDeadAndHungEndpointsDelayNobody(t *testing.T) {
	t.Parallel()
	healthy, dead, hung := newModelServer(t, 1), newModelServer(t, 1), newModelServer(t, 1)
	dead.status.Store(http.StatusInternalServerError)
	hung.hang.Store(true)
	in, url := newIngest(t)
	start(t, url, "{static: "+staticYAML("dead", dead.address(), "healthy", healthy.address(), "hung", hung.address())+"}")
	eventually(t, "100 scrapes of the healthy endpoint", func() bool { return healthy.requests.Load() >= 100 })
	h, d, s := healthy.requests.Load(), dead.requests.Load(), hung.requests.Load()
	if d == 0 || s == 0 || d*5 > h || s*5 > h {
		t.Errorf("scrapes: healthy %d, dead %d, hung %d; want the last two scraped, at most a fifth as often", h, d, s)
	}
	for waiting := 2; waiting < 6; waiting++ {
		healthy.set(waiting)
		in.await("a change beside a hung endpoint", func(r *received) bool { return r.waiting("healthy") == waiting })
	}
	dead.status.Store(0)
	in.await("the dead endpoint comes back", func(r *received) bool { return r.waiting("dead") == 1 })
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	server := newModelServer(t, 3)
	in, url := newIngest(t)
	ahead := snapshot.Position{Epoch: uint64(time.Now().Add(time.Hour).UnixNano()), Sequence: 9}
	in.last = ahead
	start(t, url, "{static: "+staticYAML("a", server.address())+"}")
	got := in.await("acceptance after an older epoch", func(r *received) bool { return r.waiting("a") == 3 })
	if got.position.Epoch != ahead.Epoch+1 {
		t.Errorf("epoch: got %d, want %d", got.position.Epoch, ahead.Epoch+1)
	}

	before := len(in.messages())
	in.mu.Lock()
	in.topology, in.id = nil, 0
	in.mu.Unlock()
	in.await("a full message after unknown_topology", func(*received) bool { return len(in.messages()) > before })
	if again := in.messages()[before]; !again.full {
		t.Error("got load alone after unknown_topology, want a full message")
	}

	for _, status := range []int{http.StatusInternalServerError, http.StatusUnauthorized} {
		in.setRefuse(func(w http.ResponseWriter, _ *http.Request, _ snapshot.Position, _ bool) bool {
			w.WriteHeader(status)
			return true
		})
		tries := in.tries()
		eventually(t, "two refused tries", func() bool { return in.tries() >= tries+2 })
		in.setRefuse(nil)
		before = len(in.messages())
		eventually(t, "recovery", func() bool { return len(in.messages()) > before })
		if again := in.messages()[before]; !again.full {
			t.Errorf("got load alone after status %d, want a full message", status)
		}
	}
}

func TestSlowRetryAndOneLogLineWhenUnauthorized(t *testing.T) {
	t.Parallel()
	server := newModelServer(t, 3)
	in, url := newIngest(t)
	in.refuse = func(w http.ResponseWriter, _ *http.Request, _ snapshot.Position, _ bool) bool {
		answer(w, http.StatusUnauthorized, "unauthorized", snapshot.Position{})
		return true
	}
	r := start(t, url, "{static: "+staticYAML("a", server.address())+"}")
	eventually(t, "60 scrapes and two tries", func() bool { return server.requests.Load() >= 60 && in.tries() >= 2 })
	if scrapes, tries := server.requests.Load(), in.tries(); int64(tries)*10 > scrapes {
		t.Errorf("got %d tries in %d scrapes, want a tenth at most", tries, scrapes)
	}
	if n := strings.Count(r.log.String(), "push failed"); n != 1 {
		t.Errorf("got %d log lines on refused pushes, want 1", n)
	}
	if strings.Contains(r.log.String(), testToken) {
		t.Error("got the token in the log")
	}
	if status, body := r.get("/healthz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "unauthorized") {
		t.Errorf("/healthz: got %d %s, want 503 with the reason", status, body)
	}
}

func TestHungEnvoyDelaysNoOther(t *testing.T) {
	t.Parallel()
	server := newModelServer(t, 1)
	slow, slowURL := newIngest(t)
	slow.refuse = func(_ http.ResponseWriter, r *http.Request, _ snapshot.Position, _ bool) bool {
		<-r.Context().Done()
		return true
	}
	in, url := newIngest(t)
	start(t, slowURL+","+url, "{static: "+staticYAML("a", server.address())+"}")
	for waiting := 2; waiting < 12; waiting++ {
		server.set(waiting)
		in.await("a change beside a hung Envoy", func(r *received) bool { return r.waiting("a") == waiting })
	}
	if tries, messages := slow.tries(), len(in.messages()); tries == 0 || tries*3 > messages {
		t.Errorf("got %d tries at the hung Envoy and %d messages at the other, want few and many", tries, messages)
	}
}

func TestChangesDoNotWaitForTheHeartbeat(t *testing.T) {
	server := newModelServer(t, 1)
	server.counting.Store(true)
	in, url := newIngest(t)
	start(t, url, "{static: "+staticYAML("a", server.address())+"}")
	eventually(t, "100 scrapes", func() bool { return server.requests.Load() >= 100 })
	if messages := len(in.messages()); messages < 33 {
		t.Errorf("got %d messages in 100 scrapes that differ, want one for most", messages)
	}
}

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
	eventually(t, "the old token is refused", func() bool { return strings.Contains(r.log.String(), "result=status_401") })
	writeFile(t, token, testToken+"\n")
	in.await("the new token is accepted", func(r *received) bool { return r.waiting("a") == 1 })
}

func TestUnixSocket(t *testing.T) {
	server := newModelServer(t, 3)
	in := &ingest{t: t}
	socket := filepath.Join(t.TempDir(), "i.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: in}
	go func() { _ = s.Serve(listener) }()
	defer s.Close()
	start(t, "'unix://"+socket+"'", "{static: "+staticYAML("a", server.address())+"}")
	in.await("a sample over a unix socket", func(r *received) bool { return r.waiting("a") == 3 })
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

	writeFile(t, file, "endpoints: [{nam: x}]")
	eventually(t, "the broken file in /healthz", func() bool {
		status, body := r.get("/healthz")
		return status == http.StatusOK && strings.Contains(body, "endpoints[0].nam: unknown key")
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
	in.await("both lists once they go together", func(r *received) bool { return r.waiting("one") == 2 && r.waiting("four") == 1 })
	if _, body := r.get("/healthz"); strings.Contains(body, "warnings") {
		t.Errorf("/healthz: got %s, want no warnings left", body)
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
		writeFile(t, filepath.Join(folder, version, "endpoints.yaml"), "endpoints: "+staticYAML(version, server.address()))
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

func TestAdmin(t *testing.T) {
	server := newModelServer(t, 3)
	server.setPage("vllm:num_requests_waiting 3\nvllm:kv_cache_usage_perc 0.5\n")
	in, url := newIngest(t)
	r := start(t, url, "{static: "+staticYAML("a", server.address(), "b", "127.0.0.1:1")+"}")
	in.await("a sample", func(r *received) bool { return r.waiting("a") == 3 })
	tests := []struct {
		path  string
		wants []string
	}{
		{"/livez", []string{`"status":"ok"`}},
		{"/healthz", []string{`"status":"ok"`}},
		{"/endpoints", []string{`"name":"a"`, `"labels":{"role":"decode"}`, `"models":["m1"]`, `"waiting":3`, `"kvCacheUsage":0.5`, `"age":"`,
			`"missingMetrics":["vllm:num_requests_running","vllm:cache_config_info"]`, `"metrics":null`, `"lastError":"Get`}},
		{"/metrics", []string{`pintle_sidecar_scrapes_total{endpoint="a",result="ok"}`, `pintle_sidecar_scrapes_total{endpoint="b",result="error"}`,
			`pintle_sidecar_sample_age_seconds{endpoint="a"}`, "pintle_sidecar_topology_endpoints 2", "pintle_sidecar_scrape_duration_seconds_bucket",
			`pintle_sidecar_pushes_total{result="accepted",target="` + url + `"}`, "pintle_sidecar_push_duration_seconds_count",
			`pintle_sidecar_missing_metrics{endpoint="a",metric="vllm:num_requests_running"} 1`}},
	}
	for _, test := range tests {
		eventually(t, test.path+" says all that it should", func() bool {
			status, body := r.get(test.path)
			for _, want := range test.wants {
				if !strings.Contains(body, want) {
					return false
				}
			}
			return status == http.StatusOK
		})
	}
	if n := strings.Count(r.log.String(), "metric missing"); n != 2 {
		t.Errorf("got %d log lines on missing metrics, want one for each of 2", n)
	}
}

func TestCommandMistakes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	path := filepath.Join(t.TempDir(), "sidecar.yaml")
	writeFile(t, path, configYAML(taken.Addr().String(), "'http://127.0.0.1:1'", "{static: []}"))
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	writeFile(t, broken, "a: b\n")
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no file", nil, 2, "-c: missing"},
		{"unknown flag", []string{"-x"}, 2, "-x"},
		{"argument", []string{"-c", path, "more"}, 2, `"more" is unknown`},
		{"log format", []string{"-c", path, "-log", "xml"}, 2, `"xml" is unknown; text or json is right`},
		{"file not there", []string{"-c", path + ".not"}, 2, "no such file"},
		{"bad configuration", []string{"-c", broken}, 2, "broken.yaml: line 1: a: unknown key"},
		{"address taken", []string{"-c", path}, 1, `admin.address: "` + taken.Addr().String() + `" cannot be listened on`},
		{"help", []string{"-h"}, 0, "usage: pintle sidecar"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var output bytes.Buffer
			code := Command(context.Background(), test.args, &output, &output)
			if code != test.code || !strings.Contains(output.String(), test.want) {
				t.Errorf("got %d %q, want %d and %q", code, output.String(), test.code, test.want)
			}
			if test.code != 0 && strings.Count(output.String(), "\n") != 1 {
				t.Errorf("got %q, want one line", output.String())
			}
		})
	}
}

// TestHammer changes the pool while everything runs and checks that no goroutine is left at the end.
func TestHammer(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("run", func(t *testing.T) {
		var servers []*modelServer
		for range 8 {
			servers = append(servers, newModelServer(t, 1))
		}
		in, url := newIngest(t)
		second, secondURL := newIngest(t)
		file := filepath.Join(t.TempDir(), "endpoints.yaml")
		writeFile(t, file, "endpoints: []")
		r := start(t, url+","+secondURL, "{file: '"+file+"'}")
		for round := range 3 {
			var pairs []string
			for i, s := range servers {
				if (i+round)%3 != 0 {
					pairs = append(pairs, string(rune('a'+i)), s.address())
				}
			}
			writeFile(t, file, "endpoints: "+staticYAML(pairs...))
			for _, in := range []*ingest{in, second} {
				in.await("all of the round's endpoints", func(m *received) bool {
					for i := 0; i < len(pairs); i += 2 {
						if m.waiting(pairs[i]) < 1 {
							return false
						}
					}
					return len(m.topology.Endpoints) == len(pairs)/2
				})
			}
			for i, s := range servers {
				s.set(2 + round + i)
			}
			for _, path := range []string{"/endpoints", "/metrics", "/healthz"} {
				if status, body := r.get(path); status != http.StatusOK {
					t.Errorf("%s: got %d %s, want 200", path, status, body)
				}
			}
		}
		if code := r.stop(); code != 0 {
			t.Errorf("exit code: got %d, want 0", code)
		}
	})
	http.DefaultClient.CloseIdleConnections()
	eventually(t, "the goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

func TestBackoff(t *testing.T) {
	tests := []struct {
		failures int
		want     time.Duration
	}{{1, 50}, {2, 100}, {3, 200}, {6, 1600}, {7, 2000}, {1000, 2000}}
	for _, test := range tests {
		if got := backoff(50*time.Millisecond, test.failures, 2*time.Second); got != test.want*time.Millisecond {
			t.Errorf("%d failures: got %v, want %v", test.failures, got, test.want*time.Millisecond)
		}
	}
}

func TestMessageBoundsAdapters(t *testing.T) {
	g := &generation{topology: &snapshot.Topology{}}
	for i := range 100 {
		tgt := &target{sampled: time.Now()}
		for j := range 1000 {
			tgt.sample.RunningLoRA = append(tgt.sample.RunningLoRA, strings.Repeat("x", 200)+string(rune(i))+string(rune(j)))
		}
		g.targets = append(g.targets, tgt)
	}
	var e encoder
	body, err := e.message(g, snapshot.Position{Epoch: 1, Sequence: 1}, false, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.Split(body); err != nil {
		t.Errorf("got %v for %d bytes, want a message that fits", err, len(body))
	}
}
