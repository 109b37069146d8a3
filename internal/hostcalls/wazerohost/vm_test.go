package wazerohost

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestSharedData(t *testing.T) {
	h := newHost(t, Options{})
	first, second := newWorker(t, h), newWorker(t, h)
	startPlugin(t, first, "plugin_start: shared_get k; shared_set k a 77; shared_get k; shared_set k b 2; shared_set "+
		"k b 1; shared_get k; shared_set k c 0; shared_set empty  0; shared_get empty")
	wantOutcome(t, h, "plugin_start shared_get k", notFound, "a 1", "b 2")
	wantOutcome(t, h, "plugin_start shared_set k a 77", ok) // an absent key ignores cas
	wantOutcome(t, h, "plugin_start shared_set k b 2", casMismatch)
	wantOutcome(t, h, "plugin_start shared_set k b 1", ok)
	wantOutcome(t, h, "plugin_start shared_get empty", " 4")
	startPlugin(t, second, "plugin_start: shared_get k")
	wantOutcome(t, h, "plugin_start shared_get k", notFound, "a 1", "b 2", "c 3")
	value, cas, found := h.SharedData("k")
	wantEqual(t, "value", string(value)+" "+strconv.Itoa(int(cas)), "c 3")
	wantEqual(t, "found", found, true)
	wantEqual(t, "keys", len(h.SharedDataKeys()), 2)
	h.SetSharedData("k", []byte("test"))
	startPlugin(t, second, "plugin_start: shared_get k; size")
	wantEqual(t, "last", outcomes(h, "plugin_start shared_get k")[4], "test 5")
}

func TestWorkersShare(t *testing.T) {
	const workers, rounds = 4, 200
	h := newHost(t, Options{})
	h.SetSharedData("n", []byte("0"))
	var wg sync.WaitGroup
	for range workers {
		p := startPlugin(t, newWorker(t, h), "request_headers: shared_add n; count hits 1")
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range rounds {
				p.Request(nil, true).Finish()
			}
		}()
	}
	wg.Wait()
	value, _, _ := h.SharedData("n")
	wantEqual(t, "sum", string(value), strconv.Itoa(workers*rounds))
	hits, _ := h.Counter("hits")
	wantEqual(t, "counter", hits, uint64(workers*rounds))
}

func TestPluginsOfOneVM(t *testing.T) {
	h := newHost(t, Options{VMID: "vm", VMConfiguration: []byte("conf")})
	w := newWorker(t, h)
	startPlugin(t, w, "tick: shared_set a 1 0\nplugin_start: tick 50; property plugin_name; property plugin_root_id; "+
		"property plugin_vm_id; property request.path; property node.id; set_property x 1; get x")
	other, err := w.Start(PluginConfig{Configuration: "request_headers: property source.address; number source.port; " +
		"property destination.address; number destination.port; configuration", Listener: "127.0.0.1:15099"})
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, h, "vm_start configuration", "conf", "conf")
	wantOutcome(t, h, "plugin_start property plugin_name", "test")
	wantOutcome(t, h, "plugin_start property plugin_root_id", "root")
	wantOutcome(t, h, "plugin_start property plugin_vm_id", "vm")
	wantOutcome(t, h, "plugin_start property request.path", notFound)
	wantOutcome(t, h, "plugin_start property node.id", notFound)
	wantOutcome(t, h, "plugin_start set_property x 1", notFound)
	wantOutcome(t, h, "plugin_start get x", badArgument)
	other.Request(nil, true, From("10.1.2.3:80"))
	other.Request(nil, true, From("/run/peer.sock"))
	wantOutcome(t, h, "request_headers property source.address", "10.1.2.3:80", "/run/peer.sock")
	wantOutcome(t, h, "request_headers number source.port", "5000000000000000", notFound)
	wantOutcome(t, h, "request_headers number destination.port", "fb3a000000000000", "fb3a000000000000")
	wantOutcome(t, h, "request_headers configuration", notFound, notFound)
	_, _, found := h.SharedData("a")
	wantEqual(t, "ticked", found, false)
	w.Tick()
	_, _, found = h.SharedData("a")
	wantEqual(t, "ticked", found, true)
}

func TestPluginLife(t *testing.T) {
	h := newHost(t, Options{})
	w := newWorker(t, h)
	_, err := w.Start(PluginConfig{Configuration: "plugin_start: pause; critical bad-key"})
	if err == nil || !strings.Contains(err.Error(), "OnPluginStart failed: bad-key") {
		t.Errorf("error: got %v, want OnPluginStart and the log line", err)
	}
	plain := startPlugin(t, w, "plugin_done: size")
	plain.Stop()
	wantEqual(t, "stopped", plain.Stopped(), true)
	slow := startPlugin(t, w, "plugin_start: tick 10\nplugin_done: pause\ntick: done")
	startPlugin(t, w, "plugin_start: tick 10\ntick: count ticks 1")
	wantEqual(t, "period", slow.TickMillis(), 10)
	slow.Stop()
	wantEqual(t, "stopped before PluginDone", slow.Stopped(), false)
	w.Tick()
	wantEqual(t, "stopped", slow.Stopped(), true)
	ticks, _ := h.Counter("ticks")
	wantEqual(t, "ticks of the plug-in behind it", ticks, uint64(1))
	wantEqual(t, "failed", w.Failed(), nil)
}

func TestCanaryStartsEveryPluginTwice(t *testing.T) {
	h, _, _ := start(t, Options{Canary: true}, "plugin_start: count starts 1")
	n, _ := h.Counter("starts")
	wantEqual(t, "starts", n, uint64(2))
}

func TestProperties(t *testing.T) {
	const reads = "property request.path; property request.url_path; property request.query; property " +
		"request.method; property request.host; property request.headers.x-a"
	opts := Options{Properties: map[string][]byte{"node.id": []byte("n1"), "listener_direction": Int64(1)}}
	h, _, p := start(t, opts, "request_headers: "+reads+"; number request.size; number listener_direction; property "+
		"node.id; set_property picked v; property picked; property filter_state.wasm.picked\nrequest_body: "+reads+
		"\nstream_done: property request.path; property mine; number response.code; property "+
		"response.code_details\nresponse_headers: number response.code; number request.size")
	s := p.Request(Headers{{":path", "/v1?q=1#f"}, {"x-a", "1"}, {"x-a", "2"}, {"content-length", "1"}}, false,
		WithProperty("mine", []byte("yes")))
	s.Body([]byte("b"), true)
	s.Finish()
	for property, want := range map[string][2]string{
		"property request.path": {"/v1?q=1#f", notFound}, "property request.url_path": {"/v1", notFound},
		"property request.query": {"q=1", notFound}, "property request.method": {"POST", notFound},
		"property request.host": {"pintle.test", notFound}, "property request.headers.x-a": {"1,2", notFound},
	} {
		wantOutcome(t, h, "request_headers "+property, want[0])
		wantOutcome(t, h, "request_body "+property, want[1])
	}
	wantOutcome(t, h, "request_headers number request.size", "0100000000000000")
	wantOutcome(t, h, "request_headers property node.id", "n1")
	wantOutcome(t, h, "request_headers number listener_direction", "0100000000000000")
	wantOutcome(t, h, "request_headers property picked", "v")
	wantOutcome(t, h, "stream_done property request.path", "/v1?q=1#f")
	wantOutcome(t, h, "stream_done property mine", "yes")
	wantOutcome(t, h, "stream_done number response.code", "c800000000000000")
	wantOutcome(t, h, "stream_done property response.code_details", "via_upstream")
	wantOutcome(t, h, "response_headers number response.code", "c800000000000000")
	wantOutcome(t, h, "response_headers number request.size", "0100000000000000")
}

func TestFilterStateAndForeignFunctions(t *testing.T) {
	h, _, p := start(t, Options{FilterStateKeys: []string{"my.key"}},
		"request_headers: state "+OriginalDst+" 10.0.0.1:80 1; state "+OriginalDst+" [::1]:80 1; state "+OriginalDst+
			" host:80 1; state "+OriginalDst+" 10.0.0.1 1; state unknown.key v 1; state my.key v 2; foreign "+
			"clear_route_cache; foreign set_upstream_override_host; foreign set_envoy_filter_state")
	s := p.Request(nil, true)
	wantOutcome(t, h, "request_headers state "+OriginalDst+" 10.0.0.1:80 1", ok)
	wantOutcome(t, h, "request_headers state "+OriginalDst+" [::1]:80 1", ok)
	wantOutcome(t, h, "request_headers state "+OriginalDst+" host:80 1", badArgument)
	wantOutcome(t, h, "request_headers state "+OriginalDst+" 10.0.0.1 1", badArgument)
	wantOutcome(t, h, "request_headers state unknown.key v 1", notFound)
	wantOutcome(t, h, "request_headers state my.key v 2", ok)
	wantOutcome(t, h, "request_headers foreign set_upstream_override_host", notFound)
	wantOutcome(t, h, "request_headers foreign set_envoy_filter_state", notFound) // no key at all
	wantEqual(t, "route cache", s.RouteCacheClears(), 1)
	state, _ := s.FilterState(OriginalDst)
	wantEqual(t, "state", state, FilterState{"[::1]:80", 1})
}

func TestMetrics(t *testing.T) {
	h, w, p := start(t, Options{}, "request_headers: count c 2; gauge g -3; histogram h 7\nrequest_trailers: count c 0")
	p.Request(nil, true)
	p.Request(nil, true)
	c, _ := h.Counter("c")
	g, _ := h.Gauge("g")
	last, n := h.Histogram("h")
	wantEqual(t, "counter", c, uint64(4))
	wantEqual(t, "gauge", g, int64(-6))
	wantEqual(t, "histogram", last*10+n, uint64(72))
	s := p.Request(nil, false)
	s.Trailers(Headers{{"t", "1"}}) // a counter refuses 0, and the SDK panics on a refusal
	wantEqual(t, "failed", w.Failed() != nil, true)
}

func TestTrap(t *testing.T) {
	h, w, p := start(t, Options{}, "plugin_start: count starts 1; shared_set k v 0\nrequest_headers: "+
		"size\nrequest_trailers: panic boom\nresponse_headers: size")
	other := p.Request(nil, true)
	victim := p.Request(nil, false)
	victim.Trailers(Headers{{"t", "1"}})
	wantEqual(t, "status", victim.ResponseHeaders().Get(":status"), "503")
	wantEqual(t, "details", victim.LocalReply().Details, "wasm_fail_stream")
	wantEqual(t, "callbacks", strings.Join(victim.Callbacks(), " "), "context_create request_headers request_trailers")
	if err := w.Failed(); err == nil || !strings.Contains(err.Error(), "proxy_on_request_trailers failed") {
		t.Errorf("failed: got %v, want the callback's name", err)
	}
	other.Respond(nil, true)
	wantEqual(t, "status of the other stream", other.ResponseHeaders().Get(":status"), "503")
	wantEqual(t, "status of a new stream", p.Request(nil, false).ResponseHeaders().Get(":status"), "503")
	if err := w.Rebuild(); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "failed after the rebuild", w.Failed(), nil)
	s := p.Request(nil, true)
	s.Finish()
	wantEqual(t, "status after the rebuild", s.ResponseHeaders().Get(":status"), "200")
	starts, _ := h.Counter("starts")
	wantEqual(t, "starts", starts, uint64(2))
	_, _, found := h.SharedData("k")
	wantEqual(t, "shared data", found, true)
}

func TestTrapInTheResponseResets(t *testing.T) {
	_, _, p := start(t, Options{}, "response_body: panic boom")
	s := p.Request(nil, true)
	s.Respond(nil, false)
	s.RespondBody([]byte("x"), true)
	wantEqual(t, "reset", s.WasReset(), true)
}

func TestInterleavedStreams(t *testing.T) {
	h, _, p := start(t, Options{AllowOnHeadersStopIteration: true},
		"request_headers: pause\nrequest_body: pause\nrequest_body/end: body 0 9; get x-a")
	a, b := p.Request(Headers{{"x-a", "a"}}, false), p.Request(Headers{{"x-a", "b"}}, false)
	a.Body([]byte("1"), false)
	b.Body([]byte("2"), false)
	a.Abort()
	b.Body([]byte("3"), true)
	wantOutcome(t, h, "request_body body 0 9", "23")
	wantOutcome(t, h, "request_body get x-a", "b")
	wantEqual(t, "aborted", strings.Join(a.Callbacks(), " "),
		"context_create request_headers request_body log done delete")
	wantEqual(t, "body", string(b.UpstreamBody()), "23")
}

func TestEnvironment(t *testing.T) {
	clock := NewClock(time.Unix(1000, 5))
	opts := Options{Now: clock.Now, Seed: 7, Env: map[string]string{"B": "2", "A": "1"}}
	var lines []string
	opts.Log = func(line LogLine) { lines = append(lines, line.Level.String()+" "+line.Text) }
	h, w, p := start(t, opts, "request_headers: now; random; environ; print hello; critical bad")
	p.Request(nil, true)
	clock.Advance(time.Second)
	p.Request(nil, true)
	wantOutcome(t, h, "request_headers now", "1000000000005", "1001000000005")
	wantOutcome(t, h, "request_headers environ", "A=1 B=2 ", "A=1 B=2 ")
	again, _, q := start(t, opts, "request_headers: random")
	q.Request(nil, true)
	wantEqual(t, "random", outcomes(h, "request_headers random")[0], outcomes(again, "request_headers random")[0])
	all := strings.Join(lines, "\n")
	if !strings.Contains(all, "critical bad\n") || !strings.Contains(all, "hello") {
		t.Errorf("log: got %q, want the critical and the printed line", all)
	}
	wantEqual(t, "critical lines", len(h.Logs(Critical)), 2)
	wantEqual(t, "memory", w.MemoryBytes() >= 1<<16, true)
}

func TestRefusals(t *testing.T) {
	tests := []struct{ name, script, violation, failed string }{
		{"a function that is not modelled", "request_headers: queue q", "proxy_register_shared_queue",
			"proxy_register_shared_queue"},
		{"a sleep", "request_headers: sleep", "poll_oneoff", "poll_oneoff"},
		{"proc_exit", "request_headers: exit", "", "proc_exit(3)"},
		{"a host call while allocating", "request_headers: malloc_calls; get x-a", "",
			"restricted_callback: env.proxy_get_header_map_value"},
		{"a log line while allocating", "request_headers: malloc_logs; get x-a", "", ""},
		{"a foreign function that is not modelled", "request_headers: foreign compress", "compress", "compress"},
		{"a header with a line break", "request_headers: set x-a a\\nb", "line break", "line break"},
		{"a property that is not modelled", "request_headers: number request.time", "request.time", "request.time"},
		{"a property path of two parts", "request_headers: set_property a.b 1", "several parts", "several parts"},
		{"a trailer in the last body callback", "request_body: add_trailer t 1", "not modelled", "not modelled"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var v violations
			_, w, p := start(t, Options{Fail: v.add}, test.script)
			s := p.Request(Headers{{"x-a", "1"}}, false)
			s.Body(nil, true)
			if test.violation != "" {
				v.want(t, test.violation)
			} else if len(v.messages) != 0 {
				t.Errorf("violations: got %q, want none", v.messages)
			}
			err := w.Failed()
			if (err != nil) != (test.failed != "") || err != nil && !strings.Contains(err.Error(), test.failed) {
				t.Errorf("failed: got %v, want %q", err, test.failed)
			}
		})
	}
}

func TestViolationPanicsWithoutFail(t *testing.T) {
	h := newHost(t, Options{})
	h.opts.Fail = nil
	p := startPlugin(t, newWorker(t, h), "request_headers: queue q")
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "proxy_register_shared_queue") {
			t.Errorf("panic: got %v, want one naming the function", r)
		}
	}()
	p.Request(nil, true)
}
