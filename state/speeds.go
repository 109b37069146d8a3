package state

import "unsafe"

// Speeds is how fast each endpoint answers, learnt from the answers: the time to the first token from the prompts'
// tokens that it has to compute before it, and the time of each further one from the requests that it answers at the
// same time. All that it goes by are events, so who applied the same ones predicts the same. Only answers that were not
// retried and good teach anything: those that were streamed or, as long as hardly any was, those whose request had the
// endpoint for itself when it came, see learnWhole.
//
// What all endpoints have in common is learnt from all of them: two lines, the time that a prompt takes by its tokens,
// and that of a token by the answers under way. What an endpoint has of its own is two factors, by which it is slower
// than the lines. A new one begins with what the pool knows.
type Speeds struct {
	prompt, token  line
	times, squares float64 // means of the times of prompts, in seconds, and of their squares
	queue          factor  // by which first tokens are later than the prompts' times tell
	whole          line    // time of an answer that was not streamed
	streams        int     // streamed answers that taught anything
	speeds         []speed
	marks          chunks[mark] // by number of the lease
	taught         int64        // samples of all endpoints' factors
}

// speed is what is known of one endpoint, first what each decision looks at.
type speed struct {
	// charged is all tokens that the endpoint was ever given to compute, computed those of them that it had computed at
	// the time at.
	charged, computed float64
	at                int64
	// unbegun are the streamed requests whose answers have not begun, waiting their tokens.
	unbegun int32
	waiting float64
	// running is how many answers are under way, context the tokens of their prompts.
	running, context float64
	prompt, token    factor

	// runningSum and contextSum are the sums of running and context over time until since, in seconds.
	runningSum, contextSum float64
	since                  int64

	began      int64 // when the last answer began
	batch      together
	ttft, tpot Accuracy
}

func newSpeed() speed { return speed{prompt: newFactor(), token: newFactor()} }

// together is the answers that began at the same time as one computed all their prompts at once.
type together struct {
	requests, tokens, seconds float64
	doubtful                  bool // most of a prompt was believed to be cached
}

// Accuracy is how well a time was predicted of late: the means of what was predicted and of what it was, in seconds,
// and that of |predicted - actual| / actual.
type Accuracy struct {
	Predicted, Actual, Error float64
	Samples                  uint32
}

const (
	// fewSamples is from how many samples on a line tells anything.
	fewSamples = 8
	// Units of what lines go by, so that coefficients are of a size.
	promptUnit, requestUnit, contextUnit = 1000.0, 10.0, 10_000.0
	// tokenUnit is that of a token's time in seconds.
	tokenUnit = 0.01
	// The least times that make a difference, the second one in tokenUnit.
	leastTTFT, leastTPOT = 0.005, 0.05
	// guessedRate is how many tokens of prompts a second are computed where nothing is known, guessedTPOT the time of a
	// token of answers in seconds.
	guessedRate, guessedTPOT = 8000.0, 0.02
	// sameStep is how close together answers begin whose prompts were computed at once, in seconds.
	sameStep = 0.002
	// usualGain is the weight of one prompt's time in the mean of all, of which at most mostUsual times what was
	// expected counts. usualPart is how much of the time of a prompt, in the mean over time, one has to take that tells
	// all it can of its endpoint's speed.
	usualGain, mostUsual, usualPart = 0.02, 4.0, 0.25
	// latelyGain is the weight of one sample in an Accuracy.
	latelyGain = 0.05
)

func newSpeeds() *Speeds {
	s := &Speeds{prompt: newLine(), token: newLine(), queue: newFactor()}
	s.prompt.w[1], s.token.w[0] = promptUnit/guessedRate, guessedTPOT/tokenUnit
	s.whole = newLine()
	s.whole.w[1], s.whole.w[2] = promptUnit/guessedRate, guessedTPOT*furtherUnit
	s.marks.shift = nodeShift
	return s
}

func (s *Speeds) memory() int {
	if s == nil {
		return 0
	}
	return s.marks.memory() + cap(s.speeds)*int(unsafe.Sizeof(speed{}))
}

func (s *Speeds) resize(n int) {
	for len(s.speeds) < n {
		s.speeds = append(s.speeds, newSpeed())
	}
}

// next is the moment of one more sample. Now and then it has the factors fade of which nothing was heard.
func (s *Speeds) next() moment {
	m := moment{s.taught + 1, fadeSamples * int64(len(s.speeds))}
	if s.taught++; s.taught%fadeEvery == 0 {
		for i := range s.speeds {
			s.speeds[i].prompt.fade(m)
			s.speeds[i].token.fade(m)
		}
	}
	return m
}

// rate is how many tokens of prompts an endpoint computes in a second; ok is false where that is a guess.
func (s *Speeds) rate(v *speed) (tokens float64, ok bool) {
	if s.prompt.w[1] <= 0 {
		return guessedRate, false
	}
	return promptUnit / (s.prompt.w[1] * v.prompt.used), s.prompt.samples >= fewSamples
}

// backlog is how many tokens an endpoint has still to compute.
func (s *Speeds) backlog(v *speed, now int64) float64 {
	rate, _ := s.rate(v)
	return max(v.charged-v.computed-seconds(v.at, now)*rate, 0)
}

func seconds(from, to int64) float64 { return float64(max(to-from, 0)) / 1e9 }

// tokenTerms are what the time of a token goes by.
func tokenTerms(running, context float64) [terms]float64 {
	return [terms]float64{1, running / requestUnit, context / contextUnit}
}

// speed is that of an endpoint, nil where speeds are not learnt.
func (f *InFlight) speed(index int) *speed {
	if f.speeds == nil || uint(index) >= uint(len(f.speeds.speeds)) {
		return nil
	}
	return &f.speeds.speeds[index]
}

// TTFT is the time to first token in seconds, from now on, of a request that has an endpoint compute so many tokens. ok
// is false as long as that is a guess, as too little is known.
func (f *InFlight) TTFT(index int, now int64, tokens float64) (seconds float64, ok bool) {
	v := f.speed(index)
	if v == nil {
		return 0, false
	}
	p := f.speeds.predictor(f.clock.of(now))
	return p.ttft(v, tokens) * p.queue, f.speeds.prompt.samples >= fewSamples
}

// TPOT is the time of each further token in seconds for one more answer to a prompt of so many tokens. ok is false as
// long as that is a guess.
func (f *InFlight) TPOT(index int, prompt float64) (seconds float64, ok bool) {
	v := f.speed(index)
	if v == nil {
		return 0, false
	}
	p := f.speeds.predictor(0)
	return p.tpot(v, prompt), f.speeds.token.samples >= fewSamples
}

// Throughput is how many tokens of prompts an endpoint computes in a second. ok is false as long as that is a guess.
func (f *InFlight) Throughput(index int) (tokens float64, ok bool) {
	v := f.speed(index)
	if v == nil {
		return 0, false
	}
	return f.speeds.rate(v)
}

// Accuracy tells how well the times of an endpoint's answers were predicted; ok is false where speeds are not learnt.
func (f *InFlight) Accuracy(index int) (ttft, tpot Accuracy, ok bool) {
	v := f.speed(index)
	if v == nil {
		return Accuracy{}, Accuracy{}, false
	}
	return v.ttft, v.tpot, true
}

func (a *Accuracy) add(predicted, actual float64) {
	gain := max(latelyGain, 1/(float64(a.Samples)+1))
	off := predicted - actual
	if off < 0 {
		off = -off
	}
	a.Predicted += (predicted - a.Predicted) * gain
	a.Actual += (actual - a.Actual) * gain
	a.Error += (off/actual - a.Error) * gain
	count(&a.Samples)
}
