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
		if got := s.InFlight.Busy(0); math.Abs(got-step.want) > 1e-9 {
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
}
