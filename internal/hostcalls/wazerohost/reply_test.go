package wazerohost

import (
	"strings"
	"testing"
)

func TestLocalReply(t *testing.T) {
	const response = "\nresponse_headers: get_response x-local; add_response x-seen 1; get :path\nresponse_body: " +
		"response_body 0 99\nstream_done: get_response x-local; get_response x-seen"
	for _, phase := range []string{"request_headers", "request_body", "request_trailers"} {
		t.Run(phase, func(t *testing.T) {
			h, _, p := start(t, Options{AllowOnHeadersStopIteration: true},
				"request_headers: pause\n"+phase+": reply 429 slow\\ndown"+response)
			s := p.Request(nil, false)
			s.Body([]byte("b"), false)
			s.Trailers(Headers{{"t", "1"}})
			reply := s.LocalReply()
			if reply == nil {
				t.Fatal("no local reply")
			}
			wantEqual(t, "status", reply.Status, 429)
			// the body callback before it let the headers go
			wantEqual(t, "sent", s.Sent(), phase == "request_trailers")
			got := s.ResponseHeaders()
			wantEqual(t, ":status", got.Get(":status"), "429")
			wantEqual(t, "x-local", got.Get("x-local"), "yes")
			wantEqual(t, "x-seen", got.Get("x-seen"), "1")
			wantEqual(t, "content-type", got.Get("content-type"), "text/plain")
			wantEqual(t, "content-length", got.Get("content-length"), "9")
			wantEqual(t, "body", string(s.ResponseBody()), "slow\ndown")
			wantOutcome(t, h, "response_headers get_response x-local", "yes")
			wantOutcome(t, h, "response_body response_body 0 99", "slow\ndown")
			wantOutcome(t, h, "stream_done get_response x-seen", "1")
			wantEqual(t, "ended", s.Ended(), true)
			callbacks := strings.Join(s.Callbacks(), " ")
			if !strings.HasSuffix(callbacks, phase+" response_headers response_body log done delete") {
				t.Errorf("callbacks: got %q, want the response's right after %s", callbacks, phase)
			}
		})
	}
}

func TestLocalReplyToAResponse(t *testing.T) {
	t.Run("from the header phase it bypasses the filters", func(t *testing.T) {
		_, _, p := start(t, Options{}, "response_headers: reply 500 no\nresponse_body: panic unreached")
		s := p.Request(nil, true)
		s.Respond(nil, false)
		wantEqual(t, ":status", s.ResponseHeaders().Get(":status"), "500")
		wantEqual(t, "body", string(s.ResponseBody()), "no")
		wantEqual(t, "callbacks", strings.Join(s.Callbacks(), " "),
			"context_create request_headers response_headers log done delete")
	})
	t.Run("later it resets", func(t *testing.T) {
		_, _, p := start(t, Options{}, "response_body: reply 500 no")
		s := p.Request(nil, true)
		s.Respond(nil, false)
		s.RespondBody([]byte("x"), false)
		wantEqual(t, ":status", s.ResponseHeaders().Get(":status"), "200")
		wantEqual(t, "reset", s.WasReset(), true)
		wantEqual(t, "ended", s.Ended(), true)
	})
}

func TestResponse(t *testing.T) {
	h, _, p := start(t, Options{}, "response_headers: get_response :status; set_response x-a 2; property "+
		"upstream.address; number upstream.port\nresponse_body: size; set_response x-b 1; get_response x-a; "+
		"append_response .\nresponse_trailers: get_response x-a")
	s := p.Request(nil, true)
	s.SetServer("10.0.0.1:8000")
	s.Respond(Headers{{"x-a", "1"}}, false)
	s.RespondBody([]byte("ab"), false)
	s.RespondBody([]byte("c"), false)
	s.RespondTrailers(Headers{{"t", "1"}})
	wantOutcome(t, h, "response_headers get_response :status", "200")
	wantOutcome(t, h, "response_headers property upstream.address", "10.0.0.1:8000")
	wantOutcome(t, h, "response_headers number upstream.port", "401f000000000000")
	wantOutcome(t, h, "response_body size", "2", "1")
	wantOutcome(t, h, "response_body set_response x-b 1", badArgument, badArgument)
	wantOutcome(t, h, "response_body get_response x-a", badArgument, badArgument)
	wantEqual(t, "x-a", s.ResponseHeaders().Get("x-a"), "2")
	wantEqual(t, "body", string(s.ResponseBody()), "ab.c.")
	wantEqual(t, "trailers", s.ResponseTrailers().Get("t"), "1")
	wantEqual(t, "callbacks", strings.Join(s.Callbacks(), " "),
		"context_create request_headers response_headers response_body response_body response_trailers log done delete")
}

func TestPausedResponse(t *testing.T) {
	_, _, p := start(t, Options{}, "response_headers: pause")
	s := p.Request(nil, true)
	s.Respond(nil, false)
	s.RespondBody([]byte("x"), true)
	wantEqual(t, "stuck", s.Stuck(), true)
	wantEqual(t, "response", s.ResponseHeaders() == nil, true)
	wantEqual(t, "status", s.ResponseHeaders().Get(":status"), "")
}

func TestResponseOverTheLimit(t *testing.T) {
	_, _, p := start(t, Options{BufferLimit: 4, AllowOnHeadersStopIteration: true},
		"response_headers: pause\nresponse_body: pause")
	s := p.Request(nil, true)
	s.Respond(nil, false)
	s.RespondBody([]byte("12345"), false)
	wantEqual(t, "status", s.ResponseHeaders().Get(":status"), "500")
}

func TestHTTPCall(t *testing.T) {
	const answered = "\nanswer: get_answer; answer_body; body 0 9; set x-b 1; resume"
	for _, opts := range []Options{{AllowOnHeadersStopIteration: true}, {BufferFilter: true}} {
		script := "request_body: pause\nrequest_body/end: call sidecar /ask; pause" + answered
		if opts.AllowOnHeadersStopIteration {
			script = "request_headers: pause\n" + script
		}
		h, w, p := start(t, opts, script)
		s := p.Request(nil, false)
		s.Body([]byte("ab"), false)
		s.Body([]byte("cd"), true)
		wantEqual(t, "stuck while the call is under way", s.Stuck(), false)
		calls := w.Calls()
		if len(calls) != 1 {
			t.Fatalf("calls: got %d, want 1", len(calls))
		}
		wantEqual(t, "cluster", calls[0].Cluster, "sidecar")
		wantEqual(t, "path", calls[0].Headers.Get(":path"), "/ask")
		wantEqual(t, "body", string(calls[0].Body), "question")
		calls[0].Respond(Headers{{":status", "200"}}, []byte("answer"), nil)
		wantOutcome(t, h, "answer sizes", "1 6 0")
		wantOutcome(t, h, "answer answer_body", "answer")
		wantOutcome(t, h, "answer body 0 9", "abcd")
		wantEqual(t, "body upstream", string(s.UpstreamBody()), "abcd")
		wantEqual(t, "x-b upstream", s.UpstreamHeaders().Has("x-b"), opts.AllowOnHeadersStopIteration)
		wantEqual(t, "calls left", len(w.Calls()), 0)
	}
}

func TestHTTPCallFails(t *testing.T) {
	h, w, p := start(t, Options{Clusters: []string{"sidecar"}}, "request_headers: call other /; call sidecar /ask; "+
		"pause\nanswer: get_answer; answer_body; resume\nrequest_body: size; get x-a")
	s := p.Request(nil, false)
	s.Body([]byte("ab"), false)
	s.Body([]byte("c"), true)
	wantOutcome(t, h, "request_headers call other /", badArgument)
	w.Calls()[0].Fail()
	wantOutcome(t, h, "answer sizes", "0 0 0")
	wantOutcome(t, h, "answer get_answer", notFound)
	wantOutcome(t, h, "answer answer_body", notFound)
	wantOutcome(t, h, "request_body size", "3")
	wantOutcome(t, h, "request_body get x-a", badArgument)
	wantEqual(t, "body upstream", string(s.UpstreamBody()), "abc")
}

func TestHTTPCallAnsweredByEnvoy(t *testing.T) {
	for _, tc := range []struct {
		name  string
		play  func(*HTTPCall)
		sizes string
	}{{"unreachable", (*HTTPCall).Unreachable, "3 98 0"}, {"too slow", (*HTTPCall).TimeOut, "3 24 0"}} {
		h, w, p := start(t, Options{}, "request_headers: call sidecar /ask; pause\nanswer: get_answer; resume")
		s := p.Request(nil, true)
		tc.play(w.Calls()[0])
		wantOutcome(t, h, "answer sizes", tc.sizes)
		wantOutcome(t, h, "answer get_answer", "3")
		wantEqual(t, tc.name+": sent", s.Sent(), true)
	}
}

func TestAnswerAfterTheStreamIsGone(t *testing.T) {
	h, w, p := start(t, Options{}, "request_headers: call sidecar /ask; pause\nanswer: resume")
	s := p.Request(nil, true)
	s.Abort()
	w.Calls()[0].Respond(nil, nil, nil)
	wantOutcome(t, h, "answer resume")
	wantEqual(t, "failed", w.Failed(), nil)
}

func TestResumeMisuse(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"within the callback that pauses", "request_headers: resume; pause", "from within a request callback"},
		{"what is not paused", "request_headers: call a /\nanswer: resume", "not paused"},
		{"from a context that is no stream", "request_headers: tick 10\ntick: resume", "no stream"},
		{"before the end of the body", "request_body: call a /; pause\nanswer: resume", "lose it"},
		{"a local reply from a context that is no stream", "request_headers: tick 10\ntick: reply 500 x", "no stream"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var v violations
			_, w, p := start(t, Options{Fail: v.add}, test.script)
			s := p.Request(nil, false)
			if strings.Contains(test.script, "request_body") {
				s.Body([]byte("one"), false)
			}
			for _, call := range w.Calls() {
				call.Respond(nil, nil, nil)
			}
			w.Tick()
			if strings.Contains(test.script, "request_body") {
				s.Body([]byte("two"), false)
			}
			v.want(t, test.want)
		})
	}
}

func TestPauseAfterContinueWithTheBufferFilter(t *testing.T) {
	var v violations
	_, _, p := start(t, Options{BufferFilter: true, Fail: v.add}, "request_body: size\nrequest_body/end: pause")
	s := p.Request(nil, false)
	s.Body([]byte("one"), false)
	s.Body([]byte("two"), true)
	v.want(t, "same buffer")
}
