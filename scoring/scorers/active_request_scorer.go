package scorers

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// activeRequestScorer prefers endpoints with fewer requests in flight, as Envoy's workers count them together: from the
// decision to the end of the stream, for decode, prefill and encode endpoints alike. In llm-d's dialect
// inflight-load-producer does the counting; there a prefill ends when the answer begins.
//
// Formula: 1 up to idleThreshold requests, else maxBusyScore x (max - n) / max, where max is over the candidates.
//
// Range: 0 to 1. Unit: requests.
//
// Missing data: none; it needs no metrics.
//
// Source: Heimdall and llm-d, active-request-scorer. In Heimdall max is over all endpoints, and an omitted maxBusyScore
// is 0.
type activeRequestScorer struct{ activeRequestScorerParameters }

type activeRequestScorerParameters struct {
	// RequestTimeout is the age at which a request no longer counts. If several plug-ins give one, the longest holds
	// for all. In llm-d's dialect it has no effect.
	RequestTimeout time.Duration
	// IdleThreshold is the number of requests up to which an endpoint is idle. In llm-d's dialect less than 0 is 0.
	IdleThreshold int
	// MaxBusyScore is the best score of an endpoint that is not idle. In llm-d's dialect a number below 0 or above 1 is
	// 1.
	MaxBusyScore float64
	// InFlightLoadProducerName names the inflight-load-producer, in llm-d's dialect. Empty: the only one.
	InFlightLoadProducerName string
}

// NewActiveRequestScorer builds an active-request-scorer.
func NewActiveRequestScorer(b *scoring.Builder) scoring.Plugin {
	s := activeRequestScorer{activeRequestScorerParameters{RequestTimeout: 2 * time.Minute, MaxBusyScore: 1}}
	llmd, timeout := b.Defaults().PrefixProducers, ""
	if llmd {
		b.String("requestTimeout", &timeout)
	} else {
		b.Duration("requestTimeout", &s.RequestTimeout, time.Millisecond)
	}
	b.IntWithin("idleThreshold", &s.IdleThreshold, 0, math.MaxInt32)
	b.FloatWithin("maxBusyScore", &s.MaxBusyScore, 0, 1)
	options := b.State()
	options.InFlight = true
	if llmd {
		b.String("inFlightLoadProducerName", &s.InFlightLoadProducerName)
		b.NeedLoad("inFlightLoadProducerName", s.InFlightLoadProducerName)
		b.NoEffect("requestTimeout", "inflight-load-producer says when a request no longer counts")
		return s
	}
	options.RequestTimeout = max(options.RequestTimeout, s.RequestTimeout)
	return s
}

// Score implements scoring.Scorer.
func (s activeRequestScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	most := 0
	for _, e := range candidates {
		most = max(most, c.InFlight(e))
	}
	for i, e := range candidates {
		if n := c.InFlight(e); n > s.IdleThreshold {
			scores[i] = s.MaxBusyScore * float64(most-n) / float64(most)
		} else {
			scores[i] = 1
		}
	}
}
