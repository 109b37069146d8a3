package state

import "github.com/pintle-dev/pintle/journal"

const (
	// furtherUnit is the unit of tokens after the first, of answers that are not streamed.
	furtherUnit = 100.0
	// fairPart is how much of the whole time something has to take that is to be learnt from it.
	fairPart = 0.25
)

// mark is what a lease is remembered by: the circumstances of its decision.
type mark struct {
	charged         float64 // of its endpoint, with its own
	expected, plain float64 // TTFT
	tpot            float64 // expected
	own, prompt     float64 // tokens
	decided         int64

	begun            int64   // when its answer began, or was told late to have begun, 0 before
	running, context float64 // the sums then

	computes, answers place // its prompt, and the request
	streamed, ended   bool
	alone             bool // nothing else was under way at its endpoint when it was decided
}

// place is an endpoint as long as its epoch is the same.
type place struct {
	index int32
	epoch uint32
}

// speedAt is the speed of a place, nil when its endpoint is none or gone.
func (f *InFlight) speedAt(p place) *speed {
	if p.index < 0 || f.loads[p.index].epoch != p.epoch {
		return nil
	}
	return f.speed(int(p.index))
}

func (f *InFlight) placeOf(index int) place {
	if index < 0 || index >= len(f.loads) {
		return place{index: -1}
	}
	return place{int32(index), f.loads[index].epoch}
}

// markDecision notes under what circumstances lease i began.
func (f *InFlight) markDecision(i uint32, e *journal.Event, endpoints *Endpoints, now int64) {
	s := f.speeds
	s.marks.reach(i)
	m := s.marks.at(i)
	at, tokens := endpoints.Index(e.Primary), e.PrimaryLoad
	*m = mark{answers: f.placeOf(at), decided: now, streamed: e.Streamed, prompt: float64(e.InputTokens)}
	if e.Prefill != 0 {
		at, tokens = endpoints.Index(e.Prefill), e.PrefillLoad
	}
	m.computes, m.own = f.placeOf(at), float64(tokens)
	m.alone = m.computes == m.answers && at >= 0 && at < len(f.loads) && f.loads[at].open == 0
	p := s.predictor(now)
	if v := f.speedAt(m.answers); v != nil && s.token.samples >= fewSamples {
		m.tpot = p.tpot(v, m.prompt)
	}
	v := f.speedAt(m.computes)
	if v == nil {
		return
	}
	v.computed, v.at = v.charged-s.backlog(v, now), max(v.at, now)
	if s.prompt.samples >= fewSamples && m.own > 0 {
		m.plain = p.ttft(v, m.own)
		m.expected = m.plain * p.queue
	}
	v.charged += m.own
	m.charged = v.charged
	if m.streamed {
		v.unbegun++
		v.waiting += m.own
	}
}

// markBegan notes that the answer of lease i began, and learns from it. served is who answers where that is another
// endpoint than was decided on.
func (f *InFlight) markBegan(i uint32, e *journal.Event, served int, now int64) {
	m := f.speeds.marks.at(i)
	if m.begun != 0 || m.ended {
		return
	}
	m.begun = max(now, 1)
	if e.Tried != 0 {
		if m.computes == m.answers {
			f.skipPrompt(m)
		}
		m.answers = f.placeOf(served)
	}
	if v := f.speedAt(m.answers); v != nil {
		v.pass(now)
		v.running++
		v.context += m.prompt
		m.running, m.context, m.begun = v.runningSum, v.contextSum, max(m.begun, v.since)
	}
	v := f.speedAt(m.computes)
	if v == nil {
		return
	}
	if now < minus(v.at, maxSkew) {
		f.skipPrompt(m) // told late: what was decided since may still have to be computed
		return
	}
	m.stopWaiting(v)
	if m.streamed && m.own > 0 && e.Tried == 0 && e.Status/100 == 2 && e.TTFTMicros > 0 {
		f.speeds.streams++
		f.speeds.learnBegan(v, m, now, float64(e.TTFTMicros)/1e6)
	}
	if m.charged > v.computed {
		v.computed, v.at = m.charged, max(v.at, now)
	}
	if m.streamed {
		v.began = max(v.began, now)
	}
}

// skipPrompt notes that nobody computes a prompt where it was sent.
func (f *InFlight) skipPrompt(m *mark) {
	if v := f.speedAt(m.computes); v != nil {
		m.stopWaiting(v)
		v.computed = min(v.computed+m.own, v.charged)
	}
	m.computes = place{index: -1}
}

// doubtful reports whether more than half of the prompt was believed to be cached: if it was not, its time tells
// nothing.
func (m *mark) doubtful() bool { return m.own < m.prompt/2 }

func (m *mark) stopWaiting(v *speed) {
	if m.streamed {
		v.unbegun--
		v.waiting = max(v.waiting-m.own, 0)
	}
}

// learnBegan learns from an answer that began to a prompt of which something had to be computed. What the prompt took
// is counted from the beginning of the answer before, if that came after the decision: until then the endpoint was busy
// with others.
func (s *Speeds) learnBegan(v *speed, m *mark, now int64, ttft float64) {
	took := seconds(max(m.decided, v.began), now)
	switch {
	case seconds(now, v.began) >= sameStep: // told late: others have begun since
	case v.began > m.decided && took < sameStep:
		v.batch.requests++
		v.batch.tokens += m.own
		v.batch.doubtful = v.batch.doubtful || m.doubtful()
	default:
		s.learnPrompt(v)
		v.batch = together{1, m.own, took, m.doubtful()}
	}
	if v.unbegun == 0 {
		s.learnPrompt(v) // nothing that waits can belong to it
	}
	if m.expected > 0 {
		v.ttft.add(m.expected, ttft)
		s.queue.learn(&timing{ttft, m.plain, leastTTFT, s.usual(), m.doubtful()}, moment{})
	}
}

// learnPrompt learns from the batch of prompts that were computed last.
func (s *Speeds) learnPrompt(v *speed) {
	b := v.batch
	v.batch = together{}
	if b.requests == 0 || b.seconds <= 0 {
		return
	}
	x := [terms]float64{b.requests, b.tokens / promptUnit}
	alike := b.seconds / v.prompt.used
	expected := max(s.prompt.at(&x), leastTTFT)
	if s.prompt.samples >= fewSamples {
		v.prompt.learn(&timing{b.seconds, s.prompt.at(&x), leastTTFT, s.usual(), b.doubtful}, s.next())
	}
	took := min(b.seconds, mostUsual*expected*v.prompt.used)
	s.times += (took - s.times) * usualGain
	s.squares += (took*took - s.squares) * usualGain
	if !b.doubtful || s.prompt.samples >= fewSamples && alike <= mostDoubt*expected {
		s.prompt.learn(&x, alike, leastTTFT)
	}
}

// usual is how long a prompt takes at least that tells all it can of an endpoint's speed: the times of short ones are
// hardly the endpoint's.
func (s *Speeds) usual() float64 {
	if s.times <= 0 {
		return 0
	}
	return usualPart * s.squares / s.times
}

// markEnded notes that lease i has ended; e is its completion, nil when it ended without one.
func (f *InFlight) markEnded(i uint32, e *journal.Event, now int64) {
	m := f.speeds.marks.at(i)
	if m.ended {
		return
	}
	m.ended = true
	if m.begun == 0 {
		f.skipPrompt(m)
		return
	}
	answers := f.speedAt(m.answers)
	if answers == nil {
		return
	}
	answers.pass(now)
	answers.running--
	answers.context -= m.prompt
	if e == nil || e.Tried != 0 || e.Status/100 != 2 {
		return
	}
	switch {
	case m.streamed && e.OutputTokens > 1 && e.DurationMicros > e.TTFTMicros && now > m.begun:
		// The sums may reach further already: what is told late of an answer has its time.
		f.speeds.learnEnded(answers, m, e, seconds(m.begun, max(now, answers.since)))
	case !m.streamed && m.alone && m.own > 0 && e.UsageReported && e.OutputTokens > 0 && f.speeds.streams < fewSamples:
		f.speeds.learnWhole(answers, m, e)
	}
}

func (s *Speeds) learnEnded(v *speed, m *mark, e *journal.Event, lasted float64) {
	took := float64(e.DurationMicros-e.TTFTMicros) / 1e6 / float64(e.OutputTokens-1)
	x := tokenTerms((v.runningSum-m.running)/lasted, (v.contextSum-m.context)/lasted)
	if m.tpot > 0 {
		v.tpot.add(m.tpot, took)
	}
	s.learnToken(v, &x, took/tokenUnit)
}

// learnToken learns from the time of a token, in tokenUnit.
func (s *Speeds) learnToken(v *speed, x *[terms]float64, took float64) {
	alike := took / v.token.used
	if s.token.samples >= fewSamples {
		v.token.learn(&timing{took: took, others: s.token.at(x), least: leastTPOT}, s.next())
	}
	s.token.learn(x, alike, leastTPOT)
}

// learnWhole learns from an answer that was not streamed, of which only the whole time is known. A third line tells
// how much of that its prompt and its tokens have in the mean; what the one part does not explain, the other took, if
// it is a fair part of all. Where several requests share an endpoint, nobody knows how long they waited for each other,
// so only those teach that came alone.
func (s *Speeds) learnWhole(v *speed, m *mark, e *journal.Event) {
	took, further := float64(e.DurationMicros)/1e6, float64(e.OutputTokens-1)
	x := [terms]float64{v.prompt.used, m.own / promptUnit * v.prompt.used, further / furtherUnit * v.token.used}
	s.whole.learn(&x, took, leastTTFT)
	if s.whole.samples < 2*fewSamples {
		return
	}
	rest := s.whole.w[2] * x[2]
	if part := took - rest; part > took*fairPart {
		v.batch = together{1, m.own, part, m.doubtful()}
		s.learnPrompt(v)
	}
	if part := took - (s.whole.at(&x) - rest); further > 0 && part > took*fairPart {
		at := tokenTerms(1, m.prompt)
		s.learnToken(v, &at, part/further/tokenUnit)
	}
}

// pass brings the sums over time up to now.
func (v *speed) pass(now int64) {
	if now <= v.since {
		return
	}
	if v.since != 0 {
		passed := seconds(v.since, now)
		v.runningSum += passed * v.running
		v.contextSum += passed * v.context
	}
	v.since = now
}
