package main_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/internal/shipped"
)

// streamedEvents are the tokens of a streamed answer in TestHostCalls, each a frame of its own.
const streamedEvents = 20

// askInFrames sends a request of 2 KB in the frames in which Envoy gives HTTP/1.1 to its filters: the end comes alone.
func askInFrames(w *worker, streamed bool) *wazerohost.Stream {
	body := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":%q}]}`, streamed,
		strings.Repeat("lorem ipsum ", 170))
	s := w.requests.Request(wazerohost.Headers{{":path", "/v1/chat/completions"}, {":method", "POST"},
		{"content-type", "application/json"}, {"content-length", fmt.Sprint(len(body))}, {"user-agent", "x"},
		{"accept", "*/*"}, {"x-request-id", "1"}}, false)
	s.Body([]byte(body), false)
	s.Body(nil, true)
	return s
}

// answerInFrames answers as a model server does through Envoy.
func answerInFrames(s *wazerohost.Stream, server string, streamed bool) {
	s.SetServer(server)
	const usage = `"usage":{"prompt_tokens":500,"completion_tokens":20,"total_tokens":520}}`
	if streamed {
		s.Respond(wazerohost.Headers{{"content-type", "text/event-stream"}}, false)
		for range streamedEvents {
			s.RespondBody([]byte(`data: {"choices":[{"index":0,"delta":{"content":"a"}}]}`+"\n\n"), false)
		}
		s.RespondBody([]byte(`data: {"choices":[],`+usage+"\n\ndata: [DONE]\n\n"), false)
	} else {
		whole := `{"choices":[{"message":{"role":"assistant","content":"a"}}],` + usage
		s.Respond(wazerohost.Headers{{"content-type", "application/json"},
			{"content-length", fmt.Sprint(len(whole))}}, false)
		s.RespondBody([]byte(whole), false)
	}
	s.RespondBody(nil, true)
	s.Finish()
}

// callBound is how often a kind of call may happen in each of callCases.
type callBound struct {
	name string
	most [4]int
}

// mostCalls are the calls between Envoy and the module that a request may cost with the shipped configuration: the
// module's of the host, then the host's of the module. docs/performance.md has the same table.
var mostCalls = []callBound{
	{"env.proxy_get_header_map_pairs", [4]int{2, 2, 2, 2}},
	{"env.proxy_replace_header_map_value", [4]int{2, 2, 0, 0}},
	{"env.proxy_remove_header_map_value", [4]int{0, 0, 1, 1}},
	{"env.proxy_get_buffer_bytes", [4]int{2, 22, 2, 22}},
	{"env.proxy_get_property", [4]int{2, 2, 2, 2}},
	{"env.proxy_set_property", [4]int{2, 2, 3, 3}},
	{"env.proxy_call_foreign_function", [4]int{0, 0, 1, 1}},
	{"env.proxy_get_shared_data", [4]int{3, 4, 3, 4}},
	{"env.proxy_set_shared_data", [4]int{2, 3, 2, 3}},
	{"env.proxy_record_metric", [4]int{1, 1, 1, 1}},
	{"wasi_snapshot_preview1.clock_time_get", [4]int{3, 4, 3, 4}},
	{"malloc", [4]int{9, 30, 9, 30}},
	{"proxy_on_context_create", [4]int{1, 1, 1, 1}},
	{"proxy_on_request_headers", [4]int{1, 1, 1, 1}},
	{"proxy_on_request_body", [4]int{2, 2, 2, 2}},
	{"proxy_on_response_headers", [4]int{1, 1, 1, 1}},
	{"proxy_on_response_body", [4]int{2, 22, 2, 22}},
	{"proxy_on_log", [4]int{1, 1, 1, 1}},
	{"proxy_on_delete", [4]int{1, 1, 1, 1}},
}

// callCases are how a request is held, and whether its answer is streamed.
var callCases = [4]struct {
	hold     string
	streamed bool
}{{"pause", false}, {"pause", true}, {"buffer", false}, {"buffer", true}}

// TestHostCalls: no kind of call becomes more.
func TestHostCalls(t *testing.T) {
	for column, tc := range callCases {
		t.Run(fmt.Sprintf("%s, streamed %v", tc.hold, tc.streamed), func(t *testing.T) {
			m := mode{tc.hold, "original-dst"}
			g := newGateway(t, m, 1, m.configuration(shipped.JSON(), ""))
			g.publish(newPool(1, 0, 0, 0))
			w := g.workers[0]
			ask := func() {
				s := askInFrames(w, tc.streamed)
				server, _, _ := strings.Cut(g.ranked(s), ",")
				answerInFrames(s, server, tc.streamed)
			}
			for range 3 {
				ask()
			}
			before := w.calls()
			ask()
			for name, n := range w.calls() {
				n -= before[name]
				i := slices.IndexFunc(mostCalls, func(c callBound) bool { return c.name == name })
				if n > 0 && (i < 0 || n > mostCalls[i].most[column]) {
					t.Errorf("%s: got %d calls, which is more than in the table", name, n)
				}
			}
		})
	}
}

// calls are those of both directions since the VM's start, by their kind.
func (w *worker) calls() map[string]int {
	all := w.HostCalls()
	maps.Copy(all, w.GuestCalls())
	return all
}
