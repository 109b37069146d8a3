package admitters

import (
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/latency"
)

// latencySloAdmitter refuses requests whose objective no endpoint is predicted to meet, so that they do not wait in
// vain and take capacity from others. predicted-latency-producer says what is predicted, and how objectives are given.
//
// A request is refused if it has an objective, if all endpoints of the profile that ran last miss it, and if each of
// them has a request in flight: what an idle server cannot do, waiting does not help. Those count that filters leave,
// or pass over because they prefer others, as slo-headroom-tier-filter does. A profile that found none does not count,
// nor does that of an encode stage. With unmet shed, the default, only requests whose priority is below 0 are refused.
//
// A refused request gets status 429, retry-after with the seconds by which the best endpoint would be late, 1 to 60,
// and the reason slo_unmet, or shed with unmet shed; in llm-d's dialect also x-llm-d-request-dropped-reason:
// rejected-saturated.
//
// Missing data: until answers have shown how fast servers are, all requests are served.
//
// Source: llm-d, latency-slo-admitter. There it sheds by priority alone, a server with less than 2 % of its KV cache in
// use also keeps a request from being refused, and a refused one gets status 500.
type latencySloAdmitter struct {
	rules *scoring.LatencyRules
	unmet latency.Unmet
}

type latencySloAdmitterParameters struct {
	// Unmet is what becomes of requests whose objective no endpoint meets: shed refuses those with a priority below 0,
	// refuse all of them, serve none.
	Unmet string
	// LatencyPredictionInfoProducerName names the predicted-latency-producer. Empty: the one of that name.
	LatencyPredictionInfoProducerName string
}

// NewLatencySloAdmitter builds a latency-slo-admitter.
func NewLatencySloAdmitter(b *scoring.Builder) scoring.Plugin {
	a := &latencySloAdmitter{rules: b.LatencyRules()}
	p := latencySloAdmitterParameters{}
	p.Unmet = a.unmet.Read(b, latency.Shed)
	return a
}

// Confirm implements scoring.Confirmer.
func (a *latencySloAdmitter) Confirm(c *scoring.Cycle) *scoring.Failure {
	return a.unmet.Confirm(c, a.rules)
}
