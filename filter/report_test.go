package main_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// reported is what logs and traces can tell of a stream, in the order of the names.
func reported(t testing.TB, s *wazerohost.Stream) string {
	t.Helper()
	var message structpb.Struct
	if err := proto.Unmarshal([]byte(s.Property("pintle")), &message); err != nil {
		t.Fatalf("%q: %v", s.Property("pintle"), err)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(message.Fields)) {
		parts = append(parts, fmt.Sprint(name, " ", message.Fields[name].AsInterface()))
	}
	return strings.Join(parts, ", ")
}

// usageBody is an answer that reports its tokens.
const usageBody = `{"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3}}}`

// TestReport: what is told of a request grows as it goes on, and nothing of an earlier one is left in it.
func TestReport(t *testing.T) {
	const ask = `{"model":"m1","prompt":"hello"}`
	answer := func(s *wazerohost.Stream, by int) {
		s.SetServer(address(by))
		s.Respond(wazerohost.Headers{{":status", "200"}}, false)
		s.RespondBody([]byte(usageBody), true)
	}
	tests := []struct {
		name, body string
		play       func(g *gateway, s *wazerohost.Stream)
		want       string
	}{
		{"decided", ask, func(*gateway, *wazerohost.Stream) {},
			"endpoint default/vllm-0, model m1, predicted_cached_tokens 0, profile default, served_model m1"},
		{"answered", ask, func(_ *gateway, s *wazerohost.Stream) { answer(s, 0) },
			"cached_tokens 3, endpoint default/vllm-0, input_tokens 7, model m1, output_tokens 2, " +
				"predicted_cached_tokens 0, profile default, rank 1, served_model m1, ttft_ms 0.001"},
		{"answered by Envoy", ask, func(_ *gateway, s *wazerohost.Stream) {
			s.SetProperty("response.code_details", []byte("upstream_reset_before_response_started{connection_failure}"))
			s.Respond(wazerohost.Headers{{":status", "503"}}, false)
			s.RespondBody([]byte("upstream connect error"), true)
		}, "endpoint default/vllm-0, model m1, predicted_cached_tokens 0, profile default, served_model m1"},
		{"answered, and nothing said of caches", ask, func(_ *gateway, s *wazerohost.Stream) {
			s.SetServer(address(0))
			s.Respond(wazerohost.Headers{{":status", "200"}}, false)
			s.RespondBody([]byte(`{"usage":{"prompt_tokens":7,"completion_tokens":2}}`), true)
		}, "endpoint default/vllm-0, input_tokens 7, model m1, output_tokens 2, predicted_cached_tokens 0, " +
			"profile default, rank 1, served_model m1, ttft_ms 0.001"},
		{"answered, and no tokens told", ask, func(_ *gateway, s *wazerohost.Stream) {
			s.SetServer(address(0))
			s.Respond(wazerohost.Headers{{":status", "200"}}, false)
			s.RespondBody([]byte(`{}`), true)
		}, "endpoint default/vllm-0, model m1, predicted_cached_tokens 0, profile default, rank 1, served_model m1, " +
			"ttft_ms 0.001"},
		{"answered without a body", ask, func(_ *gateway, s *wazerohost.Stream) {
			s.SetServer(address(0))
			s.Respond(wazerohost.Headers{{":status", "200"}}, true)
		}, "endpoint default/vllm-0, model m1, predicted_cached_tokens 0, profile default, rank 1, served_model m1"},
		{"refused", `{"model":`, func(*gateway, *wazerohost.Stream) {}, "refused invalid_body"},
		{"a model that nobody has", `{"model":"nobody's","prompt":"x"}`, func(*gateway, *wazerohost.Stream) {},
			"model nobody's, refused model_not_found, served_model nobody's"},
	}
	eachMode(t, func(t *testing.T, m mode) {
		document := `{"plugins":[{"type":"prefix-cache-scorer"},{"type":"queue-scorer"},` +
			`{"type":"max-score-picker","parameters":{"maxNumOfEndpoints":2}}],"schedulingProfiles":[{"name":"default","plugins":[` +
			`{"pluginRef":"prefix-cache-scorer"},{"pluginRef":"queue-scorer"},{"pluginRef":"max-score-picker"}]}]}`
		g := newGateway(t, m, 1, m.configuration(document, ""))
		p := newPool(0, 5)
		for i := range p.Topology.Endpoints {
			p.Topology.Endpoints[i].Models = []string{"m1"}
		}
		g.publish(p)
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				s := g.workers[0].askBody(tc.body)
				tc.play(g, s)
				got := reported(t, s)
				s.Finish()
				if got != tc.want {
					t.Errorf("got %s, want %s", got, tc.want)
				}
			})
		}
		s := g.workers[0].askBody(ask)
		answer(s, 1)
		got := reported(t, s)
		if !strings.Contains(got, "endpoint default/vllm-1, ") || !strings.Contains(got, "rank 2, ") {
			t.Errorf("answered by the second: got %s", got)
		}
		s.Finish()
		// The path is the request's own, whatever came while its body was on the way.
		s = g.workers[0].requests.Request(
			wazerohost.Headers{{":path", "/v2/models/" + strings.Repeat("n", 200) + "/generate"}}, false)
		other := g.workers[0].requests.Request(
			wazerohost.Headers{{":path", "/v1/completions"}, {"authorization", "Bearer other"}}, false)
		s.Body(nil, true)
		if got := reported(t, s); !strings.HasSuffix(got, "model "+strings.Repeat("n", 200)) {
			t.Errorf("a model in the path: got %q", got)
		}
		other.Abort()
		wantNamed(t, g)
		s = g.workers[0].askBody(ask)
		s.Abort()
		if got := reported(t, s); strings.Contains(got, "tokens 7") || strings.Contains(got, "rank") {
			t.Errorf("left by the client: got %s", got)
		}
		s = g.workers[0].askBody(ask)
		s.SetServer(address(0))
		s.Respond(wazerohost.Headers{{":status", "200"}}, false)
		s.RespondBody([]byte("data: {}\n\n"), false)
		s.Abort()
		if got := reported(t, s); !strings.Contains(got, "rank 1, ") || !strings.Contains(got, "ttft_ms 0.001") {
			t.Errorf("left while it was answered: got %s, want rank and ttft_ms", got)
		}
	})
}

// wantNamed: whatever a client calls its model, what is told of the request can be read.
func wantNamed(t *testing.T, g *gateway) {
	t.Helper()
	long := strings.Repeat("\u6f22", 100)
	for _, tc := range []struct{ name, path, body, want string }{
		{"no UTF-8", "/v2/models/%FFm1%C3/generate", "", "endpoint default/vllm-0, model m1"},
		{"nothing but that", "/v2/models/%FF/generate", "", "endpoint default/vllm-0"},
		{"cut within a letter", "/v1/completions", `{"model":"` + long + `","prompt":"x"}`,
			"model " + long[:255] + ", refused model_not_found, served_model " + long[:255]},
		{"cut between letters", "/v1/completions", `{"model":"a` + long + `","prompt":"x"}`,
			"model a" + long[:255] + ", refused model_not_found, served_model a" + long[:255]},
	} {
		s := g.workers[0].requests.Request(
			wazerohost.Headers{{":path", tc.path}, {"content-type", "application/json"}}, false)
		s.Body([]byte(tc.body), true)
		// Chance sends requests without a body to either endpoint.
		if got := strings.Replace(reported(t, s), "vllm-1", "vllm-0", 1); got != tc.want {
			t.Errorf("a model's name, %s: got %q, want %q", tc.name, got, tc.want)
		}
		s.Finish()
	}
}

// TestReportOfAllLengths: names of any length can be read, up to 256 bytes of them, and which strategy decided.
func TestReportOfAllLengths(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byStrategy, ""))
	g.publish(newPool(0))
	for n := 1; n <= 258; n++ {
		name := strings.Repeat("n", min(n, 256))
		s := g.workers[0].askBody(`{"model":"`+strings.Repeat("n", n)+`","prompt":"x"}`,
			[2]string{"routing-strategy", "queue"})
		want := "endpoint default/vllm-0, model " + name + ", predicted_cached_tokens 0, profile queue, " +
			"served_model " + name + ", strategy queue"
		if got := reported(t, s); got != want {
			t.Fatalf("a name of %d letters: got %s, want %s", n, got, want)
		}
		s.Finish()
	}
}

// TestReportOfAServerBeyondTheList: who was none of the decision's choices has no rank.
func TestReportOfAServerBeyondTheList(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	g.publish(newPool(0, 5))
	s := g.workers[0].ask()
	s.SetServer(address(1))
	s.Respond(nil, true)
	want := "endpoint default/vllm-0, model m, predicted_cached_tokens 0, profile default, served_model m"
	if got := reported(t, s); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestReportIsWholeWithTheAnswer: what logs and traces are told is complete once the answer has come to its end, even
// if its client has yet to take that.
func TestReportIsWholeWithTheAnswer(t *testing.T) {
	for name, answer := range map[string]func(s *wazerohost.Stream){
		"headers alone": func(s *wazerohost.Stream) { s.Respond(nil, true) },
		"a body": func(s *wazerohost.Stream) {
			s.Respond(nil, false)
			s.RespondBody([]byte(usageBody), true)
		},
		"trailers": func(s *wazerohost.Stream) {
			s.Respond(nil, false)
			s.RespondBody([]byte(usageBody), false)
			s.RespondTrailers(wazerohost.Headers{{"x-end", "1"}})
		},
	} {
		m := modes[0]
		g := newGateway(t, m, 1, m.configuration(byPrefix, ""))
		g.publish(newPool(0))
		s := g.workers[0].requests.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false, wazerohost.Slow)
		s.Body([]byte(completion), true)
		s.SetServer(address(0))
		answer(s)
		got := reported(t, s)
		if s.Take(); got != reported(t, s) || !strings.Contains(got, "rank 1") {
			t.Errorf("%s: got %s with the answer, and %s when the client has it", name, got, reported(t, s))
		}
	}
}
