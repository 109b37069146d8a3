package latency

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// What becomes of a request whose objective no endpoint meets.
const (
	Serve  = "serve"
	Shed   = "shed"
	Refuse = "refuse"
)

// Unmet refuses requests whose objective no endpoint is predicted to meet.
type Unmet struct {
	shed, refuse bool
	failure      scoring.Failure
}

// Read reads the parameter unmet, whose default is given, and returns its value.
func (u *Unmet) Read(b *scoring.Builder, unmet string) string {
	b.OneOf("unmet", &unmet, Serve, Shed, Refuse)
	u.shed, u.refuse = unmet == Shed, unmet == Refuse
	if !u.refuse {
		u.failure = scoring.Failure{Status: 429, Reason: scoring.Shed.Reason,
			Message: "no model server can meet the request's objective, and its priority is below 0"}
		return unmet
	}
	u.failure = scoring.Failure{Status: 429, Reason: scoring.SLOUnmet,
		Message: "no model server can meet the request's objective"}
	return unmet
}

// Confirm returns why a request that was routed is refused, nil for one that is served: if it has no objective, if it
// may not be refused, if nothing can be predicted yet, if an endpoint meets the objective, or if one has no request in
// flight, so that nothing would be gained by waiting.
func (u *Unmet) Confirm(c *scoring.Cycle, rules *scoring.LatencyRules) *scoring.Failure {
	if !u.refuse && !(u.shed && c.Priority() < 0) || rules.Objective(c) == (scoring.Latencies{}) {
		return nil
	}
	predictions, known := rules.Predict(c, c.Able())
	if !known {
		return nil
	}
	late := math.Inf(1)
	for i := range predictions {
		p := &predictions[i]
		if p.Meets() || c.InFlight(p.Endpoint) == 0 {
			return nil
		}
		late = min(late, -p.TTFTRoom)
	}
	u.failure.RetryAfter = int(min(max(math.Ceil(late), 1), mostRetryAfter))
	return &u.failure
}

// mostRetryAfter bounds what clients are told to wait, in seconds.
const mostRetryAfter = 60
