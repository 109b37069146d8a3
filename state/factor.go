package state

import "math"

const (
	// factorGain is what one sample moves a factor by once some are known; factorTrust is the error from which a sample
	// counts no more than that. factorStreak of them in a row, all to one side, and it learns as if it were new.
	factorGain, factorTrust = 0.05, 0.4
	factorStreak            = 4
	factorNew               = 1
	// factorShort is the part of what is usual below which a sample is none of a row.
	factorShort = 0.25
	// factorSame is how close to 1 a factor is no difference: whose speeds differ by less are equally fast.
	factorSame = 0.1
	// factorPull draws factors to 1, so that what all endpoints have in common goes into the lines.
	factorPull = 0.0005
	// mostDoubt is how many times as long as expected a prompt may take that was believed to be cached: if it took
	// longer, it was not. factorFresh is from how many samples on that holds.
	mostDoubt, factorFresh = 1.5, 8
	// leastFactor and mostFactor bound it.
	leastFactor, mostFactor = 1.0 / 64, 64.0
	// fadeSamples is how many samples for each endpoint come at least before a factor fades, mostFade how many at most.
	// fadeEvery is how many come between two looks at what fades.
	fadeSamples, mostFade = 32, 1 << 16
	fadeEvery             = 16
)

// factor is how many times as long as others an endpoint takes, learnt by what it took and what others would. A wrong
// sample, as of a prompt that was wrongly believed to be cached, moves it little.
//
// It fades while others have samples and it has none: who was slow once and is therefore sent nothing is tried again.
// What held for so many of all samples holds for as many again, and then its logarithm halves with each further time as
// many, so that a bad moment is soon forgotten and slow hardware is not. Samples are counted and not seconds, as with
// little traffic an endpoint has few.
type factor struct {
	f, used float64 // used is f, 1 where the difference is small
	// since is the number of the first sample that it was learnt from, heard that of the last.
	since, heard int64
	samples      uint32
	streak       streak
}

// moment is the number of a sample among those of all endpoints, and how many come at least before a factor fades; the
// zero value is one when nothing fades.
type moment struct{ number, least int64 }

func newFactor() factor { return factor{f: 1, used: 1} }

// timing is what an endpoint took for something, what others would have taken, and the least time that makes a
// difference. One that is doubtful and took too long counts only if it is one of many, and one that is much shorter
// than usual in part, as hardly any of its time is the endpoint's.
type timing struct {
	took, others, least, usual float64
	doubtful                   bool
}

// learn enters a sample.
func (f *factor) learn(x *timing, now moment) {
	f.hear(now)
	took, expected, usual := max(x.took, x.least), max(f.f*x.others, x.least), x.usual
	weight := 1.0
	if longer := max(took, expected); longer < usual {
		weight = longer / usual
	}
	miss := (took - expected) / max(took, expected)
	bound := miss
	if miss > factorTrust || miss < -factorTrust {
		bound = max(min(miss, factorTrust), -factorTrust)
		if weight >= factorShort && f.streak.add(miss > 0, factorStreak) {
			f.samples, f.since = factorNew, f.heard
		}
	} else if weight >= factorShort {
		f.streak = 0
	}
	if x.doubtful && f.samples >= factorFresh && took > mostDoubt*expected {
		return
	}
	gain := max(1/(float64(f.samples)+2), factorGain) * weight
	value := f.f
	if bound > 0 {
		value /= 1 - gain*bound
	} else {
		value *= 1 + gain*bound
	}
	value += (1 - value) * factorPull
	f.f = max(min(value, mostFactor), leastFactor)
	f.use(f.f)
	count(&f.samples)
}

// use has value used.
func (f *factor) use(value float64) {
	if f.used = value; value < 1+factorSame && value*(1+factorSame) > 1 {
		f.used = 1
	}
}

// hear takes it that a sample comes. After a silence it is learnt as if it were new.
func (f *factor) hear(now moment) {
	switch value := f.faded(now); {
	case f.samples == 0:
		f.since = now.number
	case value != f.f:
		f.f, f.samples, f.since = value, factorNew, now.number
	}
	f.heard = now.number
}

// faded is what is left of f.
func (f *factor) faded(now moment) float64 {
	half := max(min(f.heard-f.since, mostFade), now.least)
	silent := now.number - f.heard - half
	if silent <= 0 || f.f == 1 {
		return f.f
	}
	return math.Pow(f.f, math.Exp2(-float64(silent)/float64(half)))
}

// fade has what is left of f used.
func (f *factor) fade(now moment) {
	if f.used != 1 {
		f.use(f.faded(now))
	}
}
