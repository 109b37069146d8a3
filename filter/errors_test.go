package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/snapshot"
)

func TestBodiesThatAreRefused(t *testing.T) {
	tests := []struct{ name, body, reason string }{
		{"not JSON", "hello", "invalid_body"},
		{"white space", " \n\t", "invalid_body"},
		{"cut short", `{"model":"m"`, "invalid_body"},
		{"no object", `["model"]`, "invalid_body"},
		{"data after it", completion + "}", "invalid_body"},
		{"a byte order mark", "\xef\xbb\xbf" + completion, "invalid_body"},
		{"no UTF-8", `{"model":"m","prompt":"` + "\xff\xfe" + `"}`, "invalid_body"},
		{"a control character", `{"model":"m","prompt":"` + "\x00" + `"}`, "invalid_body"},
		{"a bad escape", `{"model":"m","prompt":"\x"}`, "invalid_body"},
		{"quotes and backslashes", `"\"` + "\u2028\x7f", "invalid_body"},
		{"nested too deep", strings.Repeat("[", 9999), "invalid_body"},
		{"no model", `{"prompt":"x"}`, "model_missing"},
		{"an empty model", `{"model":""}`, "model_missing"},
		{"a model that is a number", `{"model":7}`, "model_missing"},
		{"a model that is null", `{"model":null}`, "model_missing"},
		{"a model with odd characters that is too long", `{"model":"` + strings.Repeat(`\"<é\u0000`, 400) + `"}`,
			"model_missing"},
	}
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		g.publish(newPool(1, 0))
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				for _, frame := range []int{1 << 20, 3} {
					s := g.workers[0].requests.Request(wazerohost.Headers{{":path", "/v1/chat/completions"}}, false)
					sendFrames(s, []byte(tc.body), frame)
					e := wantError(t, s, 400, tc.reason)
					if e.Error.Type != "invalid_request_error" || e.Error.Param != nil ||
						s.ResponseHeaders().Has("retry-after") {
						t.Errorf("error: got %+v and %v, want invalid_request_error, param null, no retry-after",
							e.Error, s.ResponseHeaders())
					}
				}
				s := g.workers[0].requests.Request(wazerohost.Headers{{":path", "/v1/chat/completions"}}, false)
				s.Body([]byte(tc.body), false)
				s.Trailers(wazerohost.Headers{{"t", "1"}})
				wantError(t, s, 400, tc.reason)
				g.wantRanked(g.workers[0].ask(), address(1))
			})
		}
	})
}

// modelAware sends a request only to servers that list its model.
const modelAware = `{"featureGates":["dataLayer"],
	"plugins":[{"type":"queue-scorer"},{"type":"models-data-source"},{"type":"model-server-protocol-models"}],
	"schedulingProfiles":[{"name":"default","plugins":[{"pluginRef":"queue-scorer"}]}],
	"data":{"sources":[{"pluginRef":"models-data-source","extractors":[{"pluginRef":"model-server-protocol-models"}]}]}}`

func TestModelNotFound(t *testing.T) {
	for name, document := range map[string]string{"with an extractor": modelAware, "without": byQueue} {
		t.Run(name, func(t *testing.T) { testModelNotFound(t, document) })
	}
}

func testModelNotFound(t *testing.T, document string) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(document, ""))
		p := newPool(0, 5, 9)
		p.Topology.Endpoints[0].Models = []string{"a"}
		p.Topology.Endpoints[1].Models = []string{"a", "m"}
		p.Topology.Endpoints[2].Models = []string{"m"}
		p.Rewrites = []snapshot.Rewrite{
			{Models: []string{"gone"}, Targets: []snapshot.RewriteTarget{{Model: "nowhere", Weight: 1}}}}
		g.publish(p)
		w := g.workers[0]
		g.wantRanked(w.ask(), address(1))
		g.wantRanked(w.askBody(`{"model":"a"}`), address(0))
		g.wantRanked(w.askBody(`{"model":"x"}`, [2]string{"x-gateway-model-name-rewrite", "m"}), address(1))
		const unknown = "no model server serves the model "
		for _, tc := range []struct{ name, model, message string }{
			{"a name", `b`, unknown + `"b"`},
			{"rewritten", `gone`, unknown + `"nowhere", to which "gone" is rewritten`},
			{"odd characters", `\"\\\n\u0000é`, unknown + `"\"\\\n\x00é"`},
			{"a long name", strings.Repeat("a", 900), unknown + `"` + strings.Repeat("a", 100) + `"...`},
		} {
			e := wantError(t, w.askBody(`{"model":"`+tc.model+`"}`), 404, "model_not_found")
			if e.Error.Message != tc.message {
				t.Errorf("%s: got %q, want %q", tc.name, e.Error.Message, tc.message)
			}
		}
		wantError(t, w.ask([2]string{"x-gateway-model-name-rewrite", `q"\`}), 404, "model_not_found")
	})
}

func TestShed(t *testing.T) {
	const document = `{"plugins":[{"type":"queue-scorer"}],"saturationDetector":{"queueDepthThreshold":5,"kvCacheUtilThreshold":0.8,"metricsStalenessThreshold":"1s"}}`
	const header = "x-gateway-inference-objective"
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(document, ""))
		w := g.workers[0]
		publish := func(waiting ...uint32) {
			p := newPool(waiting...)
			p.Objectives = []snapshot.Objective{{Name: "batch", Priority: -1}, {Name: "chat", Priority: 5}}
			g.publish(p)
		}
		publish(0, 4)
		g.wantRanked(w.ask([2]string{header, "batch"}), address(0))
		publish(5, 9)
		wantError(t, w.ask([2]string{header, "batch"}), 429, "shed")
		framed := w.requests.Request(wazerohost.Headers{{":path", "/v1/completions"},
			{"X-Gateway-Inference-Objective", "batch"}}, false)
		sendFrames(framed, []byte(completion), 1)
		wantError(t, framed, 429, "shed")
		g.wantRanked(w.ask([2]string{header, "chat"}), address(0))
		g.wantRanked(w.ask([2]string{header, "unknown"}), address(0))
		g.wantRanked(w.ask(), address(0))
		publish(9, 1)
		wantError(t, w.ask([2]string{header, "batch"}), 429, "shed")
		publish(3, 1)
		g.wantRanked(w.ask([2]string{header, "batch"}), address(1))
		g.clock.Advance(1500e6)
		wantError(t, w.ask([2]string{header, "batch"}), 429, "shed")
		important := newPool(9, 9)
		important.Objectives = []snapshot.Objective{{Name: "batch", Priority: 1}}
		g.publish(important)
		if s := w.ask([2]string{header, "batch"}); !s.Sent() {
			t.Errorf("batch, important now: got %s, want it sent", s.ResponseBody())
		}
	})
}

func TestNoEndpoints(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		for _, state := range []string{"before the first snapshot", "with an empty pool"} {
			for _, s := range []*wazerohost.Stream{
				g.workers[0].ask(),
				g.workers[0].requests.Request(nil, true),
				g.workers[0].requests.Request(wazerohost.Headers{{":path", "/other"}}, false),
			} {
				e := wantError(t, s, 503, "no_endpoints")
				if e.Error.Type != "server_error" {
					t.Errorf("%s: type: got %q, want server_error", state, e.Error.Type)
				}
			}
			empty := g.workers[0].requests.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false)
			empty.Body(nil, true)
			wantError(t, empty, 503, "no_endpoints")
			g.publish(newPool())
		}
		wantError(t, g.workers[0].askBody("no JSON"), 400, "invalid_body")
		g.publish(newPool(1))
		g.wantRanked(g.workers[0].ask(), address(0))
	})
}

func TestFilteredOut(t *testing.T) {
	const document = `{"plugins":[{"type":"by-label","parameters":{"label":"zone","validValues":["here"]}}]}`
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(document, ""))
		g.publish(newPool(0, 1).label(0, "zone", "there"))
		wantError(t, g.workers[0].ask(), 503, "filtered_out")
		g.publish(newPool(0, 1).label(1, "zone", "here"))
		g.wantRanked(g.workers[0].ask(), address(1))
	})
}

// TestBodyOverTheLimit has Envoy answer with 413 in the middle of a body; the next request finds everything in order.
func TestBodyOverTheLimit(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		g.publish(newPool(1, 0))
		for range 3 {
			s := g.workers[0].requests.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false)
			frame := []byte(fmt.Sprintf(`{"model":"m","prompt":%q`, strings.Repeat("x", 3<<20)))
			for range 4 {
				if !s.Ended() {
					s.Body(frame, false)
				}
			}
			if got := s.ResponseHeaders().Get(":status"); got != "413" || s.Sent() || !s.Ended() {
				t.Errorf("answer: got %s, sent %v, ended %v, want 413 and ended", got, s.Sent(), s.Ended())
			}
			g.wantRanked(g.workers[0].ask(), address(1))
		}
	})
}

// TestModelsThatNobodyLists: a configuration that goes by the servers' models asks the sidecar for them, and says when
// none comes.
func TestModelsThatNobodyLists(t *testing.T) {
	const warning = "no endpoint lists its models"
	eachMode(t, func(t *testing.T, m mode) {
		for _, tc := range []struct {
			name, document, wants string
			listed                bool
			warnings              int
		}{
			{"wanted and never there", modelAware, "models", false, 2}, // by each of the two listeners
			{"wanted and there", modelAware, "models", true, 0},
			{"not wanted", byQueue, "", false, 0},
		} {
			t.Run(tc.name, func(t *testing.T) {
				g := newGateway(t, m, 1, m.configuration(tc.document, ""))
				p := newPool(0, 0)
				if tc.listed {
					p.Topology.Endpoints[1].Models = []string{"m"}
				}
				for range 4 {
					s := g.workers[0].post(p.message(t, g.next()))
					if got := s.ResponseHeaders().Get("x-pintle-wants"); s.ResponseHeaders().Get(":status") != "204" ||
						got != tc.wants {
						t.Errorf("answer %v: got %q wanted, want %q", s.ResponseHeaders(), got, tc.wants)
					}
					g.workers[0].Tick()
					g.clock.Advance(12 * time.Second)
				}
				warnings := 0
				for _, line := range g.host.Logs(wazerohost.Warn) {
					if strings.Contains(line.Text, warning) {
						warnings++
					}
				}
				if warnings != tc.warnings {
					t.Errorf("got %d warnings, want %d", warnings, tc.warnings)
				}
			})
		}
	})
}

// TestRefusalsOfADialect: where llm-d's picker would refuse, so does the filter, and says why in the same header.
func TestRefusalsOfADialect(t *testing.T) {
	const document = `{"apiVersion":"llm-d.ai/v1alpha1","kind":"EndpointPickerConfig","plugins":[
		{"type":"openai-parser"},{"type":"queue-scorer"},
		{"type":"label-selector-filter","parameters":{"matchLabels":{"no":"such"}}}],
		"requestHandler":{"parsers":[{"pluginRef":"openai-parser"}]}}`
	tests := []struct {
		name, path     string
		end            bool
		status         int
		reason, header string
	}{
		{"no server is left", "/v1/completions", false, 429, "filtered_out", "rejected-saturated"},
		{"a body of no parser", "/inference/v1/generate", false, 400, "no_parser", ""},
		{"no body, of no parser", "/inference/v1/generate", true, 429, "filtered_out", "rejected-saturated"},
	}
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(document, ""))
		g.publish(newPool(0))
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				s := g.workers[0].requests.Request(wazerohost.Headers{{":path", tc.path}}, tc.end)
				if !tc.end && !s.Ended() {
					s.Body([]byte(completion), true)
				}
				wantError(t, s, tc.status, tc.reason)
				if got := s.ResponseHeaders().Get("x-llm-d-request-dropped-reason"); got != tc.header {
					t.Errorf("x-llm-d-request-dropped-reason: got %q, want %q", got, tc.header)
				}
			})
		}
	})
}
