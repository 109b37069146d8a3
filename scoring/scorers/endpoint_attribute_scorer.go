package scorers

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// endpointAttributeScorer scores endpoints by one metric: WaitingQueueSize, RunningRequestsSize, KVCacheUsagePercent,
// or one that a data source adds, such as customMetrics of core-metrics-extractor.
//
// Formula: v = (value - min) / (max - min), limited to 0 to 1; with linear_lower_is_better 1 - v. min and max are those
// of fixedRange, else the least and the greatest value among the candidates; when these are equal, 1.
//
// Range: 0 to 1.
//
// Missing data: an endpoint without the metric scores 0.
//
// Source: llm-d, endpoint-attribute-scorer. There the released version refuses one spelling of the attribute and its
// successor the other; here both are right: Name with producer beside it, and Name/Producer.
type endpointAttributeScorer struct {
	attribute *scoring.Attribute
	lower     bool
	fixed     bool
	min, max  float64
}

//lint:ignore U1000 it documents the parameters: they nest deeper than a struct is read
type endpointAttributeScorerParameters struct {
	// AttributeKey is the metric: Name, or Name/Producer. Required.
	AttributeKey string
	// Producer names the plug-in that the metric comes from; empty is none.
	Producer string
	// Algorithm has type, linear_lower_is_better or linear_higher_is_better, and normalization: fixedRange with min
	// and max, or adaptiveRange. Required.
	Algorithm struct{}
}

// NewEndpointAttributeScorer builds an endpoint-attribute-scorer.
func NewEndpointAttributeScorer(b *scoring.Builder) scoring.Plugin {
	s := endpointAttributeScorer{attribute: b.ReadAttribute("attributeKey")}
	const lower, higher = "linear_lower_is_better", "linear_higher_is_better"
	algorithm, kind := b.Object.Object("algorithm"), ""
	algorithm.OneOf("type", &kind, lower, higher)
	normalization := algorithm.Object("normalization")
	fixed, adaptive := normalization.Object("fixedRange"), normalization.Object("adaptiveRange")
	fixed.Float("min", &s.min, -math.MaxFloat64, math.MaxFloat64)
	fixed.Float("max", &s.max, -math.MaxFloat64, math.MaxFloat64)
	fixed.Close()
	adaptive.Close()
	normalization.Close()
	algorithm.Close()
	s.lower, s.fixed = kind == lower, fixed.Present()
	switch {
	case kind == "":
		algorithm.Missing("type", "it is "+lower+" or "+higher)
	case s.fixed && adaptive.Present():
		normalization.Mistake("adaptiveRange", "stands beside fixedRange; it is one or the other")
	case s.fixed && s.min >= s.max:
		fixed.Mistake("max", "is not greater than min")
	}
	return s
}

// Score implements scoring.Scorer.
func (s endpointAttributeScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	low, high := s.min, s.max
	if !s.fixed {
		low, high = math.Inf(1), math.Inf(-1)
		for _, e := range candidates {
			if value, ok := c.Attribute(s.attribute, e); ok {
				low, high = min(low, value), max(high, value)
			}
		}
	}
	for i, e := range candidates {
		value, ok := c.Attribute(s.attribute, e)
		switch {
		case !ok:
		case low == high:
			scores[i] = 1
		case s.lower:
			scores[i] = 1 - min(max((value-low)/(high-low), 0), 1)
		default:
			scores[i] = min(max((value-low)/(high-low), 0), 1)
		}
	}
}
