package series

import "testing"

func TestSeries(t *testing.T) {
	for _, test := range []struct {
		name string
		s    Series
		want float64
	}{
		{"none", nil, 0},
		{"one", Series{3}, 3},
		{"odd, unsorted", Series{9, 1, 5}, 5},
		{"even", Series{4, 1, 2, 9}, 3},
	} {
		if got := test.s.Median(); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
	s := Series{2, 8, 4}
	if got := s.Over(Series{4, 8, 16}); got[0] != 0.5 || got[1] != 1 || got[2] != 0.25 {
		t.Errorf("over: got %v", got)
	}
	if got := s.Spread("%.0f"); got != "2-8" || s[0] != 2 {
		t.Errorf("spread: got %q and %v", got, s)
	}
}

func TestPercentile(t *testing.T) {
	for _, test := range []struct{ n, percent, want int }{
		{1, 50, 1}, {1, 99, 1}, {2, 50, 1}, {3, 50, 2}, {10, 90, 9}, {10, 91, 10}, {100, 0, 1}, {100, 50, 50},
		{100, 90, 90}, {100, 99, 99}, {100, 100, 100}, {101, 99, 100}, {101, 1, 2},
	} {
		var sorted []int
		for i := range test.n {
			sorted = append(sorted, i+1)
		}
		if got := Percentile(sorted, test.percent); got != test.want {
			t.Errorf("p%d of 1 to %d: got %d, want %d", test.percent, test.n, got, test.want)
		}
	}
}

// TestBetween has ranks from tables of the sign test: 15 rounds leave 3 out on either side.
func TestBetween(t *testing.T) {
	for _, test := range []struct {
		n, low, high int
	}{{1, 1, 1}, {5, 1, 5}, {6, 1, 6}, {8, 1, 8}, {9, 2, 8}, {15, 4, 12}, {25, 8, 18}, {2000, 956, 1045}} {
		var s Series
		for i := range test.n {
			s = append(s, float64(test.n-i))
		}
		if low, high := s.Between(); low != float64(test.low) || high != float64(test.high) {
			t.Errorf("%d rounds: got %v to %v, want %d to %d", test.n, low, high, test.low, test.high)
		}
	}
}

// TestEnough: with so many rounds the bounds hold 95 of a hundred medians, with one fewer they do not.
func TestEnough(t *testing.T) {
	missed := func(rounds int) float64 { return 2 * chance(rounds, 0) }
	if missed(Enough) > 0.05 || missed(Enough-1) <= 0.05 {
		t.Errorf("minimum and maximum miss %.3f of the medians with %d rounds, %.3f with %d", missed(Enough), Enough,
			missed(Enough-1), Enough-1)
	}
	if few, many := Bounds(Enough-1), Bounds(Enough); few != "min-max" || many != "95 %" {
		t.Errorf("got %q of too few rounds and %q of enough", few, many)
	}
}
