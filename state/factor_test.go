package state

import (
	"math"
	"testing"
)

// TestFactorFades: what an endpoint was slower by is forgotten when only others are heard of, the sooner the shorter it
// held.
func TestFactorFades(t *testing.T) {
	const least = 100
	for _, test := range []struct {
		name string
		// Every few of all samples, so many in all, were of an endpoint that was three times as slow; then none.
		every, held, silent int64
		least, most         float64
	}{
		{"a bad moment, just now", 1, 30, 90, 2.5, 3.1},
		{"a bad moment, some time ago", 1, 30, 600, 1, 1.1},
		{"one among many for long, a while ago", 50, 1000, 500, 2.5, 3.1},
		{"one among many for long, twice as long ago", 50, 1000, 2000, 1.4, 1.8},
		{"for very long, long ago", 10, 1_000_000, mostFade, 2.5, 3.1},
		{"for very long, longer ago", 10, 1_000_000, 6 * mostFade, 1, 1.1},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, now := newFactor(), moment{least: least}
			for n := int64(0); n <= test.held; n += test.every {
				now.number = n
				f.learn(&timing{took: 0.3, others: 0.1, least: leastTTFT}, now)
			}
			now.number += test.silent
			f.fade(now)
			if f.used < test.least || f.used > test.most {
				t.Errorf("got a factor of %.2f, want %.2f to %.2f", f.used, test.least, test.most)
			}
			for range 8 { // of which few are enough after it
				f.learn(&timing{took: 0.2, others: 0.1, least: leastTTFT}, now)
			}
			if test.silent > max(test.held, least) && !(math.Abs(f.f-2) <= 0.4) {
				t.Errorf("eight samples after it: %.2f, want about 2", f.f)
			}
		})
	}
}

// TestFactorShortTimes: times below the least that makes a difference teach nothing, however many there are.
func TestFactorShortTimes(t *testing.T) {
	f := newFactor()
	for range 1000 {
		f.learn(&timing{took: leastTTFT / 3, others: leastTTFT / 50, least: leastTTFT}, moment{})
		f.learn(&timing{took: leastTTFT / 50, others: leastTTFT / 3, least: leastTTFT}, moment{})
	}
	if !(math.Abs(f.f-1) <= 1e-9) {
		t.Errorf("got a factor of %v, want 1", f.f)
	}
}
