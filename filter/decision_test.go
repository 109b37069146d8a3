package main_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/snapshot"
)

func TestLeastLoadedIsChosen(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		for best := range 5 {
			p := newPool(9, 9, 9, 9, 9)
			p.Load.Endpoints[best].WaitingRequests = 3
			g.publish(p)
			s := g.workers[0].ask()
			g.wantRanked(s, address(best))
			if got := string(s.UpstreamBody()); got != completion || !s.Complete() {
				t.Errorf("body upstream: got %q, complete %v, want it unchanged", got, s.Complete())
			}
			if !s.Finish() {
				t.Errorf("the response does not end: %v", s)
			}
		}
	})
}

func TestDefaultConfiguration(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	p := newPool(5, 1, 5)
	p.Load.Endpoints[0].KVCacheUsage = 0.9
	g.publish(p)
	for _, configuration := range []string{"{}", `{"config":{}}`} {
		plugin := startPlugin(t, g.workers[0].Worker, wazerohost.PluginConfig{Configuration: configuration})
		w := &worker{Worker: g.workers[0].Worker, requests: plugin}
		g.wantRanked(w.ask(), address(1))
	}
}

func TestRankedList(t *testing.T) {
	const three = `{"plugins":[{"type":"queue-scorer"},{"type":"max-score-picker","parameters":{"maxNumOfEndpoints":3}}]}`
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(three, ""))
		p := newPool(4, 1, 3, 2)
		p.Topology.Endpoints[3].Address = "[fd00::4]:8000"
		g.publish(p)
		g.wantRanked(g.workers[0].ask(), address(1), "[fd00::4]:8000", address(2))
		g.publish(newPool(2, 1))
		g.wantRanked(g.workers[0].ask(), address(1), address(0))
	})
}

// forged are headers by which a client would choose the upstream itself.
func forged(names ...string) [][2]string {
	var headers [][2]string
	for _, name := range names {
		headers = append(headers,
			[2]string{name, "6.6.6.6:6"}, [2]string{strings.ToUpper(name), "6.6.6.7:6"},
			[2]string{strings.ToUpper(name[:3]) + name[3:], "6.6.6.8:6,6.6.6.9:6"}, [2]string{name, ""})
	}
	return headers
}

// exchanges are requests of every kind that leaves for a model server.
var exchanges = []struct {
	name    string
	headers wazerohost.Headers
	end     bool
	frames  []string
	trailer bool
	judged  bool // by its body
}{
	{"completion", wazerohost.Headers{{":path", "/v1/completions"}}, false, []string{completion}, false, true},
	{"completion with a length", wazerohost.Headers{{":path", "/v1/completions"}, {"content-length", "30"}}, false,
		[]string{completion}, false, true},
	{"completion with a query", wazerohost.Headers{{":path", "/v1/completions?a=b"}}, false, []string{completion},
		false, true},
	{"completion under a prefix", wazerohost.Headers{{":path", "/openai/v1/completions"}}, false, []string{completion},
		false, true},
	{"chat", wazerohost.Headers{{":path", "/v1/chat/completions"}}, false,
		[]string{`{"messages":[{"role":"user","content":"x"}],"model":"m"}`}, false, true},
	{"two frames", wazerohost.Headers{{":path", "/v1/completions"}}, false, []string{completion[:9], completion[9:]},
		false, true},
	{"frames of one byte", wazerohost.Headers{{":path", "/v1/completions"}}, false, strings.Split(completion, ""),
		false, true},
	{"an empty last frame", wazerohost.Headers{{":path", "/v1/completions"}}, false, []string{completion, ""}, false,
		true},
	{"empty frames between", wazerohost.Headers{{":path", "/v1/completions"}}, false,
		[]string{"", completion[:5], "", completion[5:], ""}, false, true},
	{"trailers", wazerohost.Headers{{":path", "/v1/completions"}}, false, []string{completion}, true, true},
	{"trailers after many frames", wazerohost.Headers{{":path", "/v1/completions"}}, false,
		strings.Split(completion, ""), true, true},
	{"identity", wazerohost.Headers{{":path", "/v1/completions"}, {"content-encoding", "Identity"}}, false,
		[]string{completion}, false, true},
	{"GET", wazerohost.Headers{{":path", "/v1/models"}}, true, nil, false, false},
	{"GET on a known path", wazerohost.Headers{{":path", "/v1/completions"}}, true, nil, false, false},
	{"GET with a body", wazerohost.Headers{{":method", "GET"}, {":path", "/v1/completions"}}, false,
		[]string{completion}, false, false},
	{"POST without a body", wazerohost.Headers{{":method", "POST"}, {":path", "/v1/completions"}}, true, nil, false,
		false},
	{"an empty body by one frame", wazerohost.Headers{{":path", "/v1/completions"}}, false, []string{""}, false, false},
	{"an empty body by frames", wazerohost.Headers{{":path", "/v1/completions"}}, false, []string{"", "", ""}, false,
		false},
	{"an empty body by trailers", wazerohost.Headers{{":path", "/v1/completions"}}, false, nil, true, false},
	{"a length of zero", wazerohost.Headers{{":path", "/v1/completions"}, {"content-length", "0"}}, false, []string{""},
		false, false},
	{"another path", wazerohost.Headers{{":path", "/metrics"}}, false, []string{"not", " JSON"}, false, false},
	{"another path with trailers", wazerohost.Headers{{":path", "/v2/what"}}, false, []string{"x"}, true, false},
	{"one model", wazerohost.Headers{{":path", "/v1/models/a/v1/completions"}}, false, []string{completion}, false,
		false},
	{"a form", wazerohost.Headers{{":path", "/v1/audio/transcriptions"}, {"content-encoding", "gzip"}}, false,
		[]string{"--x", "--x--"}, false, false},
	{"a helper", wazerohost.Headers{{":path", "/tokenize"}}, false, []string{`{"prompt":"x"}`}, false, false},
	{"DELETE", wazerohost.Headers{{":method", "DELETE"}, {":path", "/v1/responses"}}, true, nil, false, false},
	{"DELETE with a body", wazerohost.Headers{{":method", "DELETE"}, {":path", "/v1/responses"}}, false, []string{"{}"},
		false, false},
	{"PUT", wazerohost.Headers{{":method", "PUT"}, {":path", "/v1/completions"}}, false, []string{completion}, false,
		false},
	{"OPTIONS", wazerohost.Headers{{":method", "OPTIONS"}, {":path", "*"}}, true, nil, false, false},
}

func TestEveryKindOfRequest(t *testing.T) {
	names := []string{"x-envoy-original-dst-host", "x-gateway-destination-endpoint", "mif-prefill-endpoint",
		"mif-encode-endpoints"}
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(disaggregated, ""))
		p := disaggregatedPool()
		g.publish(p)
		for _, tc := range exchanges {
			t.Run(tc.name, func(t *testing.T) {
				s := g.workers[0].requests.Request(append(slices.Clone(tc.headers), forged(names...)...), tc.end)
				for i, frame := range tc.frames {
					s.Body([]byte(frame), i == len(tc.frames)-1 && !tc.trailer)
				}
				if tc.trailer {
					s.Trailers(wazerohost.Headers{{"x-envoy-original-dst-host", "6.6.6.6:6"}})
				}
				if !s.Complete() || string(s.UpstreamBody()) != strings.Join(tc.frames, "") {
					t.Errorf("upstream: got complete %v and %q, want all of it (%v %s)", s.Complete(), s.UpstreamBody(),
						s.ResponseHeaders(), s.ResponseBody())
				}
				if text := fmt.Sprint(s.UpstreamHeaders()); strings.Contains(text, "6.6.6") {
					t.Errorf("a forged header is left: %v", text)
				}
				if tc.judged {
					g.wantRanked(s, address(1))
				} else if i := slices.IndexFunc(
					p.Topology.Endpoints, func(e snapshot.Endpoint) bool { return e.Address == g.ranked(s) }); i < 0 {
					t.Errorf("endpoint: got %q, want any of the pool's", g.ranked(s))
				}
				if got, want := s.UpstreamHeaders().Has("mif-prefill-endpoint"), tc.judged; got != want {
					t.Errorf("prefill header: got %v, want %v", got, want)
				}
				if !s.Finish() || s.LocalReply() != nil {
					t.Errorf("the exchange does not end in order: %v, reply %+v", s, s.LocalReply())
				}
			})
		}
	})
}

// TestForgedHeadersOnHeldRequests looks at what is left of forged headers where nothing replaces them.
func TestForgedHeadersOnHeldRequests(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		g.publish(newPool(1, 0))
		s := g.workers[0].ask(forged("x-envoy-original-dst-host", "x-gateway-destination-endpoint")...)
		g.wantRanked(s, address(1))
		h := s.UpstreamHeaders()
		if got := h.Values("x-gateway-destination-endpoint"); len(got) != 1 {
			t.Errorf("x-gateway-destination-endpoint: got %q, want one", got)
		}
		if got := h.Values("x-envoy-original-dst-host"); len(got) > 1 ||
			strings.Contains(strings.Join(got, ","), "6.6.6") {
			t.Errorf("x-envoy-original-dst-host: got %q, want none of the client's", got)
		}
	})
}

func TestUnjudgedRequestsSpread(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		g.publish(newPool(0, 50, 99))
		got := g.distinct(60, func() *wazerohost.Stream {
			return g.workers[0].requests.Request(wazerohost.Headers{{":path", "/v1/models"}}, true)
		})
		if want := []string{address(0), address(1), address(2)}; !slices.Equal(got, want) {
			t.Errorf("endpoints of 60 requests: got %q, want %q", got, want)
		}
	})
}

// TestUnjudgedRequestsFailOver: where one of these goes by chance, another endpoint stands behind it.
func TestUnjudgedRequestsFailOver(t *testing.T) {
	const two = `{"plugins":[{"type":"queue-scorer"},{"type":"max-score-picker","parameters":{"maxNumOfEndpoints":2}}]}`
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(two, ""))
		g.publish(newPool(0, 50))
		got := g.distinct(60, func() *wazerohost.Stream {
			return g.workers[0].requests.Request(wazerohost.Headers{{":path", "/v1/models"}}, true)
		})
		if want := []string{address(0) + "," + address(1), address(1) + "," + address(0)}; !slices.Equal(got, want) {
			t.Errorf("endpoints of 60 requests: got %q, want %q", got, want)
		}
	})
}

func TestModelRewriteWithTrailers(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		p := newPool(0)
		p.Rewrites = []snapshot.Rewrite{{Targets: []snapshot.RewriteTarget{{Model: "general", Weight: 1}}}}
		g.publish(p)
		s := g.workers[0].requests.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false)
		s.Body([]byte(completion[:4]), false)
		s.Body([]byte(completion[4:]), false)
		s.Trailers(wazerohost.Headers{{"t", "1"}})
		g.wantRanked(s, address(0))
		if got, want := string(s.UpstreamBody()), strings.Replace(completion, `"m"`, `"general"`, 1); got != want ||
			s.UpstreamTrailers().Get("t") != "1" {
			t.Errorf("upstream: got %q and trailers %v, want %q and t", got, s.UpstreamTrailers(), want)
		}
	})
}

func TestWeightedRewrite(t *testing.T) {
	m := modes[2]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	p := newPool(0)
	p.Rewrites = []snapshot.Rewrite{{Models: []string{"m"},
		Targets: []snapshot.RewriteTarget{{Model: "a", Weight: 3}, {Model: "b", Weight: 1}, {Model: "c"}}}}
	g.publish(p)
	counts := map[string]int{}
	for range 400 {
		var body struct{ Model string }
		s := g.workers[0].ask()
		if err := json.Unmarshal(s.UpstreamBody(), &body); err != nil {
			t.Fatalf("body %q: %v", s.UpstreamBody(), err)
		}
		counts[body.Model]++
		s.Finish()
	}
	if a := counts["a"]; a < 250 || a > 350 || counts["b"] != 400-a {
		t.Errorf("models of 400 requests: got %v, want a about 300 times, b else, c never", counts)
	}
}
