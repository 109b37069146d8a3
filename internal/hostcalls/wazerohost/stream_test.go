package wazerohost

import (
	"strings"
	"testing"
)

func TestRequestHeaderEdits(t *testing.T) {
	const edits = "get x-a; add x-a 2; set x-b 1; remove x-c"
	tests := []struct {
		name   string
		opts   Options
		script string
		op     string // the callback that edits
		get    string
		edit   string
		sent   bool
	}{
		{"in the header phase", Options{}, "request_headers: " + edits, "request_headers", "1", ok, true},
		{"after continue", Options{}, "request_body: " + edits, "request_body", badArgument, badArgument, false},
		{"after continue, held by the buffer filter", Options{BufferFilter: true}, "request_body: " + edits,
			"request_body", badArgument, badArgument, false},
		{"after a pause that lets the body through", Options{AllowOnHeadersStopIteration: true},
			"request_headers: pause\nrequest_body: " + edits, "request_body", "1", ok, true},
		{"in the response", Options{}, "response_headers: " + edits, "response_headers", badArgument, badArgument,
			false},
		{"when it is done", Options{}, "stream_done: " + edits, "stream_done", "1", badArgument, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, _, p := start(t, test.opts, test.script)
			s := p.Request(Headers{{"X-A", "1"}, {"x-c", "1"}, {"x-c", "2"}}, false)
			s.Body([]byte("b"), true)
			s.Finish()
			wantOutcome(t, h, test.op+" get x-a", test.get)
			wantOutcome(t, h, test.op+" add x-a 2", test.edit)
			wantOutcome(t, h, test.op+" set x-b 1", test.edit)
			wantOutcome(t, h, test.op+" remove x-c", test.edit)
			up := s.UpstreamHeaders()
			wantEqual(t, "x-a upstream", strings.Join(up.Values("x-a"), ","),
				map[bool]string{true: "1,2", false: "1"}[test.sent])
			wantEqual(t, "x-b upstream", up.Has("x-b"), test.sent)
			wantEqual(t, "x-c upstream", up.Has("x-c"), !test.sent)
		})
	}
}

func TestEditAfterPausedHeadersWentOn(t *testing.T) {
	var v violations
	_, w, p := start(t, Options{AllowOnHeadersStopIteration: true, Fail: v.add},
		"request_headers: pause\nrequest_body: size\nrequest_body/end: set x-b 1")
	s := p.Request(nil, false)
	s.Body([]byte("first"), false)
	wantEqual(t, "sent", s.Sent(), true)
	s.Body([]byte("last"), true)
	v.want(t, "already gone on")
	wantEqual(t, "VM dead", w.Failed() != nil, true)
}

func TestHostIsAuthority(t *testing.T) {
	h, _, p := start(t, Options{}, "request_headers: get host; get :path; set :path /x; get no")
	s := p.Request(Headers{{":authority", "a"}, {":path", "/p"}}, true)
	wantOutcome(t, h, "request_headers get host", "a")
	wantOutcome(t, h, "request_headers get :path", "/p")
	wantOutcome(t, h, "request_headers get no", notFound)
	wantEqual(t, "path upstream", s.UpstreamHeaders().Get(":path"), "/x")
}

func TestPauseInHeaders(t *testing.T) {
	const script = "request_headers: pause\nrequest_headers/end: size\nrequest_body: size\nrequest_trailers: all"
	t.Run("stops everything", func(t *testing.T) {
		h, _, p := start(t, Options{}, script)
		s := p.Request(nil, false)
		s.Body([]byte("body"), false)
		s.Trailers(Headers{{"t", "1"}})
		wantEqual(t, "stuck", s.Stuck(), true)
		wantEqual(t, "sent", s.Sent(), false)
		wantEqual(t, "finish", s.Finish(), false)
		wantEqual(t, "callbacks", strings.Join(s.Callbacks(), " "), "context_create request_headers")
		wantOutcome(t, h, "request_body size")
		s.Abort()
		wantEqual(t, "callbacks", strings.Join(s.Callbacks(), " "), "context_create request_headers log done delete")
		wantEqual(t, "stuck after the abort", s.Stuck(), false)
	})
	t.Run("lets the body through where allowed", func(t *testing.T) {
		h, _, p := start(t, Options{AllowOnHeadersStopIteration: true}, script)
		s := p.Request(nil, false)
		wantEqual(t, "sent while paused", s.Sent(), false)
		wantEqual(t, "stuck while the body comes", s.Stuck(), false)
		s.Body([]byte("body"), true)
		wantOutcome(t, h, "request_body size", "4")
		wantEqual(t, "sent", s.Sent(), true)
		wantEqual(t, "body", string(s.UpstreamBody()), "body")
		wantEqual(t, "finish", s.Finish(), true)
	})
	t.Run("without a body", func(t *testing.T) {
		_, _, p := start(t, Options{AllowOnHeadersStopIteration: true}, "request_headers: pause")
		s := p.Request(nil, true)
		wantEqual(t, "stuck", s.Stuck(), true)
	})
}

func TestBodyPauses(t *testing.T) {
	for _, hold := range []Options{{AllowOnHeadersStopIteration: true}, {BufferFilter: true}, {}} {
		script := "request_body: size; body 0 100; pause\nrequest_body/end: size; body 0 100; body 6 2; body 6 100; " +
			"body 100 5; body 12 1"
		if hold.AllowOnHeadersStopIteration {
			script = "request_headers: pause\n" + script
		}
		h, _, p := start(t, hold, script)
		s := p.Request(nil, false)
		s.Body([]byte("hello "), false)
		s.Body([]byte("worl"), false)
		wantEqual(t, "body upstream while paused", string(s.UpstreamBody()), "")
		wantEqual(t, "sent while paused", s.Sent(), !hold.AllowOnHeadersStopIteration && !hold.BufferFilter)
		s.Body([]byte("d!"), false)
		s.Body(nil, true)
		wantOutcome(t, h, "request_body size", "6", "10", "12", "12")
		wantOutcome(t, h, "request_body body 0 100", "hello ", "hello worl", "hello world!", "hello world!")
		wantOutcome(t, h, "request_body body 6 2", "wo")
		wantOutcome(t, h, "request_body body 6 100", "world!")
		wantOutcome(t, h, "request_body body 100 5", notFound)
		wantOutcome(t, h, "request_body body 12 1", notFound)
		wantEqual(t, "body upstream", string(s.UpstreamBody()), "hello world!")
		wantEqual(t, "complete", s.Complete(), true)
	}
}

func TestBodyStreams(t *testing.T) {
	h, _, p := start(t, Options{}, "request_headers: body 0 9\nrequest_body: size; body 0 100\nrequest_trailers: "+
		"body 0 9; get_trailer t; add_trailer u 2")
	s := p.Request(nil, false)
	s.Body([]byte("one"), false)
	wantEqual(t, "body upstream", string(s.UpstreamBody()), "one")
	s.Body([]byte("three"), false)
	s.Trailers(Headers{{"T", "1"}})
	wantOutcome(t, h, "request_headers body 0 9", notFound)
	wantOutcome(t, h, "request_body size", "3", "5")
	wantOutcome(t, h, "request_body body 0 100", "one", "three")
	wantOutcome(t, h, "request_trailers body 0 9", notFound)
	wantOutcome(t, h, "request_trailers get_trailer t", "1")
	wantEqual(t, "trailers upstream", s.UpstreamTrailers().Get("t")+s.UpstreamTrailers().Get("u"), "12")
	wantEqual(t, "complete", s.Complete(), true)
}

func TestTrailersEndTheBody(t *testing.T) {
	h, _, p := start(t, Options{AllowOnHeadersStopIteration: true}, "request_headers: pause\nrequest_body: size; "+
		"pause\nrequest_body/end: panic no\nrequest_trailers: set x-b 1; body 0 9")
	s := p.Request(nil, false)
	s.Body([]byte("one"), false)
	s.Trailers(Headers{{"t", "1"}})
	wantOutcome(t, h, "request_trailers body 0 9", "one")
	wantEqual(t, "x-b upstream", s.UpstreamHeaders().Get("x-b"), "1")
	wantEqual(t, "body upstream", string(s.UpstreamBody()), "one")
	wantEqual(t, "trailers upstream", s.UpstreamTrailers().Get("t"), "1")
}

func TestBodyEdits(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"replace", "request_body: pause\nrequest_body/end: replace_body xyz", "xyz"},
		{"append", "request_body: pause\nrequest_body/end: append_body .", "abcd."},
		{"prepend", "request_body: pause\nrequest_body/end: prepend_body .", ".abcd"},
		{"each frame", "request_body: append_body .", "ab.cd."},
		{"in the header phase", "request_headers: append_body .", "abcd"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, _, p := start(t, Options{}, test.script)
			s := p.Request(nil, false)
			s.Body([]byte("ab"), false)
			s.Body([]byte("cd"), true)
			wantEqual(t, "body upstream", string(s.UpstreamBody()), test.want)
			if test.name == "in the header phase" {
				wantOutcome(t, h, "request_headers append_body .", badArgument)
			}
		})
	}
}

func TestContentLengthMismatch(t *testing.T) {
	var v violations
	_, _, p := start(t, Options{Fail: v.add}, "request_body: append_body .")
	s := p.Request(Headers{{"content-length", "2"}}, false)
	s.Body([]byte("ab"), true)
	v.want(t, "content-length 2 and a body of 3 bytes")
}

func TestBufferFilter(t *testing.T) {
	opts := Options{BufferFilter: true, HeaderMutations: []HeaderMutation{
		{Header: "x-picked", FilterState: "wasm.picked"}, {Header: "x-clean", FilterState: "wasm.none", Remove: true},
		{Header: "x-forged", FilterState: "wasm.none"},
	}}
	_, _, p := start(t, opts, "request_body/end: set_property picked 10.0.0.1:80; state "+OriginalDst+" 10.0.0.1:80 1")
	s := p.Request(Headers{{"x-clean", "1"}, {"x-forged", "1"}, {"x-picked", "forged"}}, false)
	s.Body([]byte("abc"), false)
	wantEqual(t, "sent before the end", s.Sent(), false)
	s.Body(nil, true)
	up := s.UpstreamHeaders()
	wantEqual(t, "x-picked", strings.Join(up.Values("x-picked"), ","), "10.0.0.1:80")
	wantEqual(t, "x-clean", up.Has("x-clean"), false)
	wantEqual(t, "x-forged", up.Get("x-forged"), "1")
	wantEqual(t, "content-length", up.Get("content-length"), "3")
	wantEqual(t, "property", s.Property("picked"), "10.0.0.1:80")
	state, _ := s.FilterState(OriginalDst)
	wantEqual(t, "filter state", state, FilterState{"10.0.0.1:80", 1})
}

func TestBufferLimit(t *testing.T) {
	tests := []struct {
		name   string
		opts   Options
		script string
		want   int
		sent   bool
	}{
		{"paused body", Options{BufferLimit: 4}, "request_body: pause", 413, true},
		{"paused headers and body", Options{BufferLimit: 4, AllowOnHeadersStopIteration: true},
			"request_headers: pause\nrequest_body: pause", 413, false},
		{"buffer filter", Options{BufferFilter: true, MaxRequestBytes: 4}, "request_body: size", 413, false},
		{"the buffer filter raises it", Options{BufferFilter: true, BufferLimit: 4, MaxRequestBytes: 9},
			"request_body: pause\nrequest_body/end: size", 200, true},
		{"streamed", Options{BufferLimit: 4}, "request_body: size", 200, true},
		{"headers paused outright", Options{BufferLimit: 4}, "request_headers: pause", 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, p := start(t, test.opts, test.script)
			s := p.Request(nil, false)
			s.Body([]byte("abc"), false)
			s.Body([]byte("de"), false)
			s.Finish()
			status := map[string]int{"": 0, "200": 200, "413": 413}[s.ResponseHeaders().Get(":status")]
			wantEqual(t, "status", status, test.want)
			wantEqual(t, "ended", s.Ended(), test.want != 0)
			wantEqual(t, "sent", s.Sent(), test.sent)
		})
	}
}

func TestTheFrameOverTheLimitStillReachesThePlugin(t *testing.T) {
	h, _, p := start(t, Options{BufferLimit: 4}, "request_body: size; pause")
	s := p.Request(nil, false)
	s.Body([]byte("abc"), false)
	s.Body([]byte("de"), false)
	wantOutcome(t, h, "request_body size", "3", "5")
	wantEqual(t, "callbacks", strings.Join(s.Callbacks(), " "),
		"context_create request_headers request_body request_body response_headers response_body log done delete")
}

func TestSlowClient(t *testing.T) {
	tests := []struct{ name, script, violation string }{
		{"an answer that has come", "response_body: size", ""},
		{"an answer whose end the plug-in holds", "response_body/end: pause", "has not come as far"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var v violations
			_, _, p := start(t, Options{Fail: v.add}, test.script)
			s := p.Request(nil, true, Slow)
			s.Respond(nil, false)
			s.RespondBody([]byte("x"), true)
			wantEqual(t, "ended before it is taken", s.Ended(), false)
			s.Take()
			wantEqual(t, "ended once it is taken", s.Ended(), test.violation == "")
			if test.violation != "" {
				v.want(t, test.violation)
			} else if len(v.messages) != 0 {
				t.Errorf("violations: got %q, want none", v.messages)
			}
		})
	}
}
