package state

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// unstreamed has an answer come as a whole after some seconds.
func (a *answerer) unstreamed(e journal.Event, took float64, output uint32) {
	ended := journal.Event{Kind: journal.Completion, Time: e.Time + int64(took*1e9), Instance: 1, Lease: e.Lease,
		Primary: e.Primary, Status: 200, TTFTMicros: uint32(took * 1e6), DurationMicros: uint32(took*1e6) + 1,
		OutputTokens: output, UsageReported: true}
	a.apply(&ended)
	a.now = max(a.now, ended.Time+1e6)
}

// whole sends a request to a server whose answer is not streamed.
func (a *answerer) whole(server int, tokens uint32) journal.Event {
	a.lease++
	e := journal.Event{Kind: journal.Decision, Time: a.now, Instance: 1, Lease: a.lease, Primary: uint64(server + 1),
		PrimaryLoad: tokens, InputTokens: tokens}
	a.apply(&e)
	return e
}

// TestSpeedsWhole: answers that are not streamed teach both times, if their requests found the server idle.
func TestSpeedsWhole(t *testing.T) {
	rates, tpots := []float64{10_000, 2_500}, []float64{0.01, 0.04}
	for _, tt := range []struct {
		name string
		// beside has another request under way at the same server.
		beside, learns bool
	}{{"alone", false, true}, {"beside others", true, false}} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAnswerer(1, 2)
			r := rand.New(rand.NewPCG(1, 1))
			var others []journal.Event
			for i := range 2 {
				if tt.beside {
					others = append(others, a.whole(i, 1))
				}
			}
			for range 300 {
				i := r.IntN(2)
				tokens, output := uint32(500+r.IntN(8000)), uint32(1+r.IntN(100))
				took := math.Exp(0.05*r.NormFloat64()) * (float64(tokens)/rates[i] + float64(output-1)*tpots[i])
				a.unstreamed(a.whole(i, tokens), took, output)
			}
			for _, e := range others {
				a.unstreamed(e, 1, 1)
			}
			for i, rate := range rates {
				_, ok := a.states[0].InFlight.TTFT(i, a.now, 1000)
				if ok != tt.learns {
					t.Fatalf("server %d: predicts %v, want %v", i, ok, tt.learns)
				}
				for _, tokens := range []float64{2000, 8000} {
					if got, want := a.ttft(i, tokens), tokens/rate; ok && !near(got, want, 0.2) {
						t.Errorf("server %d, %v tokens: TTFT %.3f, want %.3f", i, tokens, got, want)
					}
				}
				if got, _ := a.states[0].InFlight.TPOT(i, 1000); ok && !near(got, tpots[i], 0.2) {
					t.Errorf("server %d: TPOT %.4f, want %.4f", i, got, tpots[i])
				}
			}
		})
	}
}
