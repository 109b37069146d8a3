package filters

import "github.com/pintle-dev/pintle/scoring"

// endpointAttributeFilter keeps endpoints by one metric: WaitingQueueSize, RunningRequestsSize, KVCacheUsagePercent, or
// one that a data source adds, such as customMetrics of core-metrics-extractor.
//
// Formula: with threshold the value compares so with a number, with range it is from min to max, both included. With
// topK the k endpoints with the lowest values are kept, or with the highest ones if higherIsBetter; which of equal ones
// is chance. With percentile P of n values the cutoff is the one at place P/100 * n of their order, rounded up and at
// least 1; values up to it are kept, or from it on if higherIsBetter.
//
// Missing data: an endpoint without the metric is kept, or removed with onMissing: Fail. It does not count in topK and
// percentile.
//
// Source: llm-d, endpoint-attribute-filter; for the two spellings see endpoint-attribute-scorer. In 0.10 it has
// threshold alone.
type endpointAttributeFilter struct {
	attribute *scoring.Attribute
	rule      attributeRule
	pass      bool
	fallback  bool

	values []float64 // scratch
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
	// Algorithm has type, and an object of that name: threshold with operator (LessThan, LessThanOrEqual, GreaterThan,
	// GreaterThanOrEqual, Equal, NotEqual) and value; range with min and max; topK with k and higherIsBetter (false);
	// percentile with percentile (0 to 100) and higherIsBetter (false). Required.
	Algorithm struct{}
}

// NewEndpointAttributeFilter builds an endpoint-attribute-filter.
func NewEndpointAttributeFilter(b *scoring.Builder) scoring.Plugin {
	f := &endpointAttributeFilter{attribute: b.ReadAttribute("attribute")}
	p := endpointAttributeFilterParameters{OnMissing: "Pass"}
	b.OneOf("onMissing", &p.OnMissing, "Pass", "Fail")
	b.Bool("fallbackOnEmpty", &p.FallbackOnEmpty)
	f.pass, f.fallback = p.OnMissing == "Pass", p.FallbackOnEmpty
	f.rule = readAttributeRule(b, b.Object.Object("algorithm"))
	return f
}

// Prefers implements scoring.Preference.
func (f *endpointAttributeFilter) Prefers() bool { return f.fallback }

// Select implements scoring.GroupFilter.
func (f *endpointAttributeFilter) Select(c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	if f.rule.ordered() {
		f.values = f.values[:0]
		for _, e := range candidates {
			if value, ok := c.Attribute(f.attribute, e); ok {
				f.values = append(f.values, value)
			}
		}
		f.rule.among(f.values)
	}
	return selectPassing(f, c, candidates)
}

func (f *endpointAttributeFilter) passes(c *scoring.Cycle, e *scoring.Endpoint) bool {
	value, ok := c.Attribute(f.attribute, e)
	if !ok {
		return f.pass
	}
	return f.rule.passes(value, c.Random)
}
