package state

import (
	"math"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

func TestBusy(t *testing.T) {
	half := int64(BusyHalfLife)
	s := New(Options{InFlight: true, Busy: true, RequestTimeout: time.Hour})
	s.SetEndpoints([]uint64{1, 2})
	open := func(at int64, lease uint32) {
		s.Apply(&journal.Event{Kind: journal.Decision, Time: at, Instance: 1, Lease: lease, Primary: 1})
	}
	end := func(at int64, lease uint32) {
		s.Apply(&journal.Event{Kind: journal.Completion, Time: at, Instance: 1, Lease: lease, Primary: 1})
	}
	steps := []struct {
		name string
		do   func(now int64)
		want float64
	}{
		{"idle", func(int64) {}, 0},
		{"a request comes", func(now int64) { open(now, 1) }, 0},
		{"a half-life later", func(now int64) { open(now, 2) }, 0.5},
		{"two at once count as one", func(now int64) { end(now, 1) }, 0.75},
		{"still one", func(now int64) { end(now, 2) }, 0.875},
		{"idle for a half-life", func(int64) {}, 0.4375},
	}
	for i, step := range steps {
		now := someTime + int64(i)*half
		s.Expire(now)
		step.do(now)
		if got := s.InFlight.Busy(0); !(math.Abs(got-step.want) <= 1e-9) {
			t.Errorf("%s: busy %v, want %v", step.name, got, step.want)
		}
		if got := s.InFlight.Busy(1); got != 0 {
			t.Errorf("%s: the other endpoint is busy %v, want 0", step.name, got)
		}
	}
	if got := s.InFlight.Busy(99); got != 0 {
		t.Errorf("busy %v of an endpoint that is not there, want 0", got)
	}
}

// TestBusyGoesByEvents: a worker that is told late knows as much as one that was told at once.
func TestBusyGoesByEvents(t *testing.T) {
	half := int64(BusyHalfLife)
	event := func(kind journal.Kind, at int64, lease uint32, primary, tried uint64) journal.Event {
		return journal.Event{Kind: kind, Time: someTime + at, Instance: 1, Lease: lease, Primary: primary, Tried: tried}
	}
	tests := []struct {
		name   string
		events []journal.Event
		want   [2]float64
	}{
		{"ended", []journal.Event{event(journal.Decision, 0, 1, 1, 0), event(journal.Completion, half, 1, 1, 0)},
			[2]float64{0.25, 0}},
		{"open", []journal.Event{event(journal.Decision, half, 1, 1, 0)}, [2]float64{0.5, 0}},
		{"told in another order", []journal.Event{event(journal.Decision, half, 1, 1, 0),
			event(journal.Decision, 0, 2, 1, 0)}, [2]float64{0.5, 0}},
		{"taken over", []journal.Event{event(journal.Decision, 0, 1, 1, 0), event(journal.Began, half, 1, 2, 1)},
			[2]float64{0.25, 0.5}},
		{"another took its lease", []journal.Event{event(journal.Decision, 0, 1, 1, 0),
			event(journal.Decision, half, 1, 2, 0)}, [2]float64{0.25, 0.5}},
		{"timed out", []journal.Event{event(journal.Decision, -3*half, 1, 1, 0)}, [2]float64{0.46875, 0}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := New(Options{InFlight: true, Busy: true, Begins: true, RequestTimeout: 4 * BusyHalfLife})
			s.SetEndpoints([]uint64{1, 2})
			for i := range tc.events {
				s.Apply(&tc.events[i])
			}
			s.Expire(someTime + 2*half)
			for i, want := range tc.want {
				if got := s.InFlight.Busy(i); !(math.Abs(got-want) <= 1e-9) {
					t.Errorf("endpoint %d: busy %v, want %v", i, got, want)
				}
			}
		})
	}
}

func TestUsage(t *testing.T) {
	s := New(Options{Usage: true})
	s.SetEndpoints([]uint64{1})
	for _, e := range []journal.Event{
		{Status: 200, InputTokens: 10, OutputTokens: 100},
		{Status: 200, InputTokens: 30, OutputTokens: 200},
		{Status: 200},
		{Status: 500, InputTokens: 999, OutputTokens: 999},
		{InputTokens: 999, OutputTokens: 999},
	} {
		e.Kind, e.Primary, e.Time = journal.Completion, 1, someTime
		s.Apply(&e)
	}
	if in, out := s.Usage.Input.Mean(0), s.Usage.Output.Mean(0); in != 20 || out != 150 {
		t.Errorf("means %v and %v, want 20 and 150", in, out)
	}
	for _, e := range []journal.Event{{Status: 201, InputTokens: 80}, {Status: 200, OutputTokens: 300}} {
		e.Time = someTime
		s.Usage.Complete(0, &e)
	}
	if in, out := s.Usage.Input.Count(0), s.Usage.Output.Count(0); in != 4 || out != 4 {
		t.Errorf("with two that report one of both: %d and %d samples, want 4", in, out)
	}
}
