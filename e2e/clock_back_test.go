package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestClockGoesBack: when the machine's clock is set back by an hour, a sample from before is stale, as it would be
// from the future, what is in flight goes on to count until it ends, and the next snapshot mends the rest.
func TestClockGoesBack(t *testing.T) {
	const ahead = 100 // requests of queue that a server has less than the other
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			plugin := map[string]any{"config": map[string]any{
				"plugins": []map[string]any{{"type": "queue-scorer"}, {"type": "active-request-scorer"}},
				"schedulingProfiles": []map[string]any{{"name": "p", "plugins": []map[string]any{
					{"pluginRef": "queue-scorer", "weight": 2}, {"pluginRef": "active-request-scorer"}}}}},
				"load": map[string]any{"correction": false}, "failing": map[string]any{"policy": "ignore"},
				"stale": map[string]any{"after": "1m"}}
			e := newTimed(t, cell, plugin)
			e.endpoints[1].Waiting = ahead
			e.pass(t, 0)
			e.wantAt(t, "fresh samples", "a", 10)
			e.advance(t, -time.Hour)
			e.wantBoth(t)
			e.pass(t, 0)
			e.wantAt(t, "samples of the new time", "a", 10)

			e.endpoints[1].Waiting = 0
			e.pass(t, 0)
			held := e.hold(t)
			e.pass(t, -time.Hour)
			other := map[string]string{"a": "b", "b": "a"}[held]
			e.wantAt(t, "a request in flight at "+held, other, 10)
			e.release <- struct{}{}
			harness.WaitFor(t, 20*time.Second, held+" to be chosen again", func() (bool, string) {
				return e.at(t) == held, other
			})
		})
	}
}

// wantAt checks that requests go to one server.
func (e *timed) wantAt(t *testing.T, when, server string, requests int) {
	t.Helper()
	for range requests {
		if got := e.at(t); got != server {
			t.Fatalf("with %s: a request went to %s, want %s", when, got, server)
		}
	}
}

// wantBoth waits until both servers have answered.
func (e *timed) wantBoth(t *testing.T) {
	t.Helper()
	seen := map[string]bool{}
	for range 40 { // one of both would be missed once in 2^39
		seen[e.at(t)] = true
	}
	if len(seen) != 2 {
		t.Errorf("with samples from the future requests went to %v, want them at both servers", seen)
	}
}

// TestClockGoesBackWhileRequestsWait: requests that wait for the first snapshot do not wait for the difference too, and
// neither does what was refused.
func TestClockGoesBackWhileRequestsWait(t *testing.T) {
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			plugin := alone("queue-scorer")
			plugin["startup"] = map[string]any{"wait": "60s"} // longer than a client waits here
			e := newTimed(t, cell, plugin)
			answer := make(chan harness.Answer, 1)
			request := harness.Request(t, http.MethodPost, e.URL("requests", chatPath), chatBody, false)
			client := harness.Client(t, false)
			go func() {
				response, err := client.Do(request)
				if err != nil {
					answer <- harness.Answer{Body: err.Error()}
					return
				}
				_ = response.Body.Close()
				answer <- harness.Answer{Status: response.StatusCode, Header: response.Header}
			}()
			harness.WaitFor(t, 20*time.Second, "Envoy to have the request", func() (bool, string) {
				stats := e.Stats(t, "http.requests.downstream_rq_active$")
				return stats["http.requests.downstream_rq_active"] == 1, fmt.Sprint(stats)
			})
			for range 200 { // in case that it was not yet waiting
				e.advance(t, -time.Hour)
				select {
				case got := <-answer:
					if got.Status != http.StatusServiceUnavailable ||
						!strings.Contains(got.Header.Get("X-Pintle-Reason"), "no_endpoints") {
						t.Errorf("got %d %v %s, want 503 no_endpoints", got.Status, got.Header, got.Body)
					}
					return
				case <-time.After(100 * time.Millisecond):
				}
			}
			t.Error("the request goes on waiting")
		})
	}
}
