package main_test

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/journal"
)

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
		{"an answer with an empty body", func(s *wazerohost.Stream, pass func()) {
			s.SetServer(address(1))
			s.Respond(nil, false)
			pass()
			s.RespondBody(nil, true)
		}, outcome{status: 200, duration: 2 * wait, by: 2, ended: journal.EndedWhole}},
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
		{"a connection that takes too long", func(s *wazerohost.Stream, _ func()) {
			local(s, "503", "upstream_reset_before_response_started{connection_timeout}")
		}, outcome{status: 503, duration: wait, by: 2, ended: journal.EndedUnreached}},
		{"a client whose request takes too long", func(s *wazerohost.Stream, _ func()) {
			local(s, "408", "request_overall_timeout")
		}, outcome{by: 2, ended: journal.EndedEnvoy}},
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
		{"Envoy follows a redirect of the server's", func(s *wazerohost.Stream, _ func()) {
			s.SetProperty("response.code_details", []byte("internal_redirect"))
			s.Abort()
		}, outcome{by: 2, ended: journal.EndedEnvoy}},
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
