package traffic

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// TestFailureShare: what has the filter leave an endpoint out is told of it, also where another one answered in its
// place.
func TestFailureShare(t *testing.T) {
	for name, failed := range map[string]func(e *journal.Event){
		"500": func(e *journal.Event) { e.Code, e.Status = 500, 500 },
		"another one answered": func(e *journal.Event) {
			e.Tried, e.Primary = e.Primary, journal.EndpointID("vllm-1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, false)
			f.generation = f.pool()
			f.want(`pintle_failure_share{endpoint="vllm-0"} 0`, `pintle_silent_seconds{endpoint="vllm-0"} 0`)
			for client := range uint64(6) {
				e := f.decide("m1", "vllm-0")
				e.Client = client + 1
				failed(&e)
				f.take(e, false)
			}
			target := f.generation.Targets[0]
			if got := f.Failing(target).Share; got <= 0.5 || got >= 0.6 {
				t.Errorf("after six failures: got the share %v, want a little more than 0.5", got)
			}
			f.want(`pintle_failure_share{endpoint="vllm-1"} 0`)
			f.now = f.now.Add(time.Hour)
			if got := f.Failing(target).Share; got > 0.001 {
				t.Errorf("after an hour: got the share %v, want none", got)
			}
		})
	}
}

// TestSilence: an endpoint that answers nobody, while another one answers what was asked later, is told of, also where
// the clock was set.
func TestSilence(t *testing.T) {
	for _, test := range []struct {
		name string
		set  time.Duration // by how much the clock was
	}{{"the clock as it is", 0}, {"set back before", -time.Hour}, {"set ahead before", time.Hour}} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, false)
			f.generation = f.pool()
			f.Caught("gateway", journal.Position{})
			f.now = f.now.Add(test.set)
			f.Caught("gateway", journal.Position{})
			decide := func(endpoint string, client uint64) {
				f.lease++
				f.take(journal.Event{Kind: journal.Decision, Instance: 1, Lease: f.lease, Client: client,
					Primary: journal.EndpointID(endpoint), Streamed: true}, false)
			}
			for client := range uint64(4) {
				decide("vllm-0", client+1)
			}
			for range 40 {
				f.now = f.now.Add(time.Second)
				f.Caught("gateway", journal.Position{})
				e := f.decide("m1", "vllm-1")
				e.Client = 9
				f.take(e, false)
			}
			if got := f.Failing(f.generation.Targets[0]).Silent; got != 40*time.Second {
				t.Errorf("got silent for %v, want 40 s", got)
			}
			line := fmt.Sprintf("pintle_silent_seconds{endpoint=%q} 40\n", "vllm-0")
			if page := f.page(); !strings.Contains(page, line) {
				t.Errorf("the silence is not in\n%s", page)
			}
		})
	}
}
