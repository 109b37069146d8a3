package filters

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/scoring"
)

// byLabelSelector keeps endpoints that match a Kubernetes label selector: every pair of matchLabels and every
// requirement of matchExpressions. An empty selector matches everything.
//
// Missing data: an endpoint without a label fails a pair, In or Exists of that label, and meets NotIn and DoesNotExist.
//
// Source: Heimdall, by-label-selector; Kubernetes, LabelSelector.
type byLabelSelector struct{ requirements []requirement }

type byLabelSelectorParameters struct {
	// MatchLabels are labels and the value that each must have.
	MatchLabels []strictjson.Pair
	// MatchExpressions are requirements: key, operator (In, NotIn, Exists, DoesNotExist) and, for the first two,
	// values.
	MatchExpressions []requirement
}

// requirement is one condition on one label.
type requirement struct {
	key, operator string
	values        []string
}

// NewByLabelSelector builds a by-label-selector filter.
func NewByLabelSelector(b *scoring.Builder) scoring.Plugin {
	p := byLabelSelectorParameters{}
	b.StringMap("matchLabels", &p.MatchLabels)
	for _, entry := range b.Objects("matchExpressions") {
		p.MatchExpressions = append(p.MatchExpressions, readRequirement(entry))
	}
	f := byLabelSelector{}
	for _, pair := range p.MatchLabels {
		f.requirements = append(f.requirements, requirement{pair.Key, "In", []string{pair.Value}})
	}
	f.requirements = append(f.requirements, p.MatchExpressions...)
	return f
}

func readRequirement(o *strictjson.Object) requirement {
	r := requirement{}
	o.String("key", &r.key)
	o.OneOf("operator", &r.operator, "In", "NotIn", "Exists", "DoesNotExist")
	o.Strings("values", &r.values)
	o.Close()
	if r.key == "" {
		o.Missing("key", "name a label")
	}
	takesValues := r.operator == "In" || r.operator == "NotIn"
	switch {
	case r.operator == "":
		o.Missing("operator", "it is one of In, NotIn, Exists, DoesNotExist")
	case takesValues && len(r.values) == 0:
		o.Missing("values", r.operator+" needs at least one")
	case !takesValues && len(r.values) > 0:
		o.Mistake("values", "is given; "+r.operator+" takes none")
	}
	return r
}

// Keep implements scoring.Filter.
func (f byLabelSelector) Keep(_ *scoring.Cycle, e *scoring.Endpoint) bool {
	for i := range f.requirements {
		if !f.requirements[i].met(e) {
			return false
		}
	}
	return true
}

func (r *requirement) met(e *scoring.Endpoint) bool {
	value, ok := e.Label(r.key)
	switch r.operator {
	case "In":
		return ok && slices.Contains(r.values, value)
	case "NotIn":
		return !ok || !slices.Contains(r.values, value)
	case "Exists":
		return ok
	}
	return !ok
}
