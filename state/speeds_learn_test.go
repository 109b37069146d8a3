package state

import (
	"math/rand/v2"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// began is the beginning of a request's answer, so many seconds later.
func (a *answerer) began(e journal.Event, after float64) *journal.Event {
	return &journal.Event{Kind: journal.Began, Time: e.Time + int64(after*1e9), Instance: 1, Lease: e.Lease,
		Primary: e.Primary, Status: 200, TTFTMicros: uint32(after * 1e6)}
}

// ended is the end of an answer whose tokens took so long each.
func (a *answerer) ended(began *journal.Event, tpot float64, output uint32) *journal.Event {
	e, rest := *began, tpot*float64(output-1)
	e.Kind, e.Time, e.OutputTokens = journal.Completion, began.Time+int64(rest*1e9), output
	e.DurationMicros = began.TTFTMicros + uint32(rest*1e6)
	return &e
}

// TestSpeedsTogether: prompts that a server computes at once are learnt together, whichever were believed to be cached.
func TestSpeedsTogether(t *testing.T) {
	const rate = 10_000.0
	for _, tt := range []struct {
		name string
		// cached is what is wrongly believed to be cached of one prompt of each batch.
		cached float64
	}{{"new prompts", 0}, {"one that was not cached", 0.95}} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAnswerer(1, 1)
			r := rand.New(rand.NewPCG(1, 1))
			for n := range 120 {
				var batch []journal.Event
				sum, cached := 0.0, 0.0
				for i := range 4 {
					tokens := 500 + r.IntN(2000)
					sum += float64(tokens)
					if i > 0 || n < 2*fewSamples {
						cached = 0
					} else {
						cached = tt.cached
					}
					batch = append(batch, a.decide(0, uint32(float64(tokens)*(1-cached)), uint32(tokens)))
				}
				var begun []*journal.Event
				for i, e := range batch {
					begun = append(begun, a.began(e, sum/rate+0.0002*float64(i)))
					a.apply(begun[i])
				}
				for _, e := range begun {
					a.apply(a.ended(e, 0.01, 5))
				}
				a.now += int64(sum/rate*1e9) + 1e9
			}
			if got, ok := a.states[0].InFlight.Throughput(0); !ok || !near(got, rate, 0.2) {
				t.Errorf("%.0f tokens a second, want %.0f", got, rate)
			}
		})
	}
}
