package state

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// TestLearnBegan: which answers that begin show together what their prompts took, and when that is learnt.
func TestLearnBegan(t *testing.T) {
	const ms = int64(time.Millisecond)
	before := together{2, 3000, 0.2, false}
	tests := []struct {
		name  string
		began int64 // when the answer before did, in milliseconds after the decision
		now   int64
		m     mark
		wait  int32 // have not begun
		want  together
		// taught says whether what was computed before is learnt, and all if nobody waits.
		taught uint32
	}{
		{"the first one since it was decided", -50, 110, mark{own: 1000}, 1, together{1, 1000, 0.11, false}, 1},
		{"some time after another", 50, 110, mark{own: 1000}, 1, together{1, 1000, 0.06, false}, 1},
		{"with another", 109, 110, mark{own: 1000}, 1, together{3, 4000, 0.2, false}, 0},
		{"hardly with another", 108, 110, mark{own: 1000}, 1, together{1, 1000, 0.002, false}, 1},
		{"hardly before another", 111, 110, mark{own: 1000}, 1, together{3, 4000, 0.2, false}, 0},
		{"told late", 112, 110, mark{own: 1000}, 1, before, 0},
		{"with another, but decided on since", 0, 1, mark{own: 1000}, 1, together{1, 1000, 0.001, false}, 1},
		{"half of it cached", 50, 110, mark{own: 1000, prompt: 2000}, 1, together{1, 1000, 0.06, false}, 1},
		{"more of it cached", 50, 110, mark{own: 1000, prompt: 2001}, 1, together{1, 1000, 0.06, true}, 1},
		{"with another, and more of it cached", 109, 110, mark{own: 1000, prompt: 2001}, 1,
			together{3, 4000, 0.2, true}, 0},
		{"and nobody waits", 50, 110, mark{own: 1000}, 0, together{}, 2},
		{"with another, and nobody waits", 109, 110, mark{own: 1000}, 0, together{}, 1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f, v := known()
			tc.m.decided = someTime
			v.began, v.batch, v.unbegun = someTime+tc.began*ms, before, tc.wait
			f.speeds.learnBegan(v, &tc.m, someTime+tc.now*ms, 0.11)
			got := v.batch
			if !near(got.seconds, tc.want.seconds, 1e-9) {
				t.Errorf("took %v seconds, want %v", got.seconds, tc.want.seconds)
			}
			if got.seconds = tc.want.seconds; got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if got := f.speeds.prompt.samples - fewSamples; got != tc.taught {
				t.Errorf("%d were learnt from, want %d", got, tc.taught)
			}
			if f.speeds.queue.samples != 0 || v.ttft.Samples != 0 {
				t.Error("a time of which nothing was expected was compared")
			}
		})
	}
	f, v := known()
	f.speeds.queue = newFactor()
	f.speeds.learnBegan(v, &mark{decided: someTime, own: 1000, expected: 0.3, plain: 0.2}, someTime+250*ms, 0.25)
	if q := f.speeds.queue; q.samples != 1 || q.f <= 1.1 || q.f >= 1.12 || !near(v.ttft.Predicted, 0.3, 1e-9) ||
		!near(v.ttft.Actual, 0.25, 1e-9) {
		t.Errorf("got a factor of %+v and %+v, want half the way to 1.25, and 0.3 predicted of 0.25", q, v.ttft)
	}
}

// TestSpeedsToldMinutesLate: what another gateway tells of minutes ago has nothing computed since then, and teaches
// nothing that goes by what was under way meanwhile.
func TestSpeedsToldMinutesLate(t *testing.T) {
	a := newAnswerer(1, 1)
	for range 40 {
		a.answer(a.decide(0, 2000, 2000), 0.2, 0.01, 20, 200)
	}
	long := a.decide(0, 40_000, 40_000)
	s := a.states[0].InFlight.speeds
	before, began, taught := a.ttft(0, 1000), s.speeds[0].began, s.token.samples
	now := a.now
	for range 3 {
		a.now = now - int64(5*time.Minute)
		a.answer(a.decide(0, 10, 10), 0.2, 0.05, 20, 200)
	}
	a.now = now
	if got := a.ttft(0, 1000); !near(got, before, 0.02) {
		t.Errorf("behind a long prompt: TTFT %.3f s, want %.3f s as before", got, before)
	}
	if got := s.speeds[0].began; got != began {
		t.Errorf("the last answer began %v earlier, want as before", time.Duration(began-got))
	}
	if got := s.token.samples - taught; got != 0 {
		t.Errorf("the tokens of %d answers were learnt from, want none", got)
	}
	a.answer(long, 4, 0.01, 20, 200)
	if got := s.token.samples - taught; got != 1 {
		t.Errorf("the tokens of %d answers were learnt from, want the last one's", got)
	}
}

// TestBeganALittleLate: an answer that is told of behind a later one's beginning takes no time back.
func TestBeganALittleLate(t *testing.T) {
	a := newAnswerer(1, 1)
	first, second := a.decide(0, 100_000, 100_000), a.decide(0, 100_000, 100_000)
	a.now += int64(5 * time.Second)
	for _, e := range []*journal.Event{&first, &second} {
		e.Kind, e.Status, e.TTFTMicros = journal.Began, 200, 1e6
	}
	first.Time, second.Time = a.now, a.now-int64(3*time.Second)
	a.apply(&first)
	a.apply(&second)
	v := a.states[0].InFlight.speed(0)
	if v.at != a.now || v.began != a.now || v.computed != 200_000 {
		t.Errorf("%v tokens computed %v ago, the last answer begun %v ago; want 200,000 and now", v.computed,
			time.Duration(a.now-v.at), time.Duration(a.now-v.began))
	}
}

// TestPass: what is under way counts for as long as it is.
func TestPass(t *testing.T) {
	const second = int64(time.Second)
	v := newSpeed()
	v.running, v.context = 2, 1000
	for _, tc := range []struct {
		name             string
		at               int64
		running, context float64
		since            int64
	}{
		{"the first time", someTime, 0, 0, someTime},
		{"three seconds later", someTime + 3*second, 6, 3000, someTime + 3*second},
		{"at the same time", someTime + 3*second, 6, 3000, someTime + 3*second},
		{"told late", someTime + second, 6, 3000, someTime + 3*second},
		{"a second later", someTime + 4*second, 8, 4000, someTime + 4*second},
	} {
		v.pass(tc.at)
		if v.runningSum != tc.running || v.contextSum != tc.context || v.since != tc.since {
			t.Errorf("%s: got %v and %v by %d, want %v and %v by %d", tc.name, v.runningSum, v.contextSum, v.since,
				tc.running, tc.context, tc.since)
		}
	}
}

// TestSkipPrompt: what nobody computes is off the endpoint's hands, as far as it was on them.
func TestSkipPrompt(t *testing.T) {
	for _, tc := range []struct {
		name                string
		computed, own, want float64
		streamed            bool
	}{
		{"all of it", 3000, 1000, 4000, true},
		{"as far as it was to be computed", 4500, 1000, 5000, true},
		{"not streamed", 3000, 1000, 4000, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, v := known()
			v.charged, v.computed, v.unbegun, v.waiting = 5000, tc.computed, 2, 1500
			m := mark{computes: place{}, own: tc.own, streamed: tc.streamed}
			f.skipPrompt(&m)
			unbegun, waiting := int32(2), 1500.0
			if tc.streamed {
				unbegun, waiting = 1, 500
			}
			if v.computed != tc.want || v.unbegun != unbegun || v.waiting != waiting || m.computes.index != -1 {
				t.Errorf("got %v computed, %d waiting with %v, at %+v; want %v, %d and %v, nowhere", v.computed,
					v.unbegun, v.waiting, m.computes, tc.want, unbegun, waiting)
			}
		})
	}
}

// TestLearnWhole: what the whole time of an answer teaches, of which 10 ms, 0.1 ms for each token of its prompt and 10
// ms for each of its own after the first are expected.
func TestLearnWhole(t *testing.T) {
	tests := []struct {
		name           string
		samples        uint32 // of whole answers before
		output         uint32
		took           float64
		prompt, tokens bool // are taught
	}{
		{"both take a fair part", 2*fewSamples - 1, 11, 0.21, true, true},
		{"too little is known", 2*fewSamples - 2, 11, 0.21, false, false},
		{"hardly anything is the prompt's", 99, 101, 1.11, false, true},
		{"hardly anything is the answer's", 99, 2, 0.12, true, false},
		{"a bit more than a fair part is the prompt's", 99, 33, 0.43, true, true},
		{"a bit less is", 99, 35, 0.45, false, true},
		{"one token", 99, 1, 0.11, true, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f, v := known()
			s := f.speeds
			s.whole.w, s.whole.samples = [terms]float64{0.01, 0.1, 1}, tc.samples
			s.learnWhole(v, &mark{own: 1000, prompt: 1000},
				&journal.Event{DurationMicros: uint32(tc.took*1e6 + 0.5), OutputTokens: tc.output})
			if prompt, tokens := s.prompt.samples > fewSamples, s.token.samples > fewSamples; prompt != tc.prompt ||
				tokens != tc.tokens {
				t.Errorf("prompts taught %v, tokens %v; want %v and %v", prompt, tokens, tc.prompt, tc.tokens)
			}
			// Both took as long as was expected of them.
			if tc.prompt && !near(s.prompt.at(&[terms]float64{1, 1, 0}), 0.11, 0.01) {
				t.Errorf("a prompt takes %v then, want 0.11", s.prompt.at(&[terms]float64{1, 1, 0}))
			}
			if x := tokenTerms(1, 1000); tc.tokens && !near(s.token.at(&x)*tokenUnit, 0.022, 0.3) {
				t.Errorf("a token takes %v then, want less than 22 ms, as 10 were taken", s.token.at(&x)*tokenUnit)
			}
		})
	}
}
