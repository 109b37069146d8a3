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
	kind := "application/json"
	if streamed {
		kind = "text/event-stream"
	}
	s.Respond(wazerohost.Headers{{":status", "200"}, {"content-type", kind}}, false)
	const usage = `"usage":{"prompt_tokens":500,"completion_tokens":20,"total_tokens":520}}`
	if streamed {
		for range streamedEvents {
			s.RespondBody([]byte(`data: {"choices":[{"index":0,"delta":{"content":"a"}}]}`+"\n\n"), false)
		}
		s.RespondBody([]byte(`data: {"choices":[],`+usage+"\n\ndata: [DONE]\n\n"), false)
	} else {
		s.RespondBody([]byte(`{"choices":[{"message":{"role":"assistant","content":"a"}}],`+usage), false)
	}
	s.RespondBody(nil, true)
	s.Finish()
}

// mostCalls are the calls between Envoy and the module that a request may cost with the shipped configuration, by their
// kind: the module's of the host, then the host's of the module. docs/performance.md has the same table. The columns are
// those of callCases.
var mostCalls = []struct {
	name string
	most [4]int
}{
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
			sum := 0
			for name, n := range w.calls() {
				n -= before[name]
				sum += n
				i := slices.IndexFunc(mostCalls, func(c struct {
					name string
					most [4]int
				}) bool {
					return c.name == name
				})
				if n > 0 && (i < 0 || n > mostCalls[i].most[column]) {
					t.Errorf("%s: got %d calls, which is more than in the table", name, n)
				}
			}
			t.Log("calls in sum:", sum)
		})
	}
}

// calls are those of both directions since the VM's start, by their kind.
func (w *worker) calls() map[string]int {
	all := w.HostCalls()
	maps.Copy(all, w.GuestCalls())
	return all
}
