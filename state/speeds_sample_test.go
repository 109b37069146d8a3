package state

import (
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// TestLearnPrompt: what the time of the prompts that were computed last teaches, where 0.11 s are expected of them. Of
// one that took much longer four times as long counts, by what the endpoint is thought to be slower then.
func TestLearnPrompt(t *testing.T) {
	one := together{requests: 1, tokens: 1000, seconds: 0.11}
	with := func(change func(b *together)) together { b := one; change(&b); return b }
	tests := []struct {
		name    string
		samples uint32 // of the line before
		used    float64
		batch   together
		took    float64 // as it counts for what is usual, 0 for not at all
		line    bool    // is taught
		factor  bool
	}{
		{"as expected", fewSamples, 1, one, 0.11, true, true},
		{"while too little is known", fewSamples - 1, 1, one, 0.11, true, false},
		{"of no time", fewSamples, 1, with(func(b *together) { b.seconds = 0 }), 0, false, false},
		{"of no prompts", fewSamples, 1, with(func(b *together) { b.requests = 0 }), 0, false, false},
		{"much longer", fewSamples, 1, with(func(b *together) { b.seconds = 10 }), 4 * 0.11 * 1.249875, true,
			true},
		{"much longer, of a slow endpoint", fewSamples, 2, with(func(b *together) { b.seconds = 10 }),
			4 * 0.11 * 2.49925, true, true},
		{"doubtful, as expected", fewSamples, 1, with(func(b *together) { b.doubtful = true }), 0.11, true, true},
		{"doubtful and too little is known", fewSamples - 1, 1, with(func(b *together) { b.doubtful = true }), 0.11,
			false, false},
		{"doubtful and longer", fewSamples, 1, with(func(b *together) { b.doubtful, b.seconds = true, 0.17 }), 0.17,
			false, true},
		{"doubtful and hardly longer", fewSamples, 1, with(func(b *together) { b.doubtful, b.seconds = true, 0.16 }),
			0.16, true, true},
		{"doubtful and longer, of a slow endpoint", fewSamples, 2,
			with(func(b *together) { b.doubtful, b.seconds = true, 0.3 }), 0.3, true, true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f, v := known()
			s := f.speeds
			s.prompt.samples, v.prompt.f, v.prompt.used, v.batch = tc.samples, tc.used, tc.used, tc.batch
			s.learnPrompt(v)
			if !near(s.times, tc.took*usualGain, 1e-9) || !near(s.squares, tc.took*tc.took*usualGain, 1e-9) {
				t.Errorf("counts as %v and a square of %v, want %v and %v", s.times, s.squares, tc.took*usualGain,
					tc.took*tc.took*usualGain)
			}
			if got := s.prompt.samples > tc.samples; got != tc.line {
				t.Errorf("the line is taught: %v, want %v", got, tc.line)
			}
			if got := v.prompt.samples > 0; got != tc.factor {
				t.Errorf("the factor is taught: %v, want %v", got, tc.factor)
			}
			if v.batch != (together{}) {
				t.Errorf("%+v is left, want nothing", v.batch)
			}
		})
	}
}

// TestUsual: usual is a quarter of what a prompt takes in the mean over time.
func TestUsual(t *testing.T) {
	s := newSpeeds()
	if got := s.usual(); got != 0 {
		t.Errorf("before any prompt: got %v, want 0", got)
	}
	s.times, s.squares = 0.2, 0.08
	if got := s.usual(); !near(got, 0.1, 1e-9) {
		t.Errorf("got %v, want 0.1", got)
	}
}

// TestLearnEnded: the time of a token is learnt by how many answers were under way meanwhile in the mean, and how long
// their prompts were.
func TestLearnEnded(t *testing.T) {
	s := newSpeeds()
	s.resize(1)
	s.token = newLine()
	v := &s.speeds[0]
	v.runningSum, v.contextSum = 16, 11_000 // 6 and 10,000 in 2 seconds
	m := &mark{running: 10, context: 1000, tpot: 0.2}
	s.learnEnded(v, m, &journal.Event{TTFTMicros: 100_000, DurationMicros: 1_100_000, OutputTokens: 11}, 2)
	x := [terms]float64{1, 0.3, 0.5}
	if got := s.token.at(&x) * tokenUnit; !near(got, 0.1, 0.01) || s.token.samples != 1 {
		t.Errorf("got %v by %d samples, want 0.1", got, s.token.samples)
	}
	if v.tpot != (Accuracy{0.2, 0.1, 1, 1}) {
		t.Errorf("got %+v, want 0.2 predicted and 0.1 taken", v.tpot)
	}
	if v.token.samples != 0 {
		t.Errorf("the factor has %d samples, want none as long as too little is known", v.token.samples)
	}
	s.token.samples, m.tpot = fewSamples, 0
	s.learnEnded(v, m, &journal.Event{TTFTMicros: 100_000, DurationMicros: 1_100_000, OutputTokens: 11}, 2)
	if v.tpot.Samples != 1 || v.token.samples != 1 {
		t.Errorf("got %d of the accuracy and %d of the factor, want 1 of each", v.tpot.Samples, v.token.samples)
	}
}

// TestTokenOfASlowEndpoint: what an endpoint takes longer than others does not count against all.
func TestTokenOfASlowEndpoint(t *testing.T) {
	s := newSpeeds()
	s.resize(1)
	s.token = newLine()
	s.speeds[0].token.used = 2
	x := [terms]float64{1, 0, 0}
	s.learnToken(&s.speeds[0], &x, 8)
	if got := s.token.at(&x); !near(got, 4, 0.01) {
		t.Errorf("got %v, want half of 8", got)
	}
}

// TestFactorsFadeNowAndThen: of endpoints of which nothing is heard the factors fade, as they are looked at with one in
// sixteen samples of others.
func TestFactorsFadeNowAndThen(t *testing.T) {
	s := newSpeeds()
	s.resize(2)
	for _, f := range []*factor{&s.speeds[1].prompt, &s.speeds[1].token} {
		*f = factor{f: 16, used: 16, samples: 9}
	}
	const half = 2 * fadeSamples // 32 for each endpoint
	for n := range int64(2 * half) {
		m := s.next()
		if m != (moment{n + 1, half}) {
			t.Fatalf("got %+v, want sample %d of which %d come at least before a factor fades", m, n+1, half)
		}
		for _, f := range []*factor{&s.speeds[1].prompt, &s.speeds[1].token} {
			switch {
			case n+1 < half+fadeEvery && f.used != 16:
				t.Errorf("after %d samples of others: %v is used, want 16", n+1, f.used)
			case n+1 == 2*half && !near(f.used, 4, 1e-9):
				t.Errorf("after %d samples of others: %v is used, want 4", n+1, f.used)
			}
		}
	}
}
