package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/journal"
)

// hostStore is the test host's shared data as a journal sees it.
type hostStore struct{ *wazerohost.Host }

func (s hostStore) Get(key string) (value []byte, change uint32, ok bool) { return s.SharedData(key) }

func (s hostStore) Set(string, []byte, uint32) bool { return false }

// completions reads the journal from its beginning.
func (g *gateway) completions() (all []journal.Event) {
	g.t.Helper()
	j, err := journal.New(hostStore{g.host}, journal.Options{Instance: 1})
	if err != nil {
		g.t.Fatal(err)
	}
	j.Poll()
	for e := j.Next(); e != nil; e = j.Next() {
		if e.Kind == journal.Completion {
			copied := *e
			copied.Chains, copied.Encode = nil, nil
			all = append(all, copied)
		}
	}
	return all
}

func endpointID(i int) uint64 { return journal.EndpointID(fmt.Sprintf("default/vllm-%d", i)) }

func TestCompletionsTellTheOutcome(t *testing.T) {
	const (
		refused  = "upstream_reset_before_response_started{connection_failure}"
		overflow = "upstream_reset_before_response_started{overflow}"
		cutOff   = "upstream_reset_after_response_started{connection_termination}"
	)
	type outcome struct {
		status         uint16
		ttft, duration time.Duration
		by, tried      int // 0 is nobody, else an endpoint's number from 1
	}
	const wait = 30 * time.Millisecond
	local := func(s *wazerohost.Stream, status, details string) {
		s.SetProperty("response.code_details", []byte(details))
		s.Respond(wazerohost.Headers{{":status", status}}, true)
	}
	tests := []struct {
		name string
		play func(s *wazerohost.Stream, pass func())
		want outcome
	}{
		{"an answer", func(s *wazerohost.Stream, pass func()) {
			s.SetServer(address(1))
			s.Respond(nil, false)
			pass()
			s.RespondBody([]byte("data: {}\n\n"), false)
			pass()
			s.RespondBody([]byte("data: [DONE]\n\n"), true)
		}, outcome{status: 200, ttft: 2 * wait, duration: 3 * wait, by: 2}},
		{"an answer with trailers", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(nil, false)
			s.RespondBody([]byte("{}"), false)
			s.RespondTrailers(wazerohost.Headers{{"x-end", "1"}})
		}, outcome{status: 200, ttft: wait, duration: wait, by: 2}},
		{"an answer without a body", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(wazerohost.Headers{{":status", "404"}}, true)
		}, outcome{status: 404, duration: wait, by: 2}},
		{"a server's error", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(wazerohost.Headers{{":status", "500"}}, true)
		}, outcome{status: 500, duration: wait, by: 2}},
		{"another endpoint after a retry", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(0))
			s.Respond(nil, true)
		}, outcome{status: 200, duration: wait, by: 1, tried: 2}},
		{"by a way of its own", func(s *wazerohost.Stream, _ func()) {
			s.SetServer("192.0.2.1:15008")
			s.Respond(nil, true)
		}, outcome{status: 200, duration: wait, by: 2}},
		{"no connection", func(s *wazerohost.Stream, _ func()) { local(s, "503", refused) }, outcome{status: 503, duration: wait, by: 2}},
		{"too late", func(s *wazerohost.Stream, _ func()) { local(s, "504", "upstream_response_timeout") }, outcome{status: 504, duration: wait, by: 2}},
		{"a circuit breaker", func(s *wazerohost.Stream, _ func()) { local(s, "503", overflow) }, outcome{by: 2}},
		{"another filter", func(s *wazerohost.Stream, _ func()) { local(s, "503", "ext_authz_error") }, outcome{by: 2}},
		{"the client leaves", func(s *wazerohost.Stream, _ func()) { s.Abort() }, outcome{duration: wait, by: 2}},
		{"the client leaves during the answer", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(nil, false)
			s.RespondBody([]byte("data: {}\n\n"), false)
			s.SetProperty("response.code_details", []byte("downstream_remote_disconnect"))
			s.Abort()
		}, outcome{status: 200, ttft: wait, duration: wait, by: 2}},
		{"the answer breaks off", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(nil, false)
			s.RespondBody([]byte("data: {}\n\n"), false)
			s.SetProperty("response.code_details", []byte(cutOff))
			s.Abort()
		}, outcome{status: 502, ttft: wait, duration: wait, by: 2}},
	}
	number := map[uint64]int{0: 0, endpointID(0): 1, endpointID(1): 2, endpointID(2): 3}
	eachMode(t, func(t *testing.T, m mode) {
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				g := newGateway(t, m, 1, m.configuration(byQueue, ""))
				g.publish(newPool(5, 0, 9))
				s := g.workers[0].ask()
				g.wantRanked(s, address(1))
				g.clock.Advance(wait)
				tc.play(s, func() { g.clock.Advance(wait) })
				all := g.completions()
				if len(all) != 1 {
					t.Fatalf("got %d completions, want 1: %+v", len(all), all)
				}
				e := all[0]
				got := outcome{
					status: e.Status, ttft: time.Duration(e.TTFTMicros) * time.Microsecond, duration: time.Duration(e.DurationMicros) * time.Microsecond,
					by: number[e.Primary], tried: number[e.Tried],
				}
				if got != tc.want {
					t.Errorf("got %+v, want %+v", got, tc.want)
				}
			})
		}
	})
}

// TestFailingEndpointDrawsNoTraffic: the endpoint with the shortest queue fails at once. All workers leave it alone from the seventh
// request on, and try it again when its failures have faded.
func TestFailingEndpointDrawsNoTraffic(t *testing.T) {
	const requests = 40
	eachMode(t, func(t *testing.T, m mode) {
		for _, policy := range []string{"exclude", "ignore"} {
			g := newGateway(t, m, 2, m.configuration(byQueue, `"failing":{"policy":"`+policy+`"},"stale":{"policy":"last"},`))
			g.publish(newPool(5, 0, 9))
			chosen := func(i int) string {
				s := g.workers[i%2].ask()
				first, _, _ := strings.Cut(g.ranked(s), ",")
				s.SetServer(first)
				status := "200"
				if first == address(1) {
					status = "500"
				}
				s.Respond(wazerohost.Headers{{":status", status}}, true)
				return first
			}
			failed := 0
			for i := range requests {
				if chosen(i) == address(1) {
					failed++
				}
			}
			want := 6
			if policy == "ignore" {
				want = requests
			}
			if failed != want {
				t.Errorf("policy %s: %d of %d requests went to the endpoint that fails, want %d", policy, failed, requests, want)
			}
			g.clock.Advance(time.Minute)
			if got := chosen(0); got != address(1) {
				t.Errorf("policy %s, a minute later: got %s, want %s again", policy, got, address(1))
			}
		}
	})
}

// byFactors has latencies measured, and tokens counted with them.
const byFactors = `{"plugins":[{"type":"multi-factor-scorer"}]}`

func TestCompletionsTellTokens(t *testing.T) {
	const (
		chunk = `data: {"choices":[{"delta":{"content":"x"}}]}` + "\n\n"
		usage = `"usage":{"prompt_tokens":40,"completion_tokens":7,"total_tokens":47,"prompt_tokens_details":{"cached_tokens":32}}`
		done  = "data: [DONE]\n\n"
	)
	tests := []struct {
		name   string
		frames []string
		want   [3]uint32
	}{
		{"JSON", []string{`{"choices":[],` + usage + `}`}, [3]uint32{40, 7, 32}},
		{"JSON in pieces", []string{`{"choices":[],"usa`, `ge":{"prompt_tokens":40,"completion_to`, `kens":7}}`}, [3]uint32{40, 7, 0}},
		{"a stream that reports", []string{chunk, chunk, `data: {"choices":[],` + usage + "}\n\n", done}, [3]uint32{40, 7, 32}},
		{"a stream that does not", []string{chunk, chunk + chunk, chunk, chunk + done}, [3]uint32{0, 4, 0}},
		{"an empty stream", []string{done}, [3]uint32{}},
		{"no JSON at all", []string{"hello"}, [3]uint32{}},
	}
	eachMode(t, func(t *testing.T, m mode) {
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				g := newGateway(t, m, 1, m.configuration(byFactors, ""))
				g.publish(newPool(0))
				s := g.workers[0].ask()
				s.SetServer(address(0))
				s.Respond(nil, false)
				for i, frame := range tc.frames {
					s.RespondBody([]byte(frame), i == len(tc.frames)-1)
				}
				all := g.completions()
				if len(all) != 1 {
					t.Fatalf("got %d completions, want 1", len(all))
				}
				if got := [3]uint32{all[0].InputTokens, all[0].OutputTokens, all[0].CachedTokens}; got != tc.want {
					t.Errorf("got %v input, output and cached tokens, want %v", got, tc.want)
				}
				if got, want := string(s.ResponseBody()), strings.Join(tc.frames, ""); got != want {
					t.Errorf("the client got %q, want %q", got, want)
				}
			})
		}
	})
}
