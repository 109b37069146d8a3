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

// completions reads the journal's completions from its beginning.
func (g *gateway) completions() []journal.Event { return g.events(journal.Completion) }

// events reads the journal's events of a kind from its beginning.
func (g *gateway) events(kind journal.Kind) (all []journal.Event) {
	g.t.Helper()
	j, err := journal.New(hostStore{g.host}, journal.Options{Instance: 1})
	if err != nil {
		g.t.Fatal(err)
	}
	j.Poll()
	for e := j.Next(); e != nil; e = j.Next() {
		if e.Kind == kind {
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
		ended          journal.Ending
		began          bool // that the answer begins was told before
	}
	const wait = 30 * time.Millisecond
	local := func(s *wazerohost.Stream, status, details string) {
		s.SetProperty("response.code_details", []byte(details))
		s.Respond(wazerohost.Headers{{":status", status}}, false)
		s.RespondBody([]byte("what Envoy says of it"), true)
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
		}, outcome{status: 200, ttft: 2 * wait, duration: 3 * wait, by: 2, ended: journal.EndedWhole, began: true}},
		{"an answer with trailers", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(nil, false)
			s.RespondBody([]byte("{}"), false)
			s.RespondTrailers(wazerohost.Headers{{"x-end", "1"}})
		}, outcome{status: 200, ttft: wait, duration: wait, by: 2, ended: journal.EndedWhole, began: true}},
		{"an answer without a body", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(wazerohost.Headers{{":status", "404"}}, true)
		}, outcome{status: 404, duration: wait, by: 2, ended: journal.EndedWhole}},
		{"a server's error", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(wazerohost.Headers{{":status", "500"}}, true)
		}, outcome{status: 500, duration: wait, by: 2, ended: journal.EndedWhole}},
		{"a server's error that streams", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(wazerohost.Headers{{":status", "500"}}, false)
			s.RespondBody([]byte("data: {}\n\n"), false)
			s.RespondBody(nil, true)
		}, outcome{status: 500, ttft: wait, duration: wait, by: 2, ended: journal.EndedWhole}},
		{"another endpoint after a retry", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(0))
			s.Respond(nil, true)
		}, outcome{status: 200, duration: wait, by: 1, tried: 2, ended: journal.EndedWhole}},
		{"by a way of its own", func(s *wazerohost.Stream, _ func()) {
			s.SetServer("192.0.2.1:15008")
			s.Respond(nil, true)
		}, outcome{status: 200, duration: wait, by: 2, ended: journal.EndedWhole}},
		{"no connection", func(s *wazerohost.Stream, _ func()) { local(s, "503", refused) },
			outcome{status: 503, duration: wait, by: 2, ended: journal.EndedUnreached}},
		{"too late", func(s *wazerohost.Stream, _ func()) { local(s, "504", "response_timeout") },
			outcome{status: 504, duration: wait, by: 2, ended: journal.EndedTimeout}},
		{"too late for a try", func(s *wazerohost.Stream, _ func()) { local(s, "504", "upstream_per_try_timeout") },
			outcome{status: 504, duration: wait, by: 2, ended: journal.EndedTimeout}},
		{"idle for too long", func(s *wazerohost.Stream, _ func()) { local(s, "504", "stream_idle_timeout") },
			outcome{status: 504, duration: wait, by: 2, ended: journal.EndedTimeout}},
		{"a client that is idle", func(s *wazerohost.Stream, _ func()) { local(s, "408", "stream_idle_timeout") },
			outcome{by: 2, ended: journal.EndedEnvoy}},
		{"longer than a stream may last", func(s *wazerohost.Stream, _ func()) {
			local(s, "504", "upstream_max_stream_duration_reached")
		}, outcome{status: 504, duration: wait, by: 2, ended: journal.EndedTimeout}},
		{"longer than a request may last", func(s *wazerohost.Stream, _ func()) {
			local(s, "504", "max_duration_timeout")
		}, outcome{status: 504, duration: wait, by: 2, ended: journal.EndedTimeout}},
		{"a client that takes longer", func(s *wazerohost.Stream, _ func()) { local(s, "408", "max_duration_timeout") },
			outcome{by: 2, ended: journal.EndedEnvoy}},
		{"no connection, to gRPC", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.SetProperty("response.code_details", []byte(refused))
			s.Respond(wazerohost.Headers{{"grpc-status", "14"}}, true)
		}, outcome{status: 503, duration: wait, by: 2, ended: journal.EndedUnreached}},
		{"no connection, as another status", func(s *wazerohost.Stream, _ func()) { local(s, "429", refused) },
			outcome{status: 503, duration: wait, by: 2, ended: journal.EndedUnreached}},
		{"a circuit breaker", func(s *wazerohost.Stream, _ func()) { local(s, "503", overflow) },
			outcome{by: 2, ended: journal.EndedEnvoy}},
		{"another filter", func(s *wazerohost.Stream, _ func()) { local(s, "503", "ext_authz_error") },
			outcome{by: 2, ended: journal.EndedEnvoy}},
		{"another filter's answer", func(s *wazerohost.Stream, _ func()) {
			s.SetProperty("upstream.address", nil)
			local(s, "200", "direct_response")
		}, outcome{by: 2, ended: journal.EndedEnvoy}},
		{"all of an answer at once", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(nil, false)
			s.RespondBody([]byte("data: [DONE]\n\n"), true)
		}, outcome{status: 200, ttft: wait, duration: wait, by: 2, ended: journal.EndedWhole}},
		{"the client leaves", func(s *wazerohost.Stream, _ func()) { s.Abort() },
			outcome{duration: wait, by: 2, ended: journal.EndedClient}},
		{"the client leaves during the answer", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(nil, false)
			s.RespondBody([]byte("data: {}\n\n"), false)
			s.SetProperty("response.code_details", []byte("downstream_remote_disconnect"))
			s.Abort()
		}, outcome{status: 200, ttft: wait, duration: wait, by: 2, ended: journal.EndedClient, began: true}},
		{"the answer breaks off", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(nil, false)
			s.RespondBody([]byte("data: {}\n\n"), false)
			s.SetProperty("response.code_details", []byte(cutOff))
			s.Abort()
		}, outcome{status: 502, ttft: wait, duration: wait, by: 2, ended: journal.EndedReset, began: true}},
		{"it lasts too long for the listener", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(nil, false)
			s.RespondBody([]byte("data: {}\n\n"), false)
			s.SetProperty("response.code_details", []byte("max_duration_timeout"))
			s.Abort()
		}, outcome{status: 200, ttft: wait, duration: wait, by: 2, ended: journal.EndedTimeout, began: true}},
		{"it pauses for too long", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(nil, false)
			s.RespondBody([]byte("data: {}\n\n"), false)
			s.SetProperty("response.code_details", []byte("upstream_per_try_idle_timeout"))
			s.Abort()
		}, outcome{status: 200, ttft: wait, duration: wait, by: 2, ended: journal.EndedTimeout, began: true}},
		{"the route's time is over during the answer", func(s *wazerohost.Stream, _ func()) {
			s.SetServer(address(1))
			s.Respond(nil, false)
			s.RespondBody([]byte("data: {}\n\n"), false)
			s.SetProperty("response.code_details", []byte("response_timeout"))
			s.Abort()
		}, outcome{status: 200, ttft: wait, duration: wait, by: 2, ended: journal.EndedTimeout, began: true}},
	}
	number := map[uint64]int{0: 0, endpointID(0): 1, endpointID(1): 2, endpointID(2): 3}
	eachMode(t, func(t *testing.T, m mode) {
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				g := newGateway(t, m, 1, m.configuration(byQueue, ""))
				g.publish(newPool(5, 0, 9))
				s := g.workers[0].askBody(streamedCompletion)
				g.wantRanked(s, address(1))
				g.clock.Advance(wait)
				tc.play(s, func() { g.clock.Advance(wait) })
				all := g.completions()
				if len(all) != 1 {
					t.Fatalf("got %d completions, want 1: %+v", len(all), all)
				}
				e := all[0]
				got := outcome{
					status: e.Status, ttft: time.Duration(e.TTFTMicros) * time.Microsecond,
					duration: time.Duration(e.DurationMicros) * time.Microsecond,
					by:       number[e.Primary], tried: number[e.Tried], ended: e.Ended,
					began: len(g.events(journal.Began)) == 1,
				}
				if got != tc.want {
					t.Errorf("got %+v, want %+v", got, tc.want)
				}
			})
		}
	})
}

const streamedCompletion = `{"model":"m1","prompt":"hello","stream":true}`

// TestWholeAnswersDoNotBegin: Envoy passes an answer and its end apart, but only of a stream the beginning is told.
func TestWholeAnswersDoNotBegin(t *testing.T) {
	m := modes[0]
	for body, want := range map[string]int{completion: 0, streamedCompletion: 1} {
		g := newGateway(t, m, 1, m.configuration(byPrefix, ""))
		g.publish(newPool(5, 0, 9))
		s := g.workers[0].askBody(body)
		s.SetServer(address(1))
		s.Respond(nil, false)
		s.RespondBody([]byte("{}"), false)
		s.RespondBody(nil, true)
		s.Finish()
		if began, ended := len(g.events(journal.Began)), len(g.completions()); began != want || ended != 1 {
			t.Errorf("%s: %d answers began and %d ended, want %d and 1", body, began, ended, want)
		}
	}
}

// TestFormsAreNotStreams: what is not read of a body is not what the worker read of another.
func TestFormsAreNotStreams(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byPrefix, ""))
	g.publish(newPool(0))
	g.workers[0].askBody(streamedCompletion).Finish()
	s := g.workers[0].requests.Request(wazerohost.Headers{{":path", "/v1/audio/transcriptions"}}, false)
	s.Body([]byte("--x--"), true)
	s.Finish()
	if all := g.events(journal.Decision); len(all) != 2 || !all[0].Streamed || all[1].Streamed {
		t.Errorf("got %+v, want a decision on a stream and one on none", all)
	}
}

// TestFailingEndpointDrawsNoTraffic: the endpoint with the shortest queue fails at once. All workers leave it alone
// from the seventh request on, and try it again when its failures have faded.
func TestFailingEndpointDrawsNoTraffic(t *testing.T) {
	const requests = 40
	eachMode(t, func(t *testing.T, m mode) {
		for _, policy := range []string{"exclude", "ignore"} {
			g := newGateway(t, m, 2,
				m.configuration(byQueue, `"failing":{"policy":"`+policy+`"},"stale":{"policy":"last"},`))
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
				t.Errorf("policy %s: %d of %d requests went to the endpoint that fails, want %d", policy, failed,
					requests, want)
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
		cached bool
	}{
		{"JSON", []string{`{"choices":[],` + usage + `}`}, [3]uint32{40, 7, 32}, true},
		{"JSON in pieces", []string{`{"choices":[],"usa`, `ge":{"prompt_tokens":40,"completion_to`, `kens":7}}`},
			[3]uint32{40, 7, 0}, false},
		{"a stream that reports", []string{chunk, chunk, `data: {"choices":[],` + usage + "}\n\n", done},
			[3]uint32{40, 7, 32}, true},
		{"a stream that does not", []string{chunk, chunk + chunk, chunk, chunk + done}, [3]uint32{0, 4, 0}, false},
		{"an empty stream", []string{done}, [3]uint32{}, false},
		{"no JSON at all", []string{"hello"}, [3]uint32{}, false},
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
				if got := all[0].CachedReported; got != tc.cached {
					t.Errorf("cached tokens reported: got %v, want %v", got, tc.cached)
				}
				if got, want := string(s.ResponseBody()), strings.Join(tc.frames, ""); got != want {
					t.Errorf("the client got %q, want %q", got, want)
				}
			})
		}
	})
}

// TestClientsAreNetworks: a client is told from others by its address, of which it cannot choose the port, nor more
// than the first half of an IPv6 address.
func TestClientsAreNetworks(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, ""))
	g.publish(newPool(0))
	client := func(from string) uint64 {
		headers := wazerohost.Headers{{":path", "/v1/completions"}, {"content-length", fmt.Sprint(len(completion))}}
		s := g.workers[0].requests.Request(headers, false, wazerohost.From(from))
		s.Body([]byte(completion), true)
		s.Finish()
		all := g.completions()
		return all[len(all)-1].Client
	}
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"10.0.0.9:4000", "10.0.0.9:5000", true},
		{"10.0.0.9:4000", "10.0.0.8:4000", false},
		{"[2001:db8:1:2:3::1]:4000", "[2001:db8:1:2:9:8:7:6]:4001", true},
		{"[2001:db8:1:2:3::1]:4000", "[2001:db8:1:3:3::1]:4000", false},
		{"[2001:db8::1]:4000", "[2001:db8::2]:4000", true},
	} {
		if a, b := client(test.a), client(test.b); (a == b) != test.same || a == 0 {
			t.Errorf("%s and %s: one client: got %v, want %v", test.a, test.b, a == b, test.same)
		}
	}
}
