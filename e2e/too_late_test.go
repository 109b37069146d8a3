package e2e

import (
	"fmt"
	"io"
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
	// open are the leases that are not freed.
	open map[uint32]bool
}

// Take implements follow.Sink.
func (c *lastCompletion) Take(e *follow.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Kind {
	case journal.Decision:
		if c.open == nil {
			c.open = map[uint32]bool{}
		}
		c.open[e.Lease] = true
	case journal.Completion:
		copied := *e.Event
		c.last = &copied
		delete(c.open, e.Lease)
	}
}

// Caught implements follow.Sink.
func (*lastCompletion) Caught(string, journal.Position) {}

// TestTooLate: where Envoy gives a server up for the time that it takes, by whichever time-out, the journal says so,
// also of an answer that has begun, and the request counts as in flight no longer.
func TestTooLate(t *testing.T) {
	const (
		route  = "timeout: 0s\n"
		tries  = route + "                  retry_policy: {per_try_timeout: 0.2s}\n"
		all    = "stat_prefix: requests\n"
		silent = all + "          stream_idle_timeout: 0.2s\n"
		pauses = route + "                  retry_policy: {per_try_idle_timeout: 0.2s}\n"
		lasts  = all + "          common_http_protocol_options: {max_stream_duration: 0.2s}\n"
		span   = route + "                  max_stream_duration: {max_stream_duration: 0.2s}\n"
	)
	tests := []struct {
		name, where, with string
		begins            bool
	}{
		{"the route's", route, "timeout: 0.2s\n", false},
		{"a try's", route, tries, false},
		{"the listener's", all, silent, false},
		{"the route's, during the answer", route, "timeout: 0.2s\n", true},
		{"the listener's, during the answer", all, silent, true},
		{"a try's for pauses", route, pauses, false},
		{"a try's for pauses, during the answer", route, pauses, true},
		{"the listener's for all", all, lasts, false},
		{"the listener's for all, during the answer", all, lasts, true},
		{"the route's for all", route, span, false},
		{"the route's for all, during the answer", route, span, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server, err := harness.NewScripted()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Close)
			server.Script(t, func(w http.ResponseWriter, r *http.Request) {
				if test.begins {
					_, _ = io.WriteString(w, "data: {}\n\n")
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			})
			plugin := alone("queue-scorer")
			o := harness.Options{Workers: 1, Edit: func(text string) string {
				return strings.Replace(text, test.where, test.with, 1)
			}}
			envoy := startEnvoy(t, o, harness.Cell{Hold: "pause", Destination: "original-dst"}, nil, plugin)
			envoy.Publish(t, harness.Endpoint{Name: "default/vllm-0", Address: server.Address})
			told := &lastCompletion{}
			followed(t, envoy, told)
			harness.WaitFor(t, 20*time.Second, "the follower to hear of a request", func() (bool, string) {
				response, err := harness.Client(t, false).Do(
					harness.Request(t, http.MethodPost, envoy.URL("requests", chatPath), chatBody, false))
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				told.mu.Lock()
				defer told.mu.Unlock()
				return told.last != nil, fmt.Sprintf("%s %s %v", response.Status, body, err)
			})
			harness.WaitFor(t, 20*time.Second, "all leases to be freed", func() (bool, string) {
				told.mu.Lock()
				defer told.mu.Unlock()
				return told.open != nil && len(told.open) == 0, fmt.Sprint(told.open)
			})
			told.mu.Lock()
			defer told.mu.Unlock()
			status := uint16(http.StatusGatewayTimeout)
			if test.begins {
				status = http.StatusOK
			}
			if e := told.last; e.Ended != journal.EndedTimeout || e.Status != status || e.DurationMicros == 0 ||
				(e.TTFTMicros > 0) != test.begins {
				t.Errorf("got ending %d, status %d, %d us, %d us to the first byte; want ending %d, status %d, a "+
					"duration, and a first byte: %v", e.Ended, e.Status, e.DurationMicros, e.TTFTMicros,
					journal.EndedTimeout, status, test.begins)
			}
		})
	}
}
