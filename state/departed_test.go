package state

import (
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// TestNothingOfAFormerEndpoint: an endpoint that takes the place of one that left has nothing of it.
func TestNothingOfAFormerEndpoint(t *testing.T) {
	s := New(Options{Latency: true, Failures: true, Usage: true, InFlight: true})
	s.SetEndpoints([]uint64{1})
	s.Expire(someTime)
	told := func() map[string]float64 {
		return map[string]float64{
			"times to the first token": float64(s.Latency.TTFT.Count(0)),
			"times for a token":        float64(s.Latency.TPOT.Count(0)),
			"input tokens":             float64(s.Usage.Input.Count(0)),
			"output tokens":            float64(s.Usage.Output.Count(0)),
			"share of failures":        s.Failures.Share(0, someTime),
			"unanswered requests":      float64(s.Failures.silent[0].n),
			"requests in flight":       float64(s.InFlight.InFlight(0)),
		}
	}
	for _, e := range []journal.Event{
		{Kind: journal.Completion, Status: 200, TTFTMicros: 5, DurationMicros: 50, InputTokens: 7, OutputTokens: 8},
		{Kind: journal.Completion, Status: 500, TTFTMicros: 5, Client: 1},
		{Kind: journal.Completion, Status: 500, TTFTMicros: 5, Client: 2},
		{Kind: journal.Decision, Instance: 1, Lease: 1},
	} {
		e.Time, e.Primary = someTime, 1
		s.Apply(&e)
	}
	for what, got := range told() {
		if got == 0 {
			t.Errorf("%s before: got none, want some", what)
		}
	}
	s.SetEndpoints(nil)
	s.SetEndpoints([]uint64{2})
	for what, got := range told() {
		if got != 0 {
			t.Errorf("%s of another endpoint in its place: got %v, want none", what, got)
		}
	}
}

// TestOldSamplesAreForgotten: of times and tokens alike.
func TestOldSamplesAreForgotten(t *testing.T) {
	s := New(Options{Latency: true, Usage: true})
	s.SetEndpoints([]uint64{1})
	s.Expire(someTime)
	s.Apply(&journal.Event{Kind: journal.Completion, Time: someTime, Primary: 1, Status: 200, TTFTMicros: 5,
		DurationMicros: 50, InputTokens: 7, OutputTokens: 8})
	s.Expire(someTime + int64(DefaultWindowAge))
	for what, w := range map[string]*Windows{"times to the first token": s.Latency.TTFT,
		"times for a token": s.Latency.TPOT, "input tokens": s.Usage.Input, "output tokens": s.Usage.Output} {
		if got := w.Count(0); got != 0 {
			t.Errorf("%s: got %d samples, want none", what, got)
		}
	}
}

// TestModelsInUseStay: the model that makes way is the one that was answered by last, in whatever order that is told,
// and no answer but a good one makes a model known.
func TestModelsInUseStay(t *testing.T) {
	m := NewModelLatency(0)
	answer := func(model uint64, at int64) {
		m.Complete(&journal.Event{Model: model, Time: at, Status: 200, TTFTMicros: 5})
	}
	for i := range uint64(MaxModels) {
		answer(i+1, int64(i+1))
	}
	answer(1, MaxModels+1)
	answer(1, 1) // told late
	for _, e := range []journal.Event{{Status: 404, TTFTMicros: 5}, {Status: 200}, {Status: 0, TTFTMicros: 5}} {
		e.Model, e.Time = 1000, MaxModels+2
		m.Complete(&e)
		if m.Index(1000) >= 0 {
			t.Errorf("a model is known by %+v, want none", e)
		}
	}
	answer(1001, MaxModels+3)
	answer(1002, MaxModels+4)
	for model, known := range map[uint64]bool{1: true, 2: false, 3: false, 4: true, 1001: true, 1002: true} {
		if got := m.Index(model) >= 0; got != known {
			t.Errorf("model %d known: got %v, want %v", model, got, known)
		}
	}
}
