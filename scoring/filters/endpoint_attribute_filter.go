package filters

import (
	"math"

	"github.com/pintle-dev/pintle/scoring"
)

// endpointAttributeFilter keeps endpoints by one metric: WaitingQueueSize, RunningRequestsSize, KVCacheUsagePercent, or
// one that a data source adds, such as customMetrics of core-metrics-extractor.
//
// Missing data: an endpoint without the metric is kept, or removed with onMissing: Fail.
//
// Source: llm-d, endpoint-attribute-filter; for the two spellings see endpoint-attribute-scorer.
type endpointAttributeFilter struct {
	attribute *scoring.Attribute
	operator  string
	value     float64
	pass      bool
	fallback  bool
}

type endpointAttributeFilterParameters struct {
	// Attribute is the metric: Name, or Name/Producer. Required.
	Attribute string
	// Producer names the plug-in that the metric comes from; empty is none.
	Producer string
	// OnMissing says what happens to an endpoint without the metric: Pass keeps it, Fail removes it.
	OnMissing string
	// FallbackOnEmpty keeps all endpoints when none passes.
	FallbackOnEmpty bool
	// Algorithm has type: threshold, and threshold: operator (LessThan, LessThanOrEqual, GreaterThan,
	// GreaterThanOrEqual, Equal, NotEqual) and value. Required.
	Algorithm struct{}
}

// NewEndpointAttributeFilter builds an endpoint-attribute-filter.
func NewEndpointAttributeFilter(b *scoring.Builder) scoring.Plugin {
	f := endpointAttributeFilter{attribute: b.ReadAttribute("attribute")}
	p, kind := endpointAttributeFilterParameters{OnMissing: "Pass"}, ""
	b.OneOf("onMissing", &p.OnMissing, "Pass", "Fail")
	b.Bool("fallbackOnEmpty", &p.FallbackOnEmpty)
	f.pass, f.fallback = p.OnMissing == "Pass", p.FallbackOnEmpty
	algorithm := b.Object.Object("algorithm")
	algorithm.OneOf("type", &kind, "threshold")
	threshold := algorithm.Object("threshold")
	threshold.OneOf("operator", &f.operator, "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual",
		"Equal", "NotEqual")
	threshold.Float("value", &f.value, -math.MaxFloat64, math.MaxFloat64)
	threshold.Close()
	algorithm.Close()
	switch {
	case kind == "":
		algorithm.Missing("type", "it is threshold")
	case f.operator == "":
		threshold.Missing("operator", "it is one such as LessThanOrEqual")
	case !threshold.Has("value"):
		threshold.Missing("value", "give the number to compare with")
	}
	return f
}

// Select implements scoring.GroupFilter.
func (f endpointAttributeFilter) Select(c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	return selectPassing(f, c, candidates, f.fallback)
}

func (f endpointAttributeFilter) passes(c *scoring.Cycle, e *scoring.Endpoint) bool {
	value, ok := c.Attribute(f.attribute, e)
	if !ok {
		return f.pass
	}
	switch f.operator {
	case "LessThan":
		return value < f.value
	case "LessThanOrEqual":
		return value <= f.value
	case "GreaterThan":
		return value > f.value
	case "GreaterThanOrEqual":
		return value >= f.value
	case "Equal":
		return value == f.value
	}
	return value != f.value
}
