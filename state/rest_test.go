package state

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// TestNothingIsLeft: whatever was decided, begun, taken over, ended, and lost, while endpoints came and went, nothing
// is in flight anywhere once all leases have ended.
func TestNothingIsLeft(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := New(Options{InFlight: true, Begins: true, KeepTokens: seed%2 == 0, Speeds: true, Busy: true,
			Failures: true, Prefix: true, Models: []uint64{1, 2}, RequestTimeout: 1e6, MaxLeases: 50})
		ids := []uint64{1, 2, 3, 4, 5, 6}
		s.SetEndpoints(ids)
		now := speedsEpoch
		for range 5000 {
			now += r.Int64N(2e7)
			anybody := func() uint64 { return r.Uint64N(8) }
			e := &journal.Event{Time: now - r.Int64N(1e7), Instance: 1 + r.Uint64N(3), Lease: r.Uint32N(100),
				Primary: anybody(), Model: r.Uint64N(4), Streamed: r.IntN(2) == 0, PrimaryLoad: r.Uint32N(5000),
				PrefillLoad: r.Uint32N(5000), EncodeLoad: r.Uint32N(50), InputTokens: r.Uint32N(9000)}
			switch n := r.IntN(100); {
			case n < 45:
				e.Kind = journal.Decision
				if r.IntN(3) == 0 {
					e.Prefill, e.Encode = anybody(), []uint64{anybody(), anybody()}
				}
			case n < 65:
				e.Kind, e.Status, e.TTFTMicros = journal.Began, 200, 1+r.Uint32N(1e6)
			case n < 95:
				e.Kind, e.Status, e.DurationMicros = journal.Completion, 200, r.Uint32N(3e6)
				e.TTFTMicros, e.OutputTokens = r.Uint32N(1e6), r.Uint32N(50)
			case n < 96:
				e.Kind = journal.Gone
			case n < 98:
				r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
				s.SetEndpoints(ids[:r.IntN(len(ids)+1)])
				continue
			default:
				s.Expire(now)
				continue
			}
			if e.Kind != journal.Decision && r.IntN(4) == 0 {
				e.Tried = anybody()
			}
			s.Apply(e)
		}
		s.Expire(now + 2e9)
		wantRest(t, s, seed)
	}
}

func wantRest(t *testing.T, s *State, seed uint64) {
	t.Helper()
	f := s.InFlight
	for i := range f.loads {
		l, v := &f.loads[i], &f.speeds.speeds[i]
		if l.open != 0 || l.tokens != 0 || f.open.at(uint32(i)).n != 0 {
			t.Errorf("seed %d, endpoint %d: %d in flight with %d tokens, %d times, want none", seed, i, l.open,
				l.tokens, f.open.at(uint32(i)).n)
		}
		if v.unbegun != 0 || v.waiting != 0 || v.running != 0 || v.context != 0 || v.computed > v.charged {
			t.Errorf("seed %d, endpoint %d: %d unbegun with %v tokens, %v running with %v, %v of %v computed, "+
				"want none", seed, i, v.unbegun, v.waiting, v.running, v.context, v.computed, v.charged)
		}
		if sum := f.speeds.prompt.w[1] + v.prompt.f + v.token.f + l.busy.share; math.IsNaN(sum) {
			t.Errorf("seed %d, endpoint %d: a speed is no number", seed, i)
		}
	}
	free := uint32(0)
	for i := f.free; i != 0; i = f.charges.at(i).next {
		free++
	}
	if f.Leases() != 0 || free != f.top || f.OfModel(0) != 0 || f.OfModel(1) != 0 {
		t.Errorf("seed %d: %d leases, %d of %d charges free, %d and %d of models, want no lease and all free", seed,
			f.Leases(), free, f.top, f.OfModel(0), f.OfModel(1))
	}
}
