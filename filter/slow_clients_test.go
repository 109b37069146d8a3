package main_test

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestSlowClients: how long a client takes with the end of its answer is not the server's time, and not the present's,
// whatever the answer ends with.
func TestSlowClients(t *testing.T) {
	const last = "data: [DONE]\n\n"
	for _, test := range []struct {
		name string
		end  func(s *wazerohost.Stream)
	}{
		{"its last piece", func(s *wazerohost.Stream) { s.RespondBody([]byte(last), true) }},
		{"an empty piece", func(s *wazerohost.Stream) {
			s.RespondBody([]byte(last), false)
			s.RespondBody(nil, true)
		}},
		{"trailers", func(s *wazerohost.Stream) {
			s.RespondBody([]byte(last), false)
			s.RespondTrailers(wazerohost.Headers{{"x-end", "1"}})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachMode(t, func(t *testing.T, m mode) { slowClient(t, m, test.end) })
		})
	}
}

// slowClient has a client take the end of its answer two minutes late.
func slowClient(t *testing.T, m mode, end func(s *wazerohost.Stream)) {
	const active = `{"plugins":[{"type":"active-request-scorer"}]}`
	g := newGateway(t, m, 1, m.configuration(active, `"load":{"correction":false},`))
	g.publish(newPool(0, 0))
	w := g.workers[0]
	slow := w.requests.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false, wazerohost.Slow)
	slow.Body([]byte(streamedCompletion), true)
	slow.SetServer(g.ranked(slow))
	slow.Respond(nil, false)
	slow.RespondBody([]byte("data: {}\n\n"), false)
	g.clock.Advance(time.Second)
	end(slow)
	g.clock.Advance(90 * time.Second)
	g.publish(newPool(0, 0))
	held := g.ranked(w.ask()) // in flight from here on
	g.clock.Advance(35 * time.Second)
	g.publish(newPool(0, 0))
	w.Tick()
	slow.Take()
	g.clock.Advance(time.Second)
	for range 10 {
		s := w.ask()
		if got := g.ranked(s); got == held {
			t.Fatalf("got %s, where a request is in flight, want the other", got)
		}
		s.Finish()
	}
	if got := g.completions()[0].DurationMicros; got != 1e6 {
		t.Errorf("the answer took %d us, want 1 s", got)
	}
}
