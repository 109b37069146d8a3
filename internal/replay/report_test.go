package replay

import "testing"

// TestQuantiles: percentiles are those of the nearest rank, in the page's plots, too.
func TestQuantiles(t *testing.T) {
	var times []float64
	var samples []Sample
	for i := range 100 {
		times = append(times, float64(100-i))
		samples = append(samples, Sample{TTFT: float64(i + 1)})
	}
	if got, want := quantiles(times), (Quantiles{50.5, 50, 90, 99}); got != want {
		t.Errorf("of 1 to 100: got %+v, want %+v", got, want)
	}
	for i, p := range distribution(samples, func(s *Sample) float64 { return s.TTFT }) {
		if want := [2]float64{float64(i + 1), float64(i + 1)}; p != want {
			t.Errorf("point %d of 1 to 100: got %v, want %v", i, p, want)
		}
	}
}
