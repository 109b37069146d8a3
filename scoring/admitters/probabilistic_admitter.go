package admitters

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// probabilisticAdmitter refuses some of the requests whose priority is below 0, the more the servers are loaded, long
// before they are saturated.
//
// Formula: refused with the probability min(1, saturation^power x k), where saturation is the mean over the servers of
// the model of max(waiting requests / queueDepthThreshold, KV cache usage / kvCacheUtilThreshold).
//
// A refused request gets status 429 and the reason shed; in llm-d's dialect also x-llm-d-request-dropped-reason:
// rejected-saturated.
//
// Missing data: a server without metrics counts as saturated, 1.
//
// Source: llm-d, probabilistic-admitter. There every refusal of an admitter becomes an internal error on its way, so
// that a refused request gets status 500 and no reason; here it gets the 429 that was meant.
type probabilisticAdmitter struct {
	scoring.Utilization
	power, k float64
}

type probabilisticAdmitterParameters struct {
	// QueueDepthThreshold is the number of waiting requests at which a server is saturated.
	QueueDepthThreshold float64
	// KVCacheUtilThreshold is the used part of the KV cache at which a server is saturated. Above 1 the cache alone
	// never saturates it.
	KVCacheUtilThreshold float64
	// Power says how late the probability rises: the larger, the later and the steeper.
	Power float64
	// K is the probability at saturation 1; if it is above 1, the probability reaches 1 before that.
	K float64
}

var shed = &scoring.Failure{
	Status: 429, Reason: scoring.Shed.Reason,
	Message: "the model servers are loaded and the request's priority is below 0",
}

// NewProbabilisticAdmitter builds a probabilistic-admitter.
func NewProbabilisticAdmitter(b *scoring.Builder) scoring.Plugin {
	p := probabilisticAdmitterParameters{QueueDepthThreshold: 5, KVCacheUtilThreshold: 0.8, Power: 5, K: 300}
	const least = 1e-9
	b.Float("queueDepthThreshold", &p.QueueDepthThreshold, least, math.MaxFloat64)
	b.Float("kvCacheUtilThreshold", &p.KVCacheUtilThreshold, least, math.MaxFloat64)
	b.Float("power", &p.Power, least, 1e6)
	b.Float("k", &p.K, least, math.MaxFloat64)
	return probabilisticAdmitter{scoring.Utilization{QueueDepth: p.QueueDepthThreshold,
		KVUsage: p.KVCacheUtilThreshold}, p.Power, p.K}
}

// Admit implements scoring.Admitter.
func (a probabilisticAdmitter) Admit(c *scoring.Cycle) *scoring.Failure {
	if c.Priority() >= 0 {
		return nil
	}
	sum, n := 0.0, 0
	for i := range c.Pool.Endpoints {
		if e := &c.Pool.Endpoints[i]; c.Serves(e) {
			sum += a.Of(c, e)
			n++
		}
	}
	if c.Random.Float64() < math.Pow(sum/float64(n), a.power)*a.k {
		return shed
	}
	return nil
}
