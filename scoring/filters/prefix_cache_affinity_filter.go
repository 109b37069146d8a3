package filters

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// prefixCacheAffinityFilter keeps a request at the endpoints that have most of its prompt in their caches, unless these
// are so busy that computing the prompt anew elsewhere takes less time.
//
// Formula: an endpoint is sticky when matched blocks / blocks of the prompt >= affinityThreshold. If there are sticky
// endpoints, only they are kept. All are kept when there are none, and when the request would wait longer at the least
// busy sticky endpoint than at the least busy other one by more than maxTTFTPenaltyMs. The wait is tokens in flight /
// throughput, as inflight-load-producer counts tokens, without the request at hand. throughput is
// peakPrefillThroughput; where that is not given, it is what each endpoint computes in a second, as its answers show,
// and 15928 before they do. With ttftSource latencyPredictor the wait is the predicted time to first token of the
// request.
//
// Missing data: all are kept for a prompt of which nothing is known to be cached.
//
// Source: llm-d, prefix-cache-affinity-filter.
type prefixCacheAffinityFilter struct {
	threshold, exploration float64
	penaltySeconds         float64
	throughput             float64
	learns                 bool
	rules                  *scoring.LatencyRules // nil for prefillThroughput
	matches                scoring.MatchKey
}

type prefixCacheAffinityFilterParameters struct {
	// AffinityThreshold is the part of the prompt that makes an endpoint sticky. 0 or less: the filter keeps all.
	AffinityThreshold float64
	// ExplorationProbability is the probability with which all are kept, whatever is cached.
	ExplorationProbability float64
	// MaxTTFTPenaltyMs is how much longer a request may wait at a sticky endpoint, in milliseconds. 0: any time.
	MaxTTFTPenaltyMs float64
	// TTFTSource is prefillThroughput or latencyPredictor.
	TTFTSource string
	// PeakPrefillThroughput is how many tokens of prompts an endpoint computes in a second; where it is used it must be
	// above 0. Unset: it is learnt.
	PeakPrefillThroughput float64
	// PrefixMatchInfoProducerName names the plug-in that matches prefixes. Empty: approx-prefix-cache-producer.
	PrefixMatchInfoProducerName string
	// LatencyPredictionInfoProducerName names the predicted-latency-producer. It has no effect without
	// latencyPredictor.
	LatencyPredictionInfoProducerName string
	// InFlightLoadProducerName names the inflight-load-producer. Empty: the only one.
	InFlightLoadProducerName string
}

const (
	sourceThroughput = "prefillThroughput"
	sourcePredictor  = "latencyPredictor"
)

// NewPrefixCacheAffinityFilter builds a prefix-cache-affinity-filter.
func NewPrefixCacheAffinityFilter(b *scoring.Builder) scoring.Plugin {
	p := prefixCacheAffinityFilterParameters{
		AffinityThreshold: 0.8, MaxTTFTPenaltyMs: 18000, TTFTSource: sourceThroughput, PeakPrefillThroughput: 15928,
	}
	b.Float("affinityThreshold", &p.AffinityThreshold, -math.MaxFloat64, 1)
	b.Float("explorationProbability", &p.ExplorationProbability, 0, 1)
	b.Float("maxTTFTPenaltyMs", &p.MaxTTFTPenaltyMs, 0, math.MaxFloat64)
	b.OneOf("ttftSource", &p.TTFTSource, sourceThroughput, sourcePredictor)
	b.Float("peakPrefillThroughput", &p.PeakPrefillThroughput, 0, math.MaxFloat64)
	b.String("latencyPredictionInfoProducerName", &p.LatencyPredictionInfoProducerName)
	b.String("inFlightLoadProducerName", &p.InFlightLoadProducerName)
	f := prefixCacheAffinityFilter{
		threshold: p.AffinityThreshold, exploration: p.ExplorationProbability,
		penaltySeconds: p.MaxTTFTPenaltyMs / 1000, throughput: p.PeakPrefillThroughput, matches: b.PrefixMatches(),
	}
	if p.TTFTSource == sourcePredictor {
		f.rules = b.LatencyRules()
	} else if p.LatencyPredictionInfoProducerName != "" {
		b.Warn("latencyPredictionInfoProducerName has no effect with ttftSource: " + sourceThroughput)
	}
	if p.MaxTTFTPenaltyMs > 0 {
		b.NeedLoad("inFlightLoadProducerName", p.InFlightLoadProducerName)
		f.learns = f.rules == nil && !b.Has("peakPrefillThroughput")
		b.State().Speeds = b.State().Speeds || f.learns
		if p.PeakPrefillThroughput == 0 && f.rules == nil {
			b.Mistake("peakPrefillThroughput", "0 is no throughput; give tokens per second")
		}
	}
	return f
}

// Prefers implements scoring.Preference.
func (prefixCacheAffinityFilter) Prefers() bool { return true }

// Select implements scoring.GroupFilter.
func (f prefixCacheAffinityFilter) Select(c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	m := c.PrefixMatches(f.matches)
	if len(candidates) < 2 || f.threshold <= 0 || m.Blocks == 0 || f.explores(c) {
		return len(candidates)
	}
	n := 0
	for i, e := range candidates {
		// A quotient, which rounds as the threshold was read: 0.55 x 100 is more than 55.
		if float64(m.Matched(e))/float64(m.Blocks) >= f.threshold {
			candidates[n], candidates[i] = e, candidates[n]
			n++
		}
	}
	if n > 0 && n < len(candidates) && f.penaltySeconds > 0 && f.busy(c, candidates, n) {
		return 0
	}
	return n
}

// busy reports whether the first n candidates, which are sticky, have the request wait for too long.
func (f prefixCacheAffinityFilter) busy(c *scoring.Cycle, candidates []*scoring.Endpoint, n int) bool {
	var predictions []scoring.Prediction
	if f.rules != nil {
		predictions, _ = f.rules.Predict(c, candidates)
	}
	sticky, other := math.Inf(1), math.Inf(1)
	for i, e := range candidates {
		wait := 0.0
		if f.rules != nil {
			wait = predictions[i].TTFT
		} else {
			wait = float64(c.TokensInFlight(e)) / f.rate(c, e)
		}
		if i < n {
			sticky = min(sticky, wait)
		} else {
			other = min(other, wait)
		}
	}
	return sticky-other > f.penaltySeconds
}

// rate is how many tokens e computes in a second.
func (f prefixCacheAffinityFilter) rate(c *scoring.Cycle, e *scoring.Endpoint) float64 {
	if f.learns {
		if rate, ok := c.Throughput(e); ok {
			return rate
		}
	}
	return f.throughput
}

func (f prefixCacheAffinityFilter) explores(c *scoring.Cycle) bool {
	return f.exploration > 0 && c.Random.Float64() < f.exploration
}
