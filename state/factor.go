package state

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
)

// factor is how many times as long as others an endpoint takes, learnt by what it took and what others would. A wrong
// sample, as of a prompt that was wrongly believed to be cached, moves it little.
type factor struct {
	f, used float64 // used is f, 1 where the difference is small
	samples uint32
	streak  streak
}

func newFactor() factor { return factor{f: 1, used: 1} }

// learn enters what the endpoint took, and what others would have taken. A doubtful sample that took too long counts
// only if it is one of many, and one that is much shorter than usual in part, as hardly any of its time is the
// endpoint's.
func (f *factor) learn(took, others, usual float64, doubtful bool) {
	expected := f.f * others
	weight := 1.0
	if longer := max(took, expected); longer < usual {
		weight = longer / usual
	}
	miss := (took - expected) / max(took, expected)
	bound := miss
	if miss > factorTrust || miss < -factorTrust {
		bound = max(min(miss, factorTrust), -factorTrust)
		if weight >= factorShort && f.streak.add(miss > 0, factorStreak) {
			f.samples = factorNew
		}
	} else if weight >= factorShort {
		f.streak = 0
	}
	if doubtful && f.samples >= factorFresh && took > mostDoubt*expected {
		return
	}
	gain := max(1/float64(f.samples+2), factorGain) * weight
	value := f.f
	if bound > 0 {
		value /= 1 - gain*bound
	} else {
		value *= 1 + gain*bound
	}
	value += (1 - value) * factorPull
	f.f = max(min(value, mostFactor), leastFactor)
	if f.used = f.f; f.f < 1+factorSame && f.f*(1+factorSame) > 1 {
		f.used = 1
	}
	f.samples++
}
