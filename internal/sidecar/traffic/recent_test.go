package traffic

import (
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// TestFailureIsListedOnce: a decision that was explained, and is among the last no longer, fails; its place among those
// to be noted is then the next one to be used again.
func TestFailureIsListedOnce(t *testing.T) {
	for _, test := range []struct {
		name string
		// notable is how many decisions to be noted come in between.
		notable int
	}{{"the oldest", keptNotable - 1}, {"one of several", 0}} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, false)
			explained := journal.Event{Kind: journal.Decision, Instance: 9, Lease: 1, Steps: steps()}
			f.take(explained, false)
			for range test.notable {
				f.take(journal.Event{Kind: journal.Refused, Code: 429}, false)
			}
			for range keptLast {
				f.decide("m1", "vllm-1")
			}
			f.take(journal.Event{Kind: journal.Completion, Instance: 9, Lease: 1, Code: 502,
				Ended: journal.EndedReset}, false)
			f.decide("m1", "vllm-1")
			f.decide("m1", "vllm-1")
			listed := 0
			for _, d := range f.recent.notable.all {
				if d != nil && d.lease == (leaseKey{9, 1}) && d.Status == "502" {
					listed++
				}
			}
			if listed != 1 {
				t.Errorf("the failure is listed %d times, want once", listed)
			}
			seen := map[uint64]bool{}
			for _, d := range f.Decisions(0).Decisions {
				if seen[d.ID] {
					t.Errorf("request %d is listed twice", d.ID)
				}
				seen[d.ID] = true
			}
		})
	}
}
