package state

import (
	"math"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// TestStagesFailTogether: what a completion tells counts for the endpoints of all stages, as far as they had a part in
// it: 0 and 1 serve in turn, with 2 for prefill and 3 for encode.
func TestStagesFailTogether(t *testing.T) {
	failed := journal.Event{Status: 502, Ended: journal.EndedWhole}
	answered := journal.Event{Status: 200, Ended: journal.EndedWhole, TTFTMicros: 1, DurationMicros: 1}
	share := func(failures, answers int) float64 {
		left := math.Pow(1-FailureWeight, float64(failures))
		return (1 - left) * math.Pow(1-FailureWeight, float64(answers))
	}
	for _, tc := range []struct {
		name                   string
		options                Options
		decision               journal.Event
		ends                   []journal.Event
		served, prefill, every float64 // shares of 0, 2 and 3
	}{
		{"all fail", Options{InFlight: true, Stages: true}, journal.Event{Prefill: 3, Encode: []uint64{4}},
			times(6, failed), share(3, 0), share(6, 0), share(6, 0)},
		{"prefill alone helps", Options{InFlight: true, Stages: true}, journal.Event{Prefill: 3},
			times(6, failed), share(3, 0), share(6, 0), 0},
		{"refusals", Options{InFlight: true, Stages: true}, journal.Event{Prefill: 3},
			times(6, journal.Event{Status: 429, Ended: journal.EndedWhole}), share(3, 0), share(6, 0), 0},
		{"answers", Options{InFlight: true, Stages: true}, journal.Event{Prefill: 3, Encode: []uint64{4}},
			append(times(6, failed), times(4, answered)...), share(3, 2), share(6, 4), share(6, 4)},
		{"answers whose beginning ended the prompt", Options{InFlight: true, Stages: true, Begins: true},
			journal.Event{Prefill: 3},
			append(times(6, failed), times(4, answered)...), share(3, 2), share(6, 4), 0},
		{"answers that break off", Options{InFlight: true, Stages: true}, journal.Event{Prefill: 3},
			times(6, journal.Event{Status: 502, Ended: journal.EndedReset}), share(3, 0), 0, 0},
		{"nobody was reached", Options{InFlight: true, Stages: true}, journal.Event{Prefill: 3},
			times(6, journal.Event{Status: 503, Ended: journal.EndedUnreached}), share(3, 0), 0, 0},
		{"clients left", Options{InFlight: true, Stages: true}, journal.Event{Prefill: 3},
			append(times(6, failed), times(4, journal.Event{Ended: journal.EndedClient})...),
			share(3, 0), share(6, 0), 0},
		{"who serves does prefill, too", Options{InFlight: true, Stages: true},
			journal.Event{Prefill: 1, Encode: []uint64{2}}, times(6, failed), share(6, 0), 0, 0},
		{"stages are not asked for", Options{InFlight: true}, journal.Event{Prefill: 3}, times(6, failed),
			share(3, 0), 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.options.Failures = true
			s := New(tc.options)
			s.SetEndpoints([]uint64{1, 2, 3, 4})
			s.Expire(someTime)
			for i, end := range tc.ends {
				e := tc.decision
				e.Kind, e.Time, e.Instance, e.Lease = journal.Decision, someTime, 1, uint32(i+1)
				e.Primary, e.Client, e.Streamed = 1+uint64(i%2), uint64(i+1), true
				s.Apply(&e)
				primary, client := e.Primary, e.Client
				if end.Status == 200 {
					s.Apply(&journal.Event{Kind: journal.Began, Time: someTime, Instance: 1, Lease: e.Lease,
						Status: 200, Primary: primary, Client: client, Streamed: true, TTFTMicros: 1})
				}
				end.Kind, end.Time, end.Instance, end.Lease = journal.Completion, someTime, 1, e.Lease
				end.Primary, end.Client, end.Streamed = primary, client, true
				s.Apply(&end)
			}
			for index, want := range map[int]float64{0: tc.served, 2: tc.prefill, 3: tc.every} {
				if got := s.Failures.Share(index, someTime); !(math.Abs(got-want) < 1e-9) {
					t.Errorf("the share of %d is %v, want %v", index, got, want)
				}
			}
			if s.InFlight != nil && (s.InFlight.Leases() != 0 || s.InFlight.InFlight(2) != 0) {
				t.Errorf("%d are in flight, %d of them at 2, want none", s.InFlight.Leases(), s.InFlight.InFlight(2))
			}
		})
	}
}

// TestStagesThatLeft: an endpoint that left the pool while it helped is not to blame under its new name.
func TestStagesThatLeft(t *testing.T) {
	s := New(Options{Failures: true, Stages: true, InFlight: true})
	s.SetEndpoints([]uint64{1, 2})
	for lease := range uint32(6) {
		s.Apply(&journal.Event{Kind: journal.Decision, Time: someTime, Instance: 1, Lease: lease + 1, Primary: 1,
			Prefill: 2, Client: uint64(lease + 1)})
	}
	s.SetEndpoints([]uint64{1})
	s.SetEndpoints([]uint64{1, 3})
	for lease := range uint32(6) {
		s.Apply(&journal.Event{Kind: journal.Completion, Time: someTime + int64(time.Second), Instance: 1,
			Lease: lease + 1, Primary: 1, Client: uint64(lease + 1), Status: 500, Ended: journal.EndedWhole})
	}
	if got := s.Failures.Share(s.Endpoints.Index(3), someTime+int64(time.Second)); got != 0 {
		t.Errorf("the share of who came in its place is %v, want 0", got)
	}
}

func times(n int, e journal.Event) (events []journal.Event) {
	for range n {
		events = append(events, e)
	}
	return events
}
