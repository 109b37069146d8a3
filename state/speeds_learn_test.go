package state

import (
	"math"
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

// TestSpeedsOfPrefill: the endpoint that computes a prompt has its backlog and is known by its first token, the one
// that answers by the others.
func TestSpeedsOfPrefill(t *testing.T) {
	a := newAnswerer(1, 2)
	send := func(tokens uint32) journal.Event {
		a.lease++
		e := journal.Event{Kind: journal.Decision, Time: a.now, Instance: 1, Lease: a.lease, Primary: 1, Prefill: 2,
			Streamed: true, PrefillLoad: tokens, InputTokens: tokens}
		a.apply(&e)
		return e
	}
	for i := range 60 {
		tokens := uint32(1000 + 500*(i%9))
		a.answer(send(tokens), float64(tokens)/5000, 0.03, 20, 200)
	}
	f := a.states[0].InFlight
	if got := a.ttft(1, 5000); !near(got, 1, 0.2) {
		t.Errorf("the one that computes: TTFT %.3f, want 1", got)
	}
	if got, _ := f.TPOT(0, 1000); !near(got, 0.03, 0.2) {
		t.Errorf("the one that answers: TPOT %.4f, want 0.03", got)
	}
	idle := a.ttft(0, 5000)
	open := send(10_000)
	if got := a.ttft(1, 5000); !near(got, 3, 0.2) || a.ttft(0, 5000) != idle {
		t.Errorf("behind 2 s of work: TTFT %.3f and %.3f, want 3 and as before", got, a.ttft(0, 5000))
	}
	if one, two := f.speed(0).unbegun, f.speed(1).unbegun; one != 0 || two != 1 {
		t.Errorf("%d and %d requests wait, want 0 and 1", one, two)
	}
	before, _ := f.TPOT(0, 1000)
	began := a.began(open, 2)
	a.apply(began)
	if v := f.speed(0); v.running != 1 || v.context != 10_000 || f.speed(1).running != 0 {
		t.Errorf("%v answers of %v tokens at the one that answers, %v at the other, want 1, 10000 and 0", v.running,
			v.context, f.speed(1).running)
	}
	a.apply(a.ended(began, 0.03, 20))
	if after, _ := f.TPOT(0, 1000); f.speed(0).running != 0 || f.speed(0).context != 0 || !near(after, before, 0.1) {
		t.Errorf("afterwards %v answers and TPOT %.4f, want none and %.4f", f.speed(0).running, after, before)
	}
}

// TestSpeedsOfARetry: an answer is under way where it comes from, and nobody computes the prompt where it did not.
func TestSpeedsOfARetry(t *testing.T) {
	a := newAnswerer(1, 2)
	for range 40 {
		a.answer(a.decide(0, 5000, 5000), 0.5, 0.01, 10, 200)
	}
	f := a.states[0].InFlight
	idle, prompt, token := a.ttft(0, 5000), f.speeds.prompt, f.speeds.token
	e := a.decide(0, 20_000, 20_000)
	began := a.began(e, 0.1)
	began.Tried, began.Primary = 1, 2
	a.apply(began)
	if one, two := f.speed(0), f.speed(1); one.running != 0 || two.running != 1 || one.unbegun != 0 {
		t.Errorf("%v and %v answers under way, %d wait, want 0, 1 and 0", one.running, two.running, one.unbegun)
	}
	if got := a.ttft(0, 5000); !near(got, idle, 0.1) {
		t.Errorf("where it was tried: TTFT %.3f, want %.3f", got, idle)
	}
	a.apply(a.ended(began, 5, 10))
	if f.speed(1).running != 0 || f.speeds.prompt != prompt || f.speeds.token != token {
		t.Errorf("afterwards %v answers are under way, or something was learnt", f.speed(1).running)
	}
}

// TestSpeedsCatchUp: an answer that begins early shows that what came before it is computed.
func TestSpeedsCatchUp(t *testing.T) {
	a := newAnswerer(1, 1)
	for range 40 {
		a.answer(a.decide(0, 5000, 5000), 0.5, 0.01, 10, 200)
	}
	f := a.states[0].InFlight
	v := f.speed(0)
	first := a.decide(0, 20_000, 20_000)
	a.decide(0, 20_000, 20_000)
	if got := f.speeds.backlog(v, a.now); !near(got, 40_000, 0.05) {
		t.Errorf("two prompts to compute: %.0f tokens, want 40,000", got)
	}
	a.now += 1e8
	a.apply(a.began(first, 0.1))
	if got := f.speeds.backlog(v, a.now); !near(got, 20_000, 0.05) {
		t.Errorf("the first begins after 0.1 s: %.0f tokens, want 20,000", got)
	}
	a.now += 19e8
	a.decide(0, 1000, 1000)
	a.now += 1e8
	// Of 21,000 tokens that wait, half.
	if got, want := a.ttft(0, 5000)/f.speeds.queue.f, (10_500+5000)/1e4; !near(got, want, 0.15) {
		t.Errorf("two wait for longer than they should: TTFT %.3f, want %.3f", got, want)
	}
}

// TestSpeedsWholeBesideStreams: where answers are streamed, those that are not teach nothing, nor do such of which
// nothing is told.
func TestSpeedsWholeBesideStreams(t *testing.T) {
	a := newAnswerer(1, 1)
	for range 20 {
		a.answer(a.decide(0, 5000, 5000), 0.5, 0.01, 10, 200)
	}
	s := a.states[0].InFlight.speeds
	want := [...]line{s.prompt, s.token, s.whole}
	for range 20 {
		a.unstreamed(a.whole(0, 5000), 60, 10)
	}
	if got := [...]line{s.prompt, s.token, s.whole}; got != want {
		t.Error("answers that are not streamed were learnt from")
	}
	for name, change := range map[string]func(*journal.Event){
		"no usage":  func(e *journal.Event) { e.UsageReported = false },
		"no tokens": func(e *journal.Event) { e.OutputTokens = 0 },
		"a failure": func(e *journal.Event) { e.Status = 500 },
		"a retry":   func(e *journal.Event) { e.Tried = 2 },
	} {
		a := newAnswerer(1, 1)
		e := a.whole(0, 5000)
		e.Kind, e.Time, e.Status, e.TTFTMicros, e.DurationMicros = journal.Completion, a.now+1e9, 200, 1e6, 1e6+1
		e.OutputTokens, e.UsageReported = 10, true
		change(&e)
		a.apply(&e)
		if n := a.states[0].InFlight.speeds.whole.samples; n != 0 {
			t.Errorf("%s: learnt from", name)
		}
	}
}

// TestAccuracy: means of what was predicted and of what it was, first of all samples and then of the last ones.
func TestAccuracy(t *testing.T) {
	var a Accuracy
	a.add(1, 2)
	a.add(6, 4)
	if a != (Accuracy{Predicted: 3.5, Actual: 3, Error: 0.5, Samples: 2}) {
		t.Errorf("after 50 %% too little and 50 %% too much: got %+v", a)
	}
	for range 100 {
		a.add(1, 1)
	}
	if a.Error > 0.01 || a.Error <= 0 || !(math.Abs(a.Predicted-1) <= 0.05) || !(math.Abs(a.Actual-1) <= 0.05) {
		t.Errorf("after 100 that were right: got %+v", a)
	}
}

// TestCountedForLong: what has been learnt from as many samples as can be counted stays so, and moves by little.
func TestCountedForLong(t *testing.T) {
	const most = math.MaxUint32
	f, l, a := newFactor(), newLine(), Accuracy{Predicted: 1, Actual: 1}
	l.w[0], l.off = 1, leastNoise
	f.samples, l.samples, a.Samples = most-2, most-2, most-2
	for range 4 {
		f.learn(&timing{took: 1.1, others: 1, least: 0.001}, moment{})
		l.learn(&[terms]float64{1}, 1.1, 0.001)
		a.add(1, 1.1)
	}
	for _, tc := range []struct {
		name    string
		samples uint32
		value   float64
	}{{"factor", f.samples, f.f}, {"line", l.samples, l.w[0]}, {"accuracy", a.Samples, a.Actual}} {
		if tc.samples != most || !(tc.value > 1 && tc.value < 1.1) {
			t.Errorf("%s: got %v after %d samples, want some more than 1 after %d", tc.name, tc.value, tc.samples,
				uint32(most))
		}
	}
}
