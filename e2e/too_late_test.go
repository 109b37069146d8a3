package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// lastCompletion is a follow.Sink that knows how the last request ended.
type lastCompletion struct {
	mu   sync.Mutex
	last *journal.Event
}

// Take implements follow.Sink.
func (c *lastCompletion) Take(e *follow.Event) {
	if e.Kind == journal.Completion {
		c.mu.Lock()
		defer c.mu.Unlock()
		copied := *e.Event
		c.last = &copied
	}
}

// Caught implements follow.Sink.
func (*lastCompletion) Caught(string, journal.Position) {}

// TestTooLate: where Envoy gives a server up for the time that it takes, by whichever time-out, the journal says so.
func TestTooLate(t *testing.T) {
	tests := []struct{ name, where, with string }{
		{"the route's", "timeout: 0s\n", "timeout: 0.2s\n"},
		{"a try's", "timeout: 0s\n", "timeout: 0s\n                  retry_policy: {per_try_timeout: 0.2s}\n"},
		{"the listener's", "stat_prefix: requests\n", "stat_prefix: requests\n          stream_idle_timeout: 0.2s\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, err := harness.NewScripted()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Close)
			server.Script(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
			plugin := alone("queue-scorer")
			o := harness.Options{Workers: 1, Edit: func(text string) string {
				return strings.Replace(text, test.where, test.with, 1)
			}}
			envoy, err := harness.StartWith(o, harness.Cell{Hold: "pause", Destination: "original-dst"}, nil,
				&harness.Listener{Name: "requests", Plugin: plugin},
				&harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(envoy.Stop)
			envoy.LogOnFailure(t)
			envoy.Publish(t, harness.Endpoint{Name: "default/vllm-0", Address: server.Address})
			told := &lastCompletion{}
			followed(t, envoy, told)
			harness.WaitFor(t, 20*time.Second, "the follower to hear of a request", func() (bool, string) {
				got := harness.Send(t, harness.Client(t, false),
					harness.Request(t, http.MethodPost, envoy.URL("requests", chatPath), chatBody, false))
				told.mu.Lock()
				defer told.mu.Unlock()
				return told.last != nil, fmt.Sprint(got.Status, " ", got.Body)
			})
			told.mu.Lock()
			defer told.mu.Unlock()
			if e := told.last; e.Ended != journal.EndedTimeout || e.Status != http.StatusGatewayTimeout ||
				e.DurationMicros == 0 || e.TTFTMicros != 0 {
				t.Errorf("got ending %d, status %d, %d us, %d us to the first byte; want ending %d, status 504, a "+
					"duration and no first byte", e.Ended, e.Status, e.DurationMicros, e.TTFTMicros,
					journal.EndedTimeout)
			}
		})
	}
}
