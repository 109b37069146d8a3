package state

import (
	"math"
	"testing"
)

// TestFactorLearns: what one sample makes of a factor. The new value lies between the old one and what the sample
// shows, by a gain that falls to a twentieth, and is drawn to 1 by a bit.
func TestFactorLearns(t *testing.T) {
	const drawn = 0.0005 // of the way to 1
	to := func(value float64) float64 { return value + (1-value)*drawn }
	tests := []struct {
		name    string
		f       float64
		samples uint32
		streak  streak
		x       timing
		want    float64
		// learnt are the samples then, and streakThen how many in a row are far off.
		learnt     uint32
		streakThen streak
	}{
		{"the first, longer", 1, 0, 0, timing{took: 1.25, others: 1}, to(1 / (1 - 0.5*0.2)), 1, 0},
		{"the first, shorter", 1, 0, 0, timing{took: 0.8, others: 1}, to(1 - 0.5*0.2), 1, 0},
		{"as expected", 2, 9, 0, timing{took: 2, others: 1}, to(2), 10, 0},
		{"the fourth", 1, 3, 0, timing{took: 1.25, others: 1}, to(1 / (1 - 0.2*0.2)), 4, 0},
		{"the nineteenth", 1, 18, 0, timing{took: 1.25, others: 1}, to(1 / (1 - 0.05*0.2)), 19, 0},
		{"one of many", 1, 100, 0, timing{took: 1.25, others: 1}, to(1 / (1 - 0.05*0.2)), 101, 0},
		{"much longer counts in part", 1, 0, 0, timing{took: 10, others: 1}, to(1 / (1 - 0.5*0.4)), 1, 1},
		{"much shorter counts in part", 1, 0, 0, timing{took: 0.1, others: 1}, to(1 - 0.5*0.4), 1, -1},
		{"hardly far enough off", 1, 0, 2, timing{took: 1.66, others: 1}, to(1 / (1 - 0.5*0.66/1.66)), 1, 0},
		{"hardly too far off", 1, 0, 2, timing{took: 1.67, others: 1}, to(1 / (1 - 0.5*0.4)), 1, 3},
		{"hardly too short", 1, 0, -2, timing{took: 0.59, others: 1}, to(1 - 0.5*0.4), 1, -3},
		{"not too short", 1, 0, -2, timing{took: 0.61, others: 1}, to(1 - 0.5*0.39), 1, 0},
		{"the fourth in a row that is much longer", 1, 50, 3, timing{took: 10, others: 1}, to(1 / (1 - 0.4/3)), 2, 0},
		{"the fourth in a row that is much shorter", 1, 50, -3, timing{took: 0.1, others: 1}, to(1 - 0.4/3), 2, 0},
		{"much shorter after some that were longer", 1, 50, 3, timing{took: 0.1, others: 1}, to(1 - 0.05*0.4), 51, -1},
		{"both below the least", 1, 0, 0, timing{took: 0.1, others: 0.3, least: 0.5}, 1, 1, 0},
		{"one above the least", 1, 0, 0, timing{took: 0.625, others: 0.3, least: 0.5}, to(1 / (1 - 0.5*0.2)), 1, 0},
		{"half as long as usual", 1, 0, 0, timing{took: 1.25, others: 1, usual: 2.5}, to(1 / (1 - 0.25*0.2)), 1, 0},
		{"half as long as usual, by what was expected", 1, 0, 0, timing{took: 0.8, others: 1, usual: 2},
			to(1 - 0.25*0.2), 1, 0},
		{"far off and a quarter of what is usual", 1, 0, 1, timing{took: 4, others: 1, usual: 16},
			to(1 / (1 - 0.5*0.25*0.4)), 1, 2},
		{"far off and less of what is usual", 1, 0, 1, timing{took: 4, others: 1, usual: 17},
			to(1 / (1 - 0.5*4/17*0.4)), 1, 1},
		{"as expected and a quarter of what is usual", 1, 0, 2, timing{took: 1, others: 1, usual: 4}, 1, 1, 0},
		{"as expected and less of what is usual", 1, 0, 2, timing{took: 1, others: 1, usual: 5}, 1, 1, 2},
		{"doubtful, of few", 1, 7, 0, timing{took: 1.6, others: 1, doubtful: true}, to(1 / (1 - 0.6/1.6/9)), 8, 0},
		{"doubtful and half as long again", 1, 8, 0, timing{took: 1.5, others: 1, doubtful: true},
			to(1 / (1 - 0.1*0.5/1.5)), 9, 0},
		{"doubtful and longer", 1, 8, 0, timing{took: 1.6, others: 1, doubtful: true}, 1, 8, 0},
		{"doubtful and shorter", 1, 8, 0, timing{took: 0.8, others: 1, doubtful: true}, to(1 - 0.1*0.2), 9, 0},
		{"the greatest", 64, 100, 0, timing{took: 90, others: 1}, 64, 101, 0},
		{"the least", 1.0 / 64, 0, 0, timing{took: 0.001, others: 1}, 1.0 / 64, 1, -1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := factor{f: tc.f, used: tc.f, samples: tc.samples, streak: tc.streak}
			f.learn(&tc.x, moment{})
			if !(math.Abs(f.f-tc.want) <= 1e-9) || f.samples != tc.learnt || f.streak != tc.streakThen {
				t.Errorf("got %.6f by %d samples, a streak of %d; want %.6f by %d, a streak of %d", f.f, f.samples,
					f.streak, tc.want, tc.learnt, tc.streakThen)
			}
		})
	}
}

// TestFactorUsed: who differs by less than a tenth does not differ.
func TestFactorUsed(t *testing.T) {
	for value, want := range map[float64]float64{1: 1, 1.09: 1, 1.11: 1.11, 0.92: 1, 0.9: 0.9, 3: 3, 0.1: 0.1} {
		f := newFactor()
		if f.use(value); f.used != want || f.f != 1 {
			t.Errorf("%v: got %v, want %v", value, f.used, want)
		}
	}
}

// TestFactorHears: a factor of which nothing was heard for longer than it held is halved in its logarithm with each
// further time as long, and then learns as if it were new.
func TestFactorHears(t *testing.T) {
	tests := []struct {
		name        string
		since, then int64 // it was learnt of these samples
		now         moment
		want        float64
	}{
		{"as long ago as it held", 0, 400, moment{800, 100}, 16},
		{"twice as long ago", 0, 400, moment{1200, 100}, 4},
		{"three times as long ago", 0, 400, moment{1600, 100}, 2},
		{"it held for less than the least", 390, 400, moment{600, 100}, 4},
		{"it held for longer than counts", 0, 3 << 16, moment{5 << 16, 100}, 4},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := factor{f: 16, used: 16, since: tc.since, heard: tc.then, samples: 50}
			if f.fade(tc.now); !(math.Abs(f.used-tc.want) <= 1e-9) || f.f != 16 {
				t.Errorf("fades to %v, and %v is kept; want %v and 16", f.used, f.f, tc.want)
			}
			f.hear(tc.now)
			since, samples := tc.since, uint32(50)
			if tc.want != 16 {
				since, samples = tc.now.number, 1
			}
			if !(math.Abs(f.f-tc.want) <= 1e-9) || f.since != since || f.samples != samples ||
				f.heard != tc.now.number {
				t.Errorf("heard of: got %+v, want %v since %d by %d samples", f, tc.want, since, samples)
			}
		})
	}
	fresh := newFactor()
	if fresh.hear(moment{7, 100}); fresh.since != 7 || fresh.heard != 7 || fresh.f != 1 {
		t.Errorf("a new one: got %+v, want it to hold since 7", fresh)
	}
}
