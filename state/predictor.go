package state

// Predictor predicts for one request after the other at the same time, until the next event. What the endpoints have in
// common is worked out once.
type Predictor struct {
	speeds []speed
	now    int64

	first, perToken             float64 // of first tokens, in seconds
	base, perAnswer, perContext float64 // of further tokens, in seconds
	queue                       float64 // by which first tokens are later than the prompts' times tell
}

const nanosecond = 1e-9

// Times are what a request meets at an endpoint, in seconds. PerToken is how long the endpoint computes one token of a
// prompt, Unbegun how many streamed requests are there that it has not begun to answer.
type Times struct {
	TTFT, TPOT, PerToken float64
	Unbegun              int
}

// Predictor returns what TTFT and TPOT tell of many endpoints. known is what TTFT calls ok: of answers that have one
// token nobody learns more. Where speeds are not learnt it is false, and the times are 0.
func (f *InFlight) Predictor(now int64) (p Predictor, known bool) {
	if f.speeds == nil {
		return Predictor{}, false
	}
	return f.speeds.predictor(f.clock.of(now)), f.speeds.prompt.samples >= fewSamples
}

// predictor predicts for now, by the clock of its part.
func (s *Speeds) predictor(now int64) Predictor {
	return Predictor{
		speeds: s.speeds, now: now,
		first: s.prompt.w[0], perToken: s.prompt.w[1] / promptUnit,
		base: s.token.w[0] * tokenUnit, perAnswer: s.token.w[1] / requestUnit * tokenUnit,
		perContext: s.token.w[2] / contextUnit * tokenUnit,
		queue:      s.queue.f,
	}
}

// At sets t to the times of a request that has an endpoint compute so many tokens of a prompt.
func (p *Predictor) At(index int, tokens, prompt float64, t *Times) {
	if uint(index) >= uint(len(p.speeds)) {
		*t = Times{}
		return
	}
	v := &p.speeds[index]
	t.TTFT = p.ttft(v, tokens) * p.queue
	t.TPOT = p.tpot(v, prompt)
	t.PerToken = p.perToken * v.prompt.used
	t.Unbegun = int(v.unbegun)
}

// overdue is the part of the time that counts by which answers are late that should all have begun: of a server that
// computes what was believed to be cached, has no room or hangs, nobody knows for how long it goes on.
const overdue = 0.5

// ttft is the time to first token of a prompt of which so many tokens have to be computed, if answers begin as the
// prompts' times tell.
func (p *Predictor) ttft(v *speed, tokens float64) float64 {
	slow := v.prompt.used
	perToken := p.perToken * slow
	ahead := (v.charged - v.computed) * perToken
	if p.now > v.at {
		ahead -= float64(p.now-v.at) * nanosecond
	}
	late := 0.0
	if ahead < 0 {
		if v.unbegun > 0 {
			late = overdue * -ahead
		}
		ahead = 0
	}
	if v.unbegun > 1 {
		if others := v.waiting * (1 - 1/float64(v.unbegun)) * perToken; others > ahead {
			ahead = others
		}
	}
	if t := ahead + late + tokens*perToken + p.first*slow*float64(v.unbegun+1); t > leastTTFT {
		return t
	}
	return leastTTFT
}

// tpot is the time of each further token of one more answer to a prompt of so many tokens.
func (p *Predictor) tpot(v *speed, prompt float64) float64 {
	t := p.base + p.perAnswer*(v.running+float64(v.unbegun+1)) + p.perContext*(v.context+prompt)
	if t *= v.token.used; t > leastTPOT*tokenUnit {
		return t
	}
	return leastTPOT * tokenUnit
}

// Predicted is what was predicted for a request in flight when it was decided, in seconds; 0 for what could not be.
func (f *InFlight) Predicted(instance uint64, number uint32) (ttft, tpot float64) {
	if f.speeds == nil {
		return 0, 0
	}
	i := f.find(f.key(instance, number), instance, number)
	if i == 0 {
		return 0, 0
	}
	m := f.speeds.marks.at(i)
	return m.expected, m.tpot
}
