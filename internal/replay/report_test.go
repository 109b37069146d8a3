package replay

import (
	"testing"
	"time"
)

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

// TestHeading: figures that were fitted are told to as many digits as people read.
func TestHeading(t *testing.T) {
	for _, tc := range []struct {
		name string
		pace time.Duration
		slow float64
		want string
	}{
		{"defaults", 11 * time.Millisecond, 0.028, "11ms for a token, 0.028 of it for each further request"},
		{"fitted", 18475536, 0.04463048296096278, "18.476ms for a token, 0.0446 of it for each further request"},
		{"no time", 0, 0, "0s for a token, 0 of it for each further request"},
	} {
		d := Document{Trace: &Trace{}, Servers: DefaultServers()}
		d.Servers.TimePerOutputToken, d.Servers.BatchSlowdown = tc.pace, tc.slow
		want := "8 servers: 256 slots, 19208 blocks of 16 tokens, prefill 12000 tokens/s, " + tc.want
		if got := d.Heading()[1]; got != want {
			t.Errorf("%s: got  %s\nwant %s", tc.name, got, want)
		}
	}
}
