package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/snapshot"
)

// roles has decode servers serve requests, prefill servers none.
const roles = `{"plugins":[{"type":"decode-filter"},{"type":"queue-scorer"}]}`

// rolesPool has the idle server in the role that must not serve requests.
func rolesPool() *pool {
	return newPool(2, 0, 1).label(0, "mif.moreh.io/role", "decode").label(1, "mif.moreh.io/role", "prefill").label(2,
		"mif.moreh.io/role", "decode")
}

// chat is a body for the path of chats.
const chat = `{"model":"m","messages":[{"role":"user","content":"x"}]}`

// TestDisguisedInference writes paths and encodings as clients may to have a request pass unread. Each is judged like
// the plain one.
func TestDisguisedInference(t *testing.T) {
	const path = "/v1/chat/completions"
	tests := []struct {
		name    string
		headers wazerohost.Headers
	}{
		{"plain", wazerohost.Headers{{":path", path}}},
		{"an encoded letter", wazerohost.Headers{{":path", "/v1/%63hat/completions"}}},
		{"an encoded slash", wazerohost.Headers{{":path", "/v1/chat%2fcompletions"}}},
		{"a slash at the end", wazerohost.Headers{{":path", path + "/"}}},
		{"double slashes", wazerohost.Headers{{":path", "//v1//chat/completions"}}},
		{"dots", wazerohost.Headers{{":path", "/x/../v1/./chat/completions?a=b"}}},
		{"an empty encoding", wazerohost.Headers{{":path", path}, {"content-encoding", ""}}},
		{"identity twice", wazerohost.Headers{{":path", path}, {"content-encoding", "identity, Identity"}}},
		{"identity in two lines",
			wazerohost.Headers{{":path", path}, {"content-encoding", "identity"}, {"content-encoding", "identity"}}},
		{"identity and nothing", wazerohost.Headers{{":path", path}, {"content-encoding", " , identity,"}}},
	}
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(roles, ""))
		g.publish(rolesPool())
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				s := g.workers[0].requests.Request(tc.headers, false)
				s.Body([]byte(chat), true)
				g.wantRanked(s, address(2))
				if got := s.UpstreamHeaders().Get(":path"); got != tc.headers.Get(":path") {
					t.Errorf("path: got %q, want the client's", got)
				}
				s.Finish()
			})
		}
	})
}

// TestEncodedBodies: what cannot be read is refused, or passes by what can be told without reading.
func TestEncodedBodies(t *testing.T) {
	codings := []string{"gzip", "x", "zstd", "br", "identity, x", "deflate,identity"}
	eachMode(t, func(t *testing.T, m mode) {
		refuses := newGateway(t, m, 1, m.configuration(roles, ""))
		refuses.publish(rolesPool())
		passes := newGateway(t, m, 1, m.configuration(roles, `"unreadable":"pass",`))
		passes.publish(rolesPool())
		for _, coding := range codings {
			headers := wazerohost.Headers{{":path", "/v1/chat/completions"}, {"content-encoding", coding}}
			wantError(t, refuses.workers[0].requests.Request(headers, false), 415, "encoded_body")
			for _, body := range []string{chat, "\x1f\x8b\x00"} {
				s := passes.workers[0].requests.Request(headers, false)
				s.Body([]byte(body), true)
				passes.wantRanked(s, address(2))
				if string(s.UpstreamBody()) != body {
					t.Errorf("%s: upstream got the body %q, want %q", coding, s.UpstreamBody(), body)
				}
				s.Finish()
			}
		}
		for _, codings := range [][2]string{{"identity", "gzip"}, {"gzip", "identity"}} {
			twice := wazerohost.Headers{{":path", "/v1/completions"}, {"content-encoding", codings[0]},
				{"content-encoding", codings[1]}}
			wantError(t, refuses.workers[0].requests.Request(twice, false), 415, "encoded_body")
		}
	})
}

// TestManagementPaths: nobody reaches an engine's management, unless the operator wants that.
func TestManagementPaths(t *testing.T) {
	paths := []string{"/v1/load_lora_adapter", "/sleep?level=2", "/%73leep", "/sleep/", "/x/../collective_rpc",
		"/flush_cache", "/update_weights_from_disk"}
	m := modes[2]
	refuses := newGateway(t, m, 1, m.configuration(roles, ""))
	refuses.publish(rolesPool())
	passes := newGateway(t, m, 1, m.configuration(roles, `"management":"pass",`))
	passes.publish(rolesPool())
	for _, path := range paths {
		for _, method := range []string{"POST", "GET"} {
			headers := wazerohost.Headers{{":path", path}, {":method", method}}
			wantError(t, refuses.workers[0].requests.Request(headers, method == "GET"), 403, "management_path")
			s := passes.workers[0].requests.Request(headers, true)
			if got := passes.ranked(s); got != address(0) && got != address(2) {
				t.Errorf("%s %s: got %q, want any server that passes the filter", method, path, got)
			}
			s.Finish()
		}
	}
}

// TestConnect: a CONNECT has no end that could be waited for.
func TestConnect(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		g.publish(newPool(0))
		wantError(t, g.workers[0].requests.Request(
			wazerohost.Headers{{":method", "CONNECT"}, {":authority", "6.6.6.6:6"}}, false), 405, "connect")
	})
}

// TestUnreadRequestsObey: a request that is not read obeys filters, saturation and the models that servers list, and
// counts as in flight when a model works for it.
func TestUnreadRequestsObey(t *testing.T) {
	const byLeases = `{"plugins":[{"type":"decode-filter"},{"type":"active-request-scorer"}]}`
	form := wazerohost.Headers{{":path", "/v1/audio/transcriptions"},
		{"content-type", "multipart/form-data; boundary=x"}}
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byLeases, ""))
		p := rolesPool()
		p.Topology.Endpoints[2].Models = []string{"m"}
		p.Topology.Endpoints[0].Models = []string{"n"}
		g.publish(p)
		w := g.workers[0]
		got := g.distinct(20,
			func() *wazerohost.Stream { return w.requests.Request(wazerohost.Headers{{":path", "/metrics"}}, true) })
		if want := address(0) + " " + address(2); strings.Join(got, " ") != want {
			t.Errorf("endpoints: got %q, want %q", got, want)
		}
		first := w.requests.Request(form, false)
		second := w.requests.Request(form, false)
		first.Body([]byte("--x--"), true)
		second.Body([]byte("--x--"), true)
		if a, b := g.ranked(first), g.ranked(second); a == b {
			t.Errorf("two forms at once: both went to %q, want one to each server", a)
		}
	})
}

// TestUnreadRequestsAreShed: priority below 0 counts for what is not read, too.
func TestUnreadRequestsAreShed(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	p := newPool(99, 99)
	p.Topology.Objectives = append(p.Topology.Objectives, snapshot.Objective{Name: "batch", Priority: -1})
	g.publish(p)
	headers := wazerohost.Headers{{":path", "/v1/audio/transcriptions"}, {"x-gateway-inference-objective", "batch"}}
	wantError(t, g.workers[0].requests.Request(headers, false), 429, "shed")
	s := g.workers[0].requests.Request(headers[:1], true)
	if !s.Sent() {
		t.Errorf("without the objective: got %v, want it sent", s)
	}
}

// TestModelOfThePath: where the body names no model, the path's may.
func TestModelOfThePath(t *testing.T) {
	const models = `{"featureGates":["dataLayer"],"plugins":[{"type":"queue-scorer"},{"type":"models-data-source"},{"type":"model-server-protocol-models"}],
		"data":{"sources":[{"pluginRef":"models-data-source","extractors":[{"pluginRef":"model-server-protocol-models"}]}]}}`
	m := modes[2]
	g := newGateway(t, m, 1, m.configuration(models, ""))
	p := newPool(0, 9)
	p.Topology.Endpoints[0].Models = []string{"a"}
	p.Topology.Endpoints[1].Models = []string{"org/b"}
	g.publish(p)
	w := g.workers[0]
	for path, want := range map[string]string{"/v1/models/a": address(0), "/v1/models/org%2Fb": address(1),
		"/v1/models/org/b?x": address(1)} {
		for range 5 {
			g.wantRanked(w.requests.Request(wazerohost.Headers{{":path", path}}, true), want)
		}
	}
	for path, want := range map[string]string{"/v2/models/a/generate": address(0), "/generate": address(0)} {
		s := w.requests.Request(wazerohost.Headers{{":path", path}}, false)
		s.Body([]byte(`{"text":"hello"}`), true)
		g.wantRanked(s, want)
	}
}

// TestHelpersAreNotInFlight: a request for which no model works is no load.
func TestHelpersAreNotInFlight(t *testing.T) {
	m := modes[2]
	g := newGateway(t, m, 1, m.configuration(`{"plugins":[{"type":"active-request-scorer"}]}`, ""))
	g.publish(newPool(0, 0))
	w := g.workers[0]
	for range 10 {
		s := w.requests.Request(wazerohost.Headers{{":path", "/tokenize"}}, false)
		s.Body([]byte(completion), true)
		if !s.Sent() {
			t.Fatalf("a helper: %v", s)
		}
	}
	if got := g.events(journal.Decision); len(got) != 0 { // in flight they would be spread evenly, too
		t.Errorf("ten helpers: got %d decisions, want none", len(got))
	}
	a, b := w.ask(), w.ask()
	if g.ranked(a) == g.ranked(b) {
		t.Errorf("two completions beside ten helpers: both went to %q, want one to each server", g.ranked(a))
	}
}

// TestHostCalls bounds what a request costs in calls of the host, the journal's included, with the configuration that
// is shipped: one that comes alone, and one of many.
func TestHostCalls(t *testing.T) {
	for _, test := range []struct {
		mode        mode
		alone, busy int
	}{{modes[0], 20, 16}, {modes[1], 19, 15}, {modes[2], 19, 15}, {modes[3], 18, 14}} {
		t.Run(test.mode.String(), func(t *testing.T) {
			g := newGateway(t, test.mode, 1, test.mode.configuration(shipped.JSON(), ""))
			g.publish(newPool(1, 0))
			w := g.workers[0]
			ask := func() {
				s := w.ask([2]string{"user-agent", "x"}, [2]string{"accept", "*/*"}, [2]string{"x-request-id", "1"})
				s.SetServer(address(1))
				s.Respond(wazerohost.Headers{{":status", "200"}, {"content-type", "application/json"}}, false)
				s.RespondBody([]byte(`{"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`), true)
			}
			bound := func(name string, most int) {
				before, calls := w.HostCalls(), 0
				ask()
				var made []string
				for name, n := range w.HostCalls() {
					if n -= before[name]; n > 0 {
						calls += n
						made = append(made, fmt.Sprint(name, " ", n))
					}
				}
				slices.Sort(made)
				if calls > most {
					t.Errorf("%s: got %d calls, want at most %d:\n%s", name, calls, most, strings.Join(made, "\n"))
				}
				t.Log(name, calls, made)
			}
			for range 3 {
				ask()
			}
			bound("alone", test.alone)
			g.makeBusy(w, ask)
			bound("one of many", test.busy)
		})
	}
}

// TestNextAddresses: an ORIGINAL_DST cluster learns where to try next, as far as the headers are still here.
func TestNextAddresses(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1,
			m.configuration(
				`{"plugins":[{"type":"queue-scorer"},{"type":"max-score-picker","parameters":{"maxNumOfEndpoints":4}}]}`, ""))
		g.publish(newPool(3, 0, 2, 1))
		s := g.workers[0].ask(forged("x-pintle-second", "x-pintle-third")...)
		g.wantRanked(s, address(1), address(3), address(2), address(0))
		want := ""
		if m.hold == "pause" && m.destination == "original-dst" {
			want = address(3) + " " + address(2)
		}
		h := s.UpstreamHeaders()
		if got := strings.Join(append(h.Values("x-pintle-second"), h.Values("x-pintle-third")...), " "); got != want {
			t.Errorf("next addresses: got %q, want %q", got, want)
		}
	})
}
