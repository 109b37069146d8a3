package sidecar

import (
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
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
		{Name: "a", Address: server.address(), Labels: []snapshot.Label{{Key: "role", Value: "decode"}},
			Models: []string{"m1"}},
		{Name: "b", Address: "127.0.0.1:1", Labels: []snapshot.Label{{Key: "role", Value: "decode"}},
			Models: []string{"m1"}},
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
	in.await("a fresh sample",
		func(r *received) bool { return r.waiting("a") == 4 && r.load.Endpoints[0].AgeMillis < 900 })
}

func TestDeadAndHungEndpointsDelayNobody(t *testing.T) {
	t.Parallel()
	healthy, dead, hung := newModelServer(t, 1), newModelServer(t, 1), newModelServer(t, 1)
	dead.status.Store(http.StatusInternalServerError)
	hung.hang.Store(true)
	in, url := newIngest(t)
	discovery := "{static: " +
		staticYAML("dead", dead.address(), "healthy", healthy.address(), "hung", hung.address()) + "}"
	startWith(t, func(admin string) string {
		return strings.Replace(configYAML(admin, url, discovery), "timeout: 30s", "timeout: 300ms", 1)
	})
	eventually(t, "100 scrapes of the healthy endpoint, and some of the others", func() bool {
		return healthy.requests.Load() >= 100 && dead.requests.Load() > 0 && hung.requests.Load() > 0
	})
	h, d, s := healthy.requests.Load(), dead.requests.Load(), hung.requests.Load()
	if d*5 > h || s*5 > h {
		t.Errorf("scrapes: healthy %d, dead %d, hung %d; want the last two at most a fifth as often", h, d, s)
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

	in.mu.Lock()
	before := len(in.accepted)
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
		before = len(in.messages())
		in.setRefuse(nil)
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
	if status, body := r.get("/healthz"); status != http.StatusServiceUnavailable ||
		!strings.Contains(body, "unauthorized") {
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
	eventually(t, "a try at the hung Envoy", func() bool { return slow.tries() > 0 })
	for waiting := 2; waiting < 12; waiting++ {
		server.set(waiting)
		in.await("a change beside a hung Envoy", func(r *received) bool { return r.waiting("a") == waiting })
	}
	if tries, messages := slow.tries(), len(in.messages()); tries*3 > messages {
		t.Errorf("got %d tries at the hung Envoy and %d messages at the other, want few and many", tries, messages)
	}
}

func TestChangesDoNotWaitForTheHeartbeat(t *testing.T) {
	server := newModelServer(t, 1)
	server.counting.Store(true)
	in, url := newIngest(t)
	start(t, url, "{static: "+staticYAML("a", server.address())+"}")
	const few, heartbeat = 20, 50 * time.Millisecond
	eventually(t, "so many messages in half the time that heartbeats alone would take", func() bool {
		messages := in.messages()
		for i := few; i < len(messages); i++ {
			if messages[i].at.Sub(messages[i-few].at) < few*heartbeat/2 {
				return true
			}
		}
		return false
	})
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

// A connection that is kept would go on reaching the old process of an Envoy that is restarted hot.
func TestPushesReachWhoeverListens(t *testing.T) {
	t.Parallel()
	server := newModelServer(t, 3)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve := func(in *ingest, l net.Listener) {
		s := &http.Server{Handler: in}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(func() { _ = s.Close() })
	}
	old, next := &ingest{t: t}, &ingest{t: t}
	serve(old, listener)
	start(t, "'http://"+listener.Addr().String()+"'", "{static: "+staticYAML("a", server.address())+"}")
	old.await("a sample", func(r *received) bool { return r.waiting("a") == 3 })
	address := listener.Addr().String()
	_ = listener.Close() // what is connected stays so
	if listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	serve(next, listener)
	got := next.await("a snapshot in the new process", func(r *received) bool { return r.waiting("a") == 3 })
	if !next.messages()[0].full {
		t.Errorf("got %+v first, want a full message", got)
	}
}

// An Envoy that starts answers 503 until it has heard of its servers.
func TestAnEnvoyThatIsNotThereIsTriedOften(t *testing.T) {
	t.Parallel()
	server := newModelServer(t, 3)
	in, url := newIngest(t)
	absent := freeAddress(t)
	r := start(t, "'http://"+absent+"',"+url, "{static: "+staticYAML("a", server.address())+"}")
	tries := regexp.MustCompile(`pushes_total\{result="connect",target="http://` + absent + `"\} (\d+)`)
	eventually(t, "20 tries", func() bool {
		_, body := r.get("/metrics")
		found := tries.FindStringSubmatch(body)
		if found == nil {
			return false
		}
		n, err := strconv.Atoi(found[1])
		return err == nil && n >= 20
	})
	if messages := len(in.messages()); messages > 160 {
		t.Errorf("got %d messages at the other Envoy meanwhile, want at most 8 for each try", messages)
	}
}

func TestTwoSidecarsOnOneEnvoy(t *testing.T) {
	t.Parallel()
	server := newModelServer(t, 3)
	in, url := newIngest(t)
	discovery := "{static: " + staticYAML("a", server.address()) + "}"
	one := start(t, url, discovery)
	in.await("a sample", func(r *received) bool { return r.waiting("a") == 3 })
	if _, body := one.get("/healthz"); strings.Contains(body, "another sidecar") {
		t.Errorf("/healthz of one alone: got %s, want nothing of another", body)
	}
	two := start(t, url, discovery)
	for name, r := range map[string]*running{"one": one, "two": two} {
		eventually(t, "the other's cause in /healthz of "+name, func() bool {
			_, body := r.get("/healthz")
			return strings.Contains(body, "another sidecar feeds this Envoy, too")
		})
		const line = "another sidecar feeds this Envoy, too"
		eventually(t, "a log line of "+name, func() bool { return strings.Contains(r.log.String(), line) })
		if n := strings.Count(r.log.String(), line); n != 1 {
			t.Errorf("%s: got %d log lines on the other, want 1", name, n)
		}
	}
}

func TestListenerWithoutThePlugIn(t *testing.T) {
	t.Parallel()
	in, url := newIngest(t)
	in.setRefuse(func(w http.ResponseWriter, _ *http.Request, _ snapshot.Position, _ bool) bool {
		w.WriteHeader(http.StatusNotFound)
		return true
	})
	r := start(t, url, "{static: []}")
	const want = "answered 404 Not Found: it lacks the plug-in with this port or socket as its ingest, or, with " +
		"hold: buffer, the buffer filter"
	eventually(t, "the cause of 404 in /healthz", func() bool {
		_, body := r.get("/healthz")
		return strings.Contains(body, want)
	})
	eventually(t, "the cause of 404 in the log", func() bool { return strings.Contains(r.log.String(), want) })
}
