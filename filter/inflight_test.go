package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestTokensInFlight: what one worker sent keeps the others from an endpoint until its answer begins.
func TestTokensInFlight(t *testing.T) {
	const document = `{"plugins":[{"type":"token-load-scorer","parameters":{"queueThresholdTokens":4000}},{"type":"queue-scorer"}],
		"schedulingProfiles":[{"name":"default","plugins":[{"pluginRef":"token-load-scorer"},{"pluginRef":"queue-scorer","weight":0.1}]}]}`
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 2, m.configuration(document, `"load":{"correction":false},`))
		g.publish(newPool(1, 0))
		long := g.workers[0].askBody(fmt.Sprintf(`{"model":"m","prompt":%q,"stream":true}`, strings.Repeat("word ", 2000)))
		g.wantRanked(long, address(1))
		g.wantRanked(g.workers[1].ask(), address(0))
		long.Respond(wazerohost.Headers{{":status", "200"}}, false)
		g.wantRanked(g.workers[1].ask(), address(0))
		long.RespondBody([]byte("data: {}\n\n"), false)
		g.wantRanked(g.workers[1].ask(), address(1))
	})
}

// TestRequestsThatWereTakenOver: a stream that Envoy took to another server counts there for all workers, and no longer
// at the one that was full.
func TestRequestsThatWereTakenOver(t *testing.T) {
	const document = `{"plugins":[{"type":"active-request-scorer"},{"type":"queue-scorer"}],
		"schedulingProfiles":[{"name":"default","plugins":[{"pluginRef":"active-request-scorer"},{"pluginRef":"queue-scorer","weight":0.1}]}]}`
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 2, m.configuration(document, `"load":{"correction":false},`))
		g.publish(newPool(1, 0))
		for range 2 {
			stream := g.workers[0].askBody(`{"model":"m","prompt":"hello","stream":true}`)
			g.wantRanked(stream, address(1))
			stream.SetServer(address(0))
			stream.Respond(nil, false)
			stream.RespondBody([]byte("data: {}\n\n"), false)
		}
		next := g.workers[1].ask()
		g.wantRanked(next, address(1))
		next.Finish()
	})
}

// TestTurnsAndSessions: workers take turns together, and know each other's sessions.
func TestTurnsAndSessions(t *testing.T) {
	const document = `{"plugins":[{"type":"agent-identity"},{"type":"session-affinity-filter","parameters":{"strategy":"session_id",
		"sessionIdConfig":{"sources":[{"attribute":"agent-identity"},{"body":"metadata.user_id"}]}}},{"type":"round-robin"}]}`
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 2, m.configuration(document, ""))
		g.publish(newPool(0, 0, 0))
		for i := range 6 {
			g.clock.Advance(1000)
			g.wantRanked(g.workers[i%2].ask(), address(i%3))
		}
		g.clock.Advance(1000)
		g.wantRanked(g.workers[0].ask([2]string{"x-claude-code-session-id", "s1"}), address(0))
		g.clock.Advance(1000)
		g.wantRanked(g.workers[1].askBody(`{"model":"m","prompt":"hi","metadata":{"user_id":"s2"}}`), address(1))
		for i := range 4 {
			g.clock.Advance(1000)
			g.wantRanked(g.workers[i%2].ask([2]string{"session_id", "s1"}), address(0))
			g.wantRanked(g.workers[i%2].askBody(`{"model":"m","prompt":"hi","metadata":{"user_id":"s2"}}`), address(1))
		}
	})
}

// TestNewEndpoints: what a worker says of an endpoint that has just come is known to one that has not looked at the
// pool since, whatever makes it read that.
func TestNewEndpoints(t *testing.T) {
	const document = `{"plugins":[{"type":"active-request-scorer"},{"type":"queue-scorer"}],
		"schedulingProfiles":[{"name":"default","plugins":[{"pluginRef":"active-request-scorer"},{"pluginRef":"queue-scorer","weight":0.1}]}]}`
	m := modes[2]
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy %v", busy), func(t *testing.T) {
			g := newGateway(t, m, 2, m.configuration(document, `"load":{"correction":false},`))
			g.publish(newPool(5))
			answer := func(s *wazerohost.Stream) {
				s.Respond(wazerohost.Headers{{":status", "200"}}, true)
				s.Finish()
			}
			if busy {
				g.makeBusy(g.workers[1], func() { answer(g.workers[1].ask()) })
			}
			earlier := g.workers[1].ask()
			g.publish(newPool(5, 0))
			g.wantRanked(g.workers[0].ask(), address(1))
			answer(earlier)
			if busy {
				g.workers[1].Tick()
			}
			g.wantRanked(g.workers[1].ask(), address(0))
		})
	}
}
