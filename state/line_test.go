package state

import (
	"math"
	"testing"
)

// TestStreak: what goes to one side in a row is counted until it is enough, and anew from what goes to the other.
func TestStreak(t *testing.T) {
	for _, tc := range []struct {
		name, ups string // u is up
		want      string // y where they are enough
	}{
		{"up", "uuuuuu", "nnynny"},
		{"down", "dddddd", "nnynny"},
		{"now and then", "uudduudd", "nnnnnnnn"},
		{"up behind down", "dduuu", "nnnny"},
		{"down behind up", "uuddd", "nnnny"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s streak
			got := ""
			for _, c := range tc.ups {
				got += map[bool]string{true: "y", false: "n"}[s.add(c == 'u', 3)]
			}
			if got != tc.want {
				t.Errorf("of %s: got %s, want %s", tc.ups, got, tc.want)
			}
		})
	}
}

// settled is a line that has learnt from many samples that the value is 1 for each unit of the second term.
func settled() line {
	l := newLine()
	for i := range 400 {
		x := float64(1 + i%7)
		l.learn(&[terms]float64{1, x, 0}, x, 0.001)
	}
	return l
}

// TestLineDoubts: a sample that is far off moves a line that knows much by little, and five in a row to one side make
// it learn as if it were new.
func TestLineDoubts(t *testing.T) {
	tests := []struct {
		name        string
		values      []float64 // at 4
		least, most float64   // what is expected at 4 then
	}{
		{"none", nil, 3.99, 4.01},
		{"one", []float64{40}, 3.9, 5},
		{"four on end", []float64{40, 40, 40, 40}, 3.9, 12},
		{"five on end", []float64{40, 40, 40, 40, 40}, 35, 41},
		{"five, and a good one among them", []float64{40, 40, 40, 4, 40, 40}, 3.9, 12},
		{"five to either side", []float64{40, 40, 0.4, 40, 40}, 3, 12},
		{"five on end below", []float64{0.4, 0.4, 0.4, 0.4, 0.4}, 0.3, 0.9},
		{"four on end below", []float64{0.4, 0.4, 0.4, 0.4}, 1.2, 4},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			l, x := settled(), [terms]float64{1, 4, 0}
			for _, v := range tc.values {
				l.learn(&x, v, 0.001)
			}
			if got := l.at(&x); !(got >= tc.least && got <= tc.most) {
				t.Errorf("expects %v, want %v to %v", got, tc.least, tc.most)
			}
		})
	}
}

// TestLineBegins: a new line believes the first sample nearly, and what is known fades, so that new samples always
// count.
func TestLineBegins(t *testing.T) {
	l, x := newLine(), [terms]float64{1, 0, 0}
	l.learn(&x, 2, 0.05)
	// Nothing was expected, but 0.05 as the least that makes a difference: its square is the variance of the sample.
	if want := 2 / (1 + 0.0025); !(math.Abs(l.w[0]-want) <= 1e-9) || l.samples != 1 {
		t.Errorf("after one sample: got %v of %d, want %v", l.w[0], l.samples, want)
	}
	if want := 0.5 + 0.05*0.5; !(math.Abs(l.off-want) <= 1e-9) {
		t.Errorf("the mean error is %v, want %v", l.off, want)
	}
	variance := l.p[0][0]
	if want := 1 - 1/1.0025; !(math.Abs(variance-want) <= 1e-9) {
		t.Errorf("the variance is %v, want %v", variance, want)
	}
	if l.p[1][1] != linePrior || l.p[2][2] != linePrior {
		t.Errorf("terms of which nothing was learnt are known to %v and %v, want %v", l.p[1][1], l.p[2][2], linePrior)
	}
	for range 10_000 {
		l.learn(&x, 2, 0.05)
	}
	before := l.w[0]
	for range 200 {
		l.learn(&x, 2.2, 0.05)
	}
	if !(math.Abs(before-2) <= 1e-3) || !(math.Abs(l.w[0]-2.2) <= 0.02) {
		t.Errorf("got %v and then %v, want 2 and then 2.2", before, l.w[0])
	}
}

// TestLineIsNotNegative: no term takes anything away.
func TestLineIsNotNegative(t *testing.T) {
	l := newLine()
	for i := range 50 {
		x := float64(1 + i%5)
		l.learn(&[terms]float64{1, x, x * x}, 10-x, 0.001)
	}
	for i, w := range l.w {
		if w < 0 {
			t.Errorf("term %d: got %v, want no less than 0", i, w)
		}
	}
}
