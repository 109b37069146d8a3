package filters

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

// attributeRule is an algorithm of endpoint-attribute-filter.
type attributeRule struct {
	kind     string
	operator string  // of threshold
	value    float64 // of threshold
	// least and most are the values that pass by the other algorithms: given, or found among those of a decision.
	least, most float64
	k           int     // of topK
	percentile  float64 // of percentile
	higher      bool
	// tied candidates of a decision have the worst value of those that topK keeps, and there is room for so many.
	worst      float64
	tied, room int
}

// The algorithms.
const (
	ruleThreshold  = "threshold"
	ruleRange      = "range"
	ruleTopK       = "topK"
	rulePercentile = "percentile"
)

// mostKept bounds topK: a number beyond all fleets.
const mostKept = 1_000_000

func readAttributeRule(b *scoring.Builder, o *strictjson.Object) (r attributeRule) {
	kinds := [...]string{ruleThreshold, ruleRange, ruleTopK, rulePercentile}
	o.OneOf("type", &r.kind, kinds[:]...)
	parts := map[string]*strictjson.Object{}
	for _, kind := range kinds {
		parts[kind] = o.Object(kind)
		if parts[kind].Present() && r.kind != "" && kind != r.kind {
			b.Warn("algorithm." + kind + " has no effect with type: " + r.kind)
		}
	}
	r.readThreshold(parts[ruleThreshold])
	r.readRange(parts[ruleRange])
	r.readOrder(b, parts[ruleTopK], ruleTopK)
	r.readOrder(b, parts[rulePercentile], rulePercentile)
	o.Close()
	if r.kind == "" {
		o.Missing("type", "it is one of threshold, range, topK, percentile")
	}
	return r
}

func (r *attributeRule) readThreshold(o *strictjson.Object) {
	o.OneOf("operator", &r.operator, "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual", "Equal",
		"NotEqual")
	o.Float("value", &r.value, -math.MaxFloat64, math.MaxFloat64)
	o.Close()
	switch {
	case r.kind != ruleThreshold:
	case r.operator == "":
		o.Missing("operator", "it is one such as LessThanOrEqual")
	case !o.Has("value"):
		o.Missing("value", "give the number to compare with")
	}
}

func (r *attributeRule) readRange(o *strictjson.Object) {
	o.Float("min", &r.least, -math.MaxFloat64, math.MaxFloat64)
	o.Float("max", &r.most, -math.MaxFloat64, math.MaxFloat64)
	o.Close()
	if r.kind != ruleRange {
		return
	}
	for _, key := range [...]string{"min", "max"} {
		if !o.Has(key) {
			o.Missing(key, "give the least and the greatest value that pass")
		}
	}
	if o.Has("min") && o.Has("max") && r.least > r.most {
		o.Mistake("max", o.Raw("max")+" is less than min")
	}
}

// readOrder reads topK or percentile, which go by the order of the candidates' values.
func (r *attributeRule) readOrder(b *scoring.Builder, o *strictjson.Object, kind string) {
	key, higher := "k", false
	if kind == ruleTopK {
		o.Int(key, &r.k, 1, mostKept)
	} else {
		key = "percentile"
		o.Float(key, &r.percentile, 0, 100)
	}
	o.Bool("higherIsBetter", &higher)
	o.Close()
	if r.kind != kind {
		return
	}
	r.higher = higher
	if !o.Has(key) {
		o.Missing(key, "it says how many of the candidates are kept")
	}
	if !o.Has("higherIsBetter") {
		b.Warn("algorithm." + kind + ".higherIsBetter is not given: the lowest values are kept")
	}
}

// ordered reports whether a value passes or not by what the others are.
func (r *attributeRule) ordered() bool { return r.kind == ruleTopK || r.kind == rulePercentile }

// among finds what passes by the values of a decision, which it sorts.
func (r *attributeRule) among(values []float64) {
	r.least, r.most, r.tied = math.Inf(-1), math.Inf(1), 0
	n := len(values)
	if n == 0 {
		return
	}
	slices.Sort(values)
	switch {
	case r.kind == rulePercentile:
		// The nearest rank; what a product of floating-point numbers is too large by must not make it the next one.
		rank := math.Ceil(r.percentile/100*float64(n) - 1e-6)
		r.bound(values[int(min(max(rank, 1), float64(n)))-1])
	case r.k < n:
		if r.higher {
			slices.Reverse(values)
		}
		r.worst = values[r.k-1]
		r.bound(r.worst)
		first := slices.Index(values, r.worst)
		r.room = r.k - first
		for _, v := range values[first:] {
			if v == r.worst {
				r.tied++
			}
		}
	}
}

// bound has the values from the last one on pass.
func (r *attributeRule) bound(last float64) {
	if r.higher {
		r.least = last
	} else {
		r.most = last
	}
}

// passes reports whether a candidate's value passes. Each candidate is asked for once.
func (r *attributeRule) passes(value float64, random *rand.Rand) bool {
	if r.kind != ruleThreshold {
		return value >= r.least && value <= r.most && (r.tied == 0 || value != r.worst || r.drawn(random))
	}
	switch r.operator {
	case "LessThan":
		return value < r.value
	case "LessThanOrEqual":
		return value <= r.value
	case "GreaterThan":
		return value > r.value
	case "GreaterThanOrEqual":
		return value >= r.value
	case "Equal":
		return value == r.value
	}
	return value != r.value
}

// drawn reports whether the next one of the tied candidates is kept: each of them equally likely (selection sampling,
// Knuth 3.4.2).
func (r *attributeRule) drawn(random *rand.Rand) bool {
	kept := r.room == r.tied || random.IntN(r.tied) < r.room
	r.tied--
	if kept {
		r.room--
	}
	return kept
}
