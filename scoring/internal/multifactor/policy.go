// Package multifactor rates candidates by quality, latency, cost and load at once, and keeps those out that break a
// ceiling. A candidate is a model or an endpoint: who calls says what is known of each, the maths is the same.
//
// Source: the semantic router's multi_factor algorithm.
package multifactor

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/state"
)

// The factors, as places in arrays.
const (
	Quality = iota
	Latency
	Cost
	Load
	Factors
)

// Names are the factors as configurations call them.
var Names = [Factors]string{"quality", "latency", "cost", "load"}

// What becomes of a request when every candidate breaks a ceiling.
const (
	Cheapest = "cheapest"
	First    = "first"
	Fail     = "fail"
)

const (
	worst   = "worst"
	neutral = "neutral"

	documented = "documented"
	source     = "source"

	// defaultWeight is that of each factor.
	defaultWeight = 0.25
	// defaultPercentile is the percentile of latency.
	defaultPercentile = 95
	// most bounds numbers of the configuration, so that differences of them stay numbers.
	most = 1e12
)

// RequestTimeout is the age at which a request no longer counts as in flight.
const RequestTimeout = 10 * time.Minute

// Policy says how candidates are rated. It is made by Read, and its fields are called as in configurations.
type Policy struct {
	// weights are those of quality, latency, cost and load, 0.25 each; they are divided by their sum.
	weights [Factors]float64
	// slo holds the ceilings max_tpot_ms, max_ttft_ms, max_cost_per_1m and max_inflight; 0 is none.
	slo ceilings
	// latencyPercentile is the percentile of latencies that is rated, 1 to 100.
	latencyPercentile int
	// onNoCandidates says what to do when every candidate breaks a ceiling: cheapest, first or fail.
	onNoCandidates string
	// missing says for quality, latency and cost how a candidate is rated for which it is not known: worst or neutral.
	// By default latency is neutral, the others are worst.
	missing [Factors]float64
	// latencyWindow is the age at which a latency is forgotten. All plug-ins share the longest that a configuration
	// names.
	latencyWindow time.Duration
	// semantics is documented, or source for the differences of the semantic router's code.
	semantics string
}

type ceilings struct {
	tpotMillis, ttftMillis, cost float64
	inFlight                     int
}

// Quantile is the quantile of latencies that the policy goes by, 0 to 1.
func (p *Policy) Quantile() float64 { return float64(p.latencyPercentile) / 100 }

// bySource reports whether the policy does as the semantic router's code.
func (p *Policy) bySource() bool { return p.semantics == source }

// UsesLatency reports whether latencies matter to the policy at all.
func (p *Policy) UsesLatency() bool {
	return p.weights[Latency] > 0 || p.slo.tpotMillis > 0 || p.slo.ttftMillis > 0
}

// OnNone is Cheapest, First or Fail.
func (p *Policy) OnNone() string { return p.onNoCandidates }

// Window is the age at which a latency is forgotten, 0 when the configuration does not say.
func (p *Policy) Window() time.Duration { return p.latencyWindow }

// Read reads the policy's keys from o, which may hold others.
func Read(o *strictjson.Object) Policy {
	p := Policy{
		latencyPercentile: defaultPercentile, onNoCandidates: Cheapest, latencyWindow: state.DefaultWindowAge,
		semantics: documented,
	}
	o.OneOf("semantics", &p.semantics, documented, source)
	p.readWeights(o.Object("weights"))
	p.readCeilings(o.Object("slo"))
	p.readPercentile(o)
	o.OneOf("on_no_candidates", &p.onNoCandidates, Cheapest, First, Fail)
	p.readMissing(o.Object("missing"))
	o.Duration("latency_window", &p.latencyWindow, time.Millisecond)
	if !o.Has("latency_window") {
		p.latencyWindow = 0
	}
	return p
}

func (p *Policy) readWeights(o *strictjson.Object) {
	for f := range p.weights {
		if p.weights[f] = defaultWeight; p.bySource() && o.Present() {
			p.weights[f] = 0
		}
		o.Float(Names[f], &p.weights[f], -most, most)
	}
	o.Close()
	p.normalise()
}

// normalise takes negative weights for 0 and divides all by their sum. Without any weight all are equal.
func (p *Policy) normalise() {
	sum := 0.0
	for f := range p.weights {
		p.weights[f] = max(p.weights[f], 0)
		sum += p.weights[f]
	}
	for f := range p.weights {
		if sum == 0 {
			p.weights[f] = defaultWeight
		} else {
			p.weights[f] /= sum
		}
	}
}

// readPercentile reads the percentile of latency. The semantic router takes its default for what is none.
func (p *Policy) readPercentile(o *strictjson.Object) {
	if !p.bySource() {
		o.Int("latency_percentile", &p.latencyPercentile, 1, 100)
		return
	}
	o.Int("latency_percentile", &p.latencyPercentile, math.MinInt32, math.MaxInt32)
	if p.latencyPercentile < 1 || p.latencyPercentile > 100 {
		p.latencyPercentile = defaultPercentile
	}
}

func (p *Policy) readCeilings(o *strictjson.Object) {
	o.Float("max_tpot_ms", &p.slo.tpotMillis, 0, most)
	o.Float("max_ttft_ms", &p.slo.ttftMillis, 0, most)
	o.Float("max_cost_per_1m", &p.slo.cost, 0, most)
	o.Int("max_inflight", &p.slo.inFlight, 0, math.MaxInt32)
	o.Close()
}

// readMissing reads what a missing signal is worth. Load is never missing.
func (p *Policy) readMissing(o *strictjson.Object) {
	for _, f := range [...]int{Quality, Latency, Cost} {
		worth := worst
		if f == Latency && !p.bySource() {
			worth = neutral
		}
		o.OneOf(Names[f], &worth, worst, neutral)
		if worth == neutral {
			p.missing[f] = middle
		}
	}
	o.Close()
}

// ReadSignal reads a quality score or a price, on any scale. Without the key it is unknown.
func ReadSignal(o *strictjson.Object, key string, dst *float64) {
	value := 0.0
	o.Float(key, &value, 0, most)
	if *dst = math.NaN(); o.Has(key) {
		*dst = value
	}
}
