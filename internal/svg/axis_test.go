package svg

import (
	"math"
	"testing"
)

func TestAxis(t *testing.T) {
	for _, test := range []struct {
		most  float64
		top   float64
		ticks int
	}{
		{0, 1, 6}, {1, 1, 6}, {3, 3, 7}, {7, 7, 8}, {20, 20, 5}, {60, 60, 7}, {61, 70, 8}, {75, 80, 5}, {99, 100, 6},
		{18.5, 20, 5},
		{1234, 1400, 8},
	} {
		a := Axis{To: NiceTop(test.most)}
		ticks := a.Ticks()
		if math.Abs(a.To-test.top) > 1e-9 || len(ticks) != test.ticks || math.Abs(ticks[len(ticks)-1]-a.To) > 1e-9 {
			t.Errorf("up to %v: got %v with ticks %v, want %v with %d, the last one at the end", test.most, a.To, ticks,
				test.top, test.ticks)
		}
	}
	a := Axis{From: 0.01, To: 100, Logarithmic: true}
	if got := a.Ticks(); len(got) != 5 || a.Part(1) != 0.5 || a.Part(0) != 0 || a.Part(1000) != 1 {
		t.Errorf("logarithmic: got ticks %v, %v, %v, %v", got, a.Part(1), a.Part(0), a.Part(1000))
	}
}
