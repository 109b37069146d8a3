package main_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

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

// TestFailuresOfAnEndpointThatIsBack: what becomes of requests counts for an endpoint that was gone meanwhile, also if
// nothing else has told the worker that it is back.
func TestFailuresOfAnEndpointThatIsBack(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byQueue, `"stale":{"policy":"last"},"failing":{"policy":"exclude"},`))
	g.publish(newPool(5, 0))
	var open []*wazerohost.Stream
	for range 7 {
		s := g.workers[0].ask()
		g.wantRanked(s, address(1))
		open = append(open, s)
	}
	g.publish(newPool(5))
	g.wantRanked(g.workers[0].ask(), address(0))
	g.publish(newPool(5, 0))
	for _, s := range open {
		s.SetServer(address(1))
		s.Respond(wazerohost.Headers{{":status", "500"}}, true)
		s.Finish()
	}
	g.wantRanked(g.workers[0].ask(), address(0))
}

// TestUnjudgedRequestsLeaveFailingServersAlone: also those of which another worker alone knows that they fail.
func TestUnjudgedRequestsLeaveFailingServersAlone(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 2, m.configuration(byQueue, `"stale":{"policy":"last"},"failing":{"policy":"exclude"},`))
	g.publish(newPool(5, 0))
	g.wantRanked(g.workers[1].ask(), address(1)) // from here on it reads what is new alone
	for range 7 {
		s := g.workers[0].ask()
		s.SetServer(g.ranked(s))
		s.Respond(wazerohost.Headers{{":status", "500"}}, true)
		s.Finish()
	}
	got := g.distinct(20, func() *wazerohost.Stream {
		return g.workers[1].requests.Request(wazerohost.Headers{{":path", "/v1/models"}}, true)
	})
	if want := []string{address(0)}; !slices.Equal(got, want) {
		t.Errorf("endpoints of 20 requests: got %q, want %q", got, want)
	}
}
