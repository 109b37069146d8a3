package main_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// virtual has the virtual model auto, behind which large is the better one as long as it is fast enough, and strict,
// which is refused when both are too slow.
const virtual = `{"plugins":[{"type":"queue-scorer"},{"type":"multi-factor-selector","parameters":{"decisions":[
	{"name":"auto","modelRefs":[{"model":"large","quality_score":0.9},{"model":"q\"s","quality_score":0.6},{"model":"absent","quality_score":1}],
		"algorithm":{"multi_factor":{"weights":{"quality":1,"latency":0,"cost":0,"load":0},"slo":{"max_ttft_ms":100},"latency_window":"10s"}}},
	{"name":"strict","modelRefs":[{"model":"large"}],"algorithm":{"multi_factor":{"slo":{"max_ttft_ms":100},"on_no_candidates":"fail"}}},
	{"name":"nobody","modelRefs":[{"model":"absent"}]}]}}]}`

// virtualPool is a pool of which 0 and 1 serve large, 2 and 3 the other model; 1 and 3 are the less busy ones.
func virtualPool() *pool {
	p := newPool(5, 1, 0, 0)
	for i, model := range []string{"large", "large", "q\"s", "q\"s"} {
		p.Topology.Endpoints[i].Models = []string{model}
	}
	p.Load.Endpoints[2].WaitingRequests = 3
	return p
}

// answer has the server that the request went to answer after some time.
func (g *gateway) answer(s *wazerohost.Stream, after time.Duration) {
	g.t.Helper()
	s.SetServer(g.ranked(s))
	g.clock.Advance(after)
	s.Respond(nil, false)
	s.RespondBody([]byte("data: {}\n\n"), false)
	s.RespondBody([]byte("data: [DONE]\n\n"), true)
	s.Finish()
}

func TestVirtualModel(t *testing.T) {
	body := func(model string) string { return fmt.Sprintf(`{"prompt":"hello auto","model":%s,"n":1}`, model) }
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 2, m.configuration(virtual, `"stale":{"after":"1h"},`))
		g.publish(virtualPool())
		want := func(s *wazerohost.Stream, model string, server int) {
			t.Helper()
			g.wantRanked(s, address(server))
			if got := string(s.UpstreamBody()); got != body(model) {
				t.Errorf("body upstream: got %s, want %s", got, body(model))
			}
			if got := s.UpstreamHeaders().Get("content-length"); got != fmt.Sprint(len(body(model))) {
				t.Errorf("content-length upstream: got %q, want %d", got, len(body(model)))
			}
		}
		for range 3 {
			s := g.workers[0].askBody(body(`"auto"`))
			want(s, `"large"`, 1)
			g.answer(s, 20*time.Millisecond)
		}
		s := g.workers[0].requests.Request(wazerohost.Headers{{":path", "/v1/completions"},
			{"content-length", fmt.Sprint(len(body(`"auto"`)))}}, false)
		sendFrames(s, []byte(body(`"\u0061uto"`)), 7)
		g.wantRanked(s, address(1))
		g.answer(s, 3*time.Second)
		// The other worker knows of the slow answer, too.
		s = g.workers[1].askBody(body(`"auto"`))
		want(s, `"q\"s"`, 3)
		g.answer(s, 20*time.Millisecond)
		wantError(t, g.workers[1].askBody(body(`"strict"`)), 503, "slo_exceeded")
		wantError(t, g.workers[1].askBody(body(`"nobody"`)), 503, "no_model")
		g.clock.Advance(11 * time.Second)
		want(g.workers[1].askBody(body(`"auto"`)), `"large"`, 1)
	})
}

func TestSelectionIsExplained(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(virtual, `"debug":true,`))
		g.publish(virtualPool())
		tests := []struct {
			name, model string
			want        []any
		}{
			{"chosen", "auto", []any{"auto", "large", "score",
				[]any{[]any{"large", 1.0}, []any{"q\"s", 0.0}, []any{"absent", "not served"}}}},
			{"not a virtual model", "large", nil},
		}
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				s := g.workers[0].askBody(`{"model":"` + tc.model + `","prompt":"hello"}`)
				s.Respond(nil, true)
				if e := explained(t, s); !reflect.DeepEqual(e.Selection, tc.want) || len(e.Picked) == 0 {
					t.Errorf("explained %+v, want the selection %v", e, tc.want)
				}
			})
		}
	})
}

// TestLongSelectionsAreCut: the header lists no more models than it may, and says how many it leaves out.
func TestLongSelectionsAreCut(t *testing.T) {
	refs := strings.TrimSuffix(strings.Repeat(`{"model":"m%d"},`, 100), ",")
	for i := range 100 {
		refs = strings.Replace(refs, "%d", fmt.Sprint(i), 1)
	}
	m := modes[0]
	g := newGateway(t, m, 1,
		m.configuration(`{"plugins":[{"type":"multi-factor-selector","parameters":{"decisions":[{"modelRefs":[`+refs+
			`]}]}}]}`, `"debug":true,`))
	g.publish(newPool(0))
	s := g.workers[0].askBody(`{"model":"auto","prompt":"hello"}`)
	s.Respond(nil, true)
	e := explained(t, s)
	if list, ok := e.Selection[3].([]any); !ok || len(list) != 64 || e.Omitted != 36 {
		t.Errorf("%d models and %d omitted, want 64 and 36", len(list), e.Omitted)
	}
}
