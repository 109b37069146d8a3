package replay

import (
	"math"
	"testing"
	"time"
)

// TestSummarise: of all requests those are good that were answered within the limits, times and tokens are those of
// answers of which they are known.
func TestSummarise(t *testing.T) {
	samples := []Sample{
		{At: 10, TTFT: .1, TPOT: .01, Whole: 1, Input: 100, Cached: 50, Predicted: 60},
		{At: 11, TTFT: .9, TPOT: .01, Whole: 2, Input: 100, Server: 1},
		{At: 12, TTFT: .1, TPOT: .09, Whole: 3, Input: 100},
		{At: 13, TTFT: .5, Whole: 2}, // of one token, just in time
		{At: 14, TTFT: .1, TPOT: .05, Whole: 2, Server: 1},
		{At: 20, Server: -1, Refused: "shed"},
	}
	r := Summarise("x", samples, 2, Limits{TTFT: .5, TPOT: .05})
	if r.Requests != 6 || r.Good != .5 || r.GoodPerSecond != .3 || r.Refusals["shed"] != 1 ||
		!(math.Abs(r.Hits-50./300) <= 1e-9) ||
		!(math.Abs(r.Predicted-.2) <= 1e-9) || !(math.Abs(r.Imbalance-6./5) <= 1e-9) ||
		r.TTFT.P50 != .1 || r.TTFT.P99 != .9 || r.TPOT.P50 != .01 || !(math.Abs(r.TPOT.Mean-.04) <= 1e-9) ||
		r.Whole.Mean != 2 {
		t.Errorf("%+v", r)
	}
	if empty := Summarise("x", nil, 2, Limits{}); !math.IsNaN(empty.Hits) || !math.IsNaN(empty.TTFT.P50) {
		t.Errorf("%+v", empty)
	}
	if one := Summarise("x", samples[:1], 2, Limits{}); one.GoodPerSecond != 1 {
		t.Errorf("%v good answers a second are told of one request, want 1", one.GoodPerSecond)
	}
}

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
