package state

import (
	"math"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// known is an InFlight with one endpoint of which it is known that a prompt takes 10 ms and 0.1 ms for each token, and
// that each further token of an answer takes 20 ms, 1 ms more for each answer under way and 1 us for each token of
// their prompts. First tokens come half as late again as the prompts' times tell.
func known() (f *InFlight, v *speed) {
	s := New(Options{InFlight: true, Speeds: true})
	s.SetEndpoints([]uint64{1})
	f = s.InFlight
	f.speeds.prompt.w, f.speeds.prompt.samples = [terms]float64{0.01, 0.1}, fewSamples
	f.speeds.token.w, f.speeds.token.samples = [terms]float64{2, 1, 1}, fewSamples
	f.speeds.queue.f = 1.5
	v = &f.speeds.speeds[0]
	v.at = someTime
	return f, v
}

// TestPredictor: what a request of a prompt of 2,000 tokens, 1,000 of which are to be computed, meets at an endpoint.
func TestPredictor(t *testing.T) {
	at := func(now int64) func(v *speed) {
		return func(v *speed) { v.charged, v.computed, v.at = 6000, 1000, now }
	}
	both := func(changes ...func(v *speed)) func(v *speed) {
		return func(v *speed) {
			for _, change := range changes {
				change(v)
			}
		}
	}
	unbegun := func(n int32, tokens float64) func(v *speed) {
		return func(v *speed) { v.unbegun, v.waiting = n, tokens }
	}
	tests := []struct {
		name   string
		change func(v *speed)
		// ttft is without the half that first tokens are later.
		ttft, tpot float64
	}{
		{"idle", func(*speed) {}, 0.01 + 0.1, 0.02 + 0.001 + 0.002},
		{"twice as slow with prompts", func(v *speed) { v.prompt.used = 2 }, 0.02 + 0.2, 0.023},
		{"twice as slow with answers", func(v *speed) { v.token.used = 2 }, 0.11, 0.046},
		{"known to be slow, but not used", func(v *speed) { v.prompt.f, v.token.f = 2, 2 }, 0.11, 0.023},
		{"has to compute 5,000 tokens", at(someTime), 0.11 + 0.5, 0.023},
		{"and had 0.2 s for it", at(someTime - 200*milli), 0.11 + 0.3, 0.023},
		{"and had longer than it takes", at(someTime - 600*milli), 0.11, 0.023},
		{"what is told late takes no time off", at(someTime + 200*milli), 0.11 + 0.5, 0.023},
		{"its answer is late", both(at(someTime-600*milli), unbegun(1, 0)), 0.01*2 + 0.1 + 0.05, 0.024},
		{"half of what waits is ahead", both(at(someTime-400*milli), unbegun(2, 8000)), 0.01*3 + 0.1 + 0.4, 0.025},
		{"two thirds of it", unbegun(3, 3000), 0.01*4 + 0.1 + 0.2, 0.026},
		{"of one that waits all is computed already", both(at(someTime-400*milli), unbegun(1, 8000)),
			0.01*2 + 0.1 + 0.1, 0.024},
		{"more is ahead than waits", both(at(someTime), unbegun(2, 8000)), 0.01*3 + 0.1 + 0.5, 0.025},
		{"answers nine", func(v *speed) { v.running, v.context = 9, 8000 }, 0.11, 0.02 + 0.01 + 0.01},
		{"answers nine, and three wait", func(v *speed) { v.running, v.unbegun = 9, 3 }, 0.01*4 + 0.1,
			0.02 + 0.013 + 0.002},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f, v := known()
			tc.change(v)
			p, ok := f.Predictor(someTime)
			var got Times
			p.At(0, 1000, 2000, &got)
			want := Times{tc.ttft * 1.5, tc.tpot, 0.0001 * v.prompt.used, int(v.unbegun)}
			if !ok || !near(got.TTFT, want.TTFT, 1e-9) || !near(got.TPOT, want.TPOT, 1e-9) ||
				!near(got.PerToken, want.PerToken, 1e-9) || got.Unbegun != want.Unbegun {
				t.Errorf("got %+v and %v, want %+v", got, ok, want)
			}
			ttft, _ := f.TTFT(0, someTime, 1000)
			if tpot, _ := f.TPOT(0, 2000); ttft != got.TTFT || tpot != got.TPOT {
				t.Errorf("one by one: got %v and %v, want %v and %v", ttft, tpot, got.TTFT, got.TPOT)
			}
			got.TTFT = 1
			if p.At(1, 1000, 2000, &got); got != (Times{}) {
				t.Errorf("out of range: got %+v, want nothing", got)
			}
		})
	}
}

// TestPredictorLeast: no time is shorter than makes a difference.
func TestPredictorLeast(t *testing.T) {
	f, v := known()
	f.speeds.prompt.w, f.speeds.token.w = [terms]float64{}, [terms]float64{}
	v.prompt.used = 1
	p, _ := f.Predictor(someTime)
	var got Times
	if p.At(0, 1000, 2000, &got); !near(got.TTFT, 0.005*1.5, 1e-9) || !near(got.TPOT, 0.0005, 1e-9) {
		t.Errorf("got %+v, want 5 ms, half as late again, and 0.5 ms", got)
	}
}

// TestSpeedsKnown: from eight samples on a time is no guess, and before any it is that of 8,000 tokens a second and 20
// ms for each of an answer.
func TestSpeedsKnown(t *testing.T) {
	for samples, want := range map[uint32]bool{0: false, 7: false, 8: true, 9: true} {
		f, _ := known()
		f.speeds.prompt.samples, f.speeds.token.samples = samples, samples
		_, ttft := f.TTFT(0, someTime, 1)
		_, tpot := f.TPOT(0, 1)
		_, throughput := f.Throughput(0)
		_, all := f.Predictor(someTime)
		if ttft != want || tpot != want || throughput != want || all != want {
			t.Errorf("%d samples: got %v, %v, %v and %v, want %v of each", samples, ttft, tpot, throughput, all, want)
		}
	}
	s := New(Options{InFlight: true, Speeds: true})
	s.SetEndpoints([]uint64{1})
	ttft, _ := s.InFlight.TTFT(0, someTime, 4000)
	tpot, _ := s.InFlight.TPOT(0, 0)
	if rate, ok := s.InFlight.Throughput(0); ok || !near(rate, 8000, 1e-9) || !near(ttft, 0.5, 1e-9) ||
		!near(tpot, 0.02, 1e-9) {
		t.Errorf("guesses: got %v tokens a second, %v and %v, want 8,000, 0.5 and 0.02", rate, ttft, tpot)
	}
}

func TestThroughput(t *testing.T) {
	f, v := known()
	for used, want := range map[float64]float64{1: 10_000, 2: 5000} {
		v.prompt.used = used
		if got, ok := f.Throughput(0); !ok || !near(got, want, 1e-9) {
			t.Errorf("%v times as slow: got %v, %v, want %v", used, got, ok, want)
		}
	}
	f.speeds.prompt.w[1] = 0
	if got, ok := f.Throughput(0); ok || got != 8000 {
		t.Errorf("no time for a token: got %v, %v, want the guess, 8,000", got, ok)
	}
}

// TestWithoutSpeeds: nothing is told of endpoints that are none, nor where speeds are not learnt.
func TestWithoutSpeeds(t *testing.T) {
	learnt, _ := known()
	not, _ := newInFlight(0, 0, 1)
	for name, tc := range map[string]struct {
		f     *InFlight
		index int
	}{"below": {learnt, -1}, "beyond": {learnt, 1}, "not learnt": {not, 0}} {
		ttft, known1 := tc.f.TTFT(tc.index, someTime, 1)
		tpot, known2 := tc.f.TPOT(tc.index, 1)
		rate, known3 := tc.f.Throughput(tc.index)
		_, _, known4 := tc.f.Accuracy(tc.index)
		if ttft != 0 || tpot != 0 || rate != 0 || known1 || known2 || known3 || known4 {
			t.Errorf("%s: got %v, %v and %v, want nothing", name, ttft, tpot, rate)
		}
	}
	if _, ok := not.Predictor(someTime); ok {
		t.Error("there is a predictor where speeds are not learnt")
	}
}

// TestPredicted: what was predicted for a request when it was decided is kept with it, as far as it is known.
func TestPredicted(t *testing.T) {
	tests := []struct {
		name          string
		prompt, token uint32 // samples
		load          uint32
		ttft, tpot    float64
	}{
		{"both", fewSamples, fewSamples, 1000, 0.11 * 1.5, 0.023},
		{"too little is known of prompts", fewSamples - 1, fewSamples, 1000, 0, 0.023},
		{"too little is known of answers", fewSamples, fewSamples - 1, 1000, 0.11 * 1.5, 0},
		{"nothing to compute", fewSamples, fewSamples, 0, 0, 0.023},
		{"one token to compute", fewSamples, fewSamples, 1, 0.0101 * 1.5, 0.023},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f, _ := known()
			f.speeds.prompt.samples, f.speeds.token.samples = tc.prompt, tc.token
			endpoints := new(Endpoints)
			endpoints.Set([]uint64{1})
			e := &journal.Event{Kind: journal.Decision, Time: someTime, Instance: 1, Lease: 1, Primary: 1,
				PrimaryLoad: tc.load, InputTokens: 2000}
			f.Open(e, endpoints)
			ttft, tpot := f.Predicted(1, 1)
			if !(math.Abs(ttft-tc.ttft) <= 1e-9) || !(math.Abs(tpot-tc.tpot) <= 1e-9) {
				t.Errorf("got %v and %v, want %v and %v", ttft, tpot, tc.ttft, tc.tpot)
			}
			if ttft, tpot := f.Predicted(1, 2); ttft != 0 || tpot != 0 {
				t.Errorf("an unknown request: got %v and %v, want nothing", ttft, tpot)
			}
		})
	}
	f, endpoints := newInFlight(0, 0, 1)
	f.Open(decision(someTime, 1, endpoints.ID(0), 0), endpoints)
	if ttft, tpot := f.Predicted(1, 1); ttft != 0 || tpot != 0 {
		t.Errorf("where speeds are not learnt: got %v and %v, want nothing", ttft, tpot)
	}
}

// TestAccuracyOfLate: the means go by all samples as long as they are few, and then by those of late.
func TestAccuracyOfLate(t *testing.T) {
	var a Accuracy
	a.add(2, 4)
	a.add(6, 2)
	if want := (Accuracy{Predicted: 4, Actual: 3, Error: 1.25, Samples: 2}); a != want {
		t.Errorf("two samples: got %+v, want %+v", a, want)
	}
	a = Accuracy{Predicted: 1, Actual: 1, Error: 0, Samples: 1000}
	a.add(3, 2)
	if !near(a.Predicted, 1.1, 1e-9) || !near(a.Actual, 1.05, 1e-9) || !near(a.Error, 0.025, 1e-9) {
		t.Errorf("one of many: got %+v, want 1.1, 1.05 and 0.025: a twentieth of the way", a)
	}
}
