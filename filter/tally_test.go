package main

import "testing"

// TestSampledFollowsTheRate: of few values all are taken, of many about a hundred a second, whoever calls tell besides.
func TestSampledFollowsTheRate(t *testing.T) {
	const second = int64(1e9)
	tests := []struct {
		name        string
		perSecond   int
		tells       int // in each second
		least, most int
	}{
		{"few", 40, 1, 40, 40},
		{"many", 5000, 1, 90, 110},
		{"many, two plug-ins", 5000, 2, 90, 110},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := sampled{every: 1}
			taken := 0
			for i := range int64(5) {
				taken = 0
				for range tc.perSecond {
					if s.wants() {
						taken++
					}
				}
				for k := range tc.tells {
					s.tell((i+1)*second + int64(k)*second/10)
				}
			}
			if taken < tc.least || taken > tc.most {
				t.Errorf("got %d of the last second's %d values, want %d to %d", taken, tc.perSecond, tc.least, tc.most)
			}
		})
	}
	s := sampled{every: 1}
	s.tell(10 * second)
	for range 1000 {
		s.wants()
	}
	s.tell(5 * second) // the clock was set back
	s.tell(6 * second)
	if s.every != 1 {
		t.Errorf("after the clock was set back: got every %d, want 1", s.every)
	}
}
