package state

import "math"

// terms is how many coefficients a line has.
const terms = 3

const (
	// linePrior is the variance of a coefficient of which nothing is known, lineWander how much of it comes back with
	// each sample, so that new samples always count.
	linePrior, lineWander = 1.0, 1e-4
	// leastNoise is the least relative error that samples are taken to have.
	leastNoise = 0.05
	// lineTrust is how many times the mean error a sample may be off before it counts as that much only, lineStreak how
	// many of them in a row, all to one side, are no chance. The mean error follows by offGain.
	lineTrust, lineStreak, lineNew = 4.0, 5, 8
	offGain                        = 0.05
)

// line is a linear function without negative coefficients that is learnt from samples, by a Kalman filter whose
// coefficients wander. Errors count relative to what was expected. A sample that is far off counts in part, until
// several in a row are off to the same side: then what was learnt is no longer true, and it learns as if it were new.
type line struct {
	w       [terms]float64
	p       [terms][terms]float64
	off     float64 // mean of |error| / expected
	samples uint32
	streak  streak
}

func newLine() line {
	l := line{off: 0.5}
	l.doubt()
	return l
}

func (l *line) doubt() {
	l.p = [terms][terms]float64{}
	for i := range l.p {
		l.p[i][i] = linePrior
	}
}

func (l *line) at(x *[terms]float64) float64 { return l.w[0]*x[0] + l.w[1]*x[1] + l.w[2]*x[2] }

// learn enters a sample; least is the smallest value that makes a difference.
func (l *line) learn(x *[terms]float64, y, least float64) {
	expected := max(l.at(x), least)
	miss := y - l.at(x)
	relative := min(math.Abs(miss)/max(expected, y), 1)
	limit := lineTrust * l.off * expected
	switch {
	case l.samples <= lineNew || math.Abs(miss) <= limit:
		l.streak = 0
	case l.streak.add(miss > 0, lineStreak):
		l.doubt()
	default:
		miss = math.Copysign(limit, miss)
	}
	l.off += (relative - l.off) * offGain
	count(&l.samples)
	noise := max(max(l.off, leastNoise)*expected, least)
	l.update(x, miss, noise*noise)
}

// update moves the coefficients by the error of a sample with a variance.
func (l *line) update(x *[terms]float64, miss, variance float64) {
	var px [terms]float64
	s := variance
	for i := range px {
		l.p[i][i] = min(l.p[i][i]+lineWander*linePrior, linePrior)
		for j, v := range x {
			px[i] += l.p[i][j] * v
		}
		s += px[i] * x[i]
	}
	for i := range px {
		l.w[i] = max(l.w[i]+px[i]/s*miss, 0)
		for j := range px {
			l.p[i][j] -= px[i] * px[j] / s
		}
	}
}

// count counts one more sample, as far as it can: what is old does not become new by it.
func count(samples *uint32) {
	if *samples < math.MaxUint32 {
		*samples++
	}
}

// streak counts what goes to one side in a row: above 0 up, below 0 down.
type streak int8

// add counts one more and reports whether they are most, whereupon it begins anew.
func (s *streak) add(up bool, most streak) bool {
	switch {
	case up:
		*s = max(*s, 0) + 1
	default:
		*s = min(*s, 0) - 1
	}
	if *s < most && *s > -most {
		return false
	}
	*s = 0
	return true
}
