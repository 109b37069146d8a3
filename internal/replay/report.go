package replay

import (
	"math"
	"slices"

	"github.com/pintle-dev/pintle/internal/series"
)

// Limits are what an answer must keep to count as good, in seconds; 0 is none.
type Limits struct{ TTFT, TPOT float64 }

// Quantiles are percentiles of something, in seconds.
type Quantiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
}

// Report sums samples up. A number that is unknown is NaN.
type Report struct {
	Name              string
	Requests, Servers int
	// TTFT and TPOT are those of answers of which they are known, Whole is that of answers that came to their end.
	TTFT, TPOT, Whole Quantiles
	// Hits is the part of the prompts' tokens that was found in caches, as far as servers told, Predicted the part of
	// all that was believed to be.
	Hits, Predicted float64
	// Imbalance is the largest share of the requests that one server had, as a multiple of an equal share.
	Imbalance float64
	// Good is the part of all requests that were answered to the end and within the limits, as far as their times are
	// known, GoodPerSecond how many a second.
	Good, GoodPerSecond float64
	// Refusals counts by reason.
	Refusals map[string]int
	Samples  []Sample
}

// Summarise makes a report of samples from so many servers.
func Summarise(name string, samples []Sample, servers int, limits Limits) *Report {
	r := &Report{Name: name, Requests: len(samples), Servers: servers, Refusals: map[string]int{}, Samples: samples}
	var ttft, tpot, whole []float64
	counts := make([]int, max(servers, 1))
	answered, input, told, cached, predicted, good, seconds := 0, 0, 0, 0, 0, 0, 0.0
	for i := range samples {
		s := &samples[i]
		seconds = max(seconds, s.At-samples[0].At)
		if s.Server < 0 {
			r.Refusals[s.Refused]++
			continue
		}
		counts[s.Server]++
		answered++
		if s.TTFT > 0 {
			ttft = append(ttft, s.TTFT)
		}
		if s.TPOT > 0 {
			tpot = append(tpot, s.TPOT)
		}
		input, predicted = input+s.Input, predicted+s.Predicted
		if !s.CachedUnknown {
			told, cached = told+s.Input, cached+s.Cached
		}
		if s.Cut {
			continue
		}
		whole = append(whole, s.Whole)
		if (limits.TTFT == 0 || s.TTFT <= limits.TTFT) && (limits.TPOT == 0 || s.TPOT <= limits.TPOT) {
			good++
		}
	}
	r.TTFT, r.TPOT, r.Whole = quantiles(ttft), quantiles(tpot), quantiles(whole)
	r.Hits, r.Predicted = part(cached, told), part(predicted, input)
	r.Imbalance = part(slices.Max(counts)*len(counts), answered)
	r.Good = part(good, len(samples))
	r.GoodPerSecond = float64(good) / max(seconds, 1)
	return r
}

func part(of, all int) float64 {
	if all == 0 {
		return math.NaN()
	}
	return float64(of) / float64(all)
}

// quantiles sorts of.
func quantiles(of []float64) Quantiles {
	if len(of) == 0 {
		return Quantiles{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(of)
	sum := 0.0
	for _, v := range of {
		sum += v
	}
	return Quantiles{sum / float64(len(of)), series.Percentile(of, 50), series.Percentile(of, 90),
		series.Percentile(of, 99)}
}
