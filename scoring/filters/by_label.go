package filters

import (
	"slices"

	"github.com/pintle-dev/pintle/scoring"
)

// byLabel keeps endpoints whose value of one label is among the valid ones.
//
// Missing data: an endpoint without the label is kept only with allowsNoLabel.
//
// Source: Heimdall and llm-d, by-label. In llm-d an empty text among validValues also keeps endpoints without the
// label.
type byLabel struct{ byLabelParameters }

type byLabelParameters struct {
	// Label is the label's key. Required.
	Label string
	// ValidValues are the values that pass. Required unless allowsNoLabel is true.
	ValidValues []string
	// AllowsNoLabel keeps endpoints that lack the label.
	AllowsNoLabel bool
}

// NewByLabel builds a by-label filter.
func NewByLabel(b *scoring.Builder) scoring.Plugin {
	f := byLabel{}
	b.String("label", &f.Label)
	b.Strings("validValues", &f.ValidValues)
	b.Bool("allowsNoLabel", &f.AllowsNoLabel)
	if f.Label == "" {
		b.Missing("label", "by-label needs the label's key")
	}
	if len(f.ValidValues) == 0 && !f.AllowsNoLabel {
		b.Missing("validValues", "list the values that pass, or set allowsNoLabel")
	}
	return f
}

// Keep implements scoring.Filter.
func (f byLabel) Keep(_ *scoring.Cycle, e *scoring.Endpoint) bool {
	value, ok := e.Label(f.Label)
	if !ok {
		return f.AllowsNoLabel
	}
	return slices.Contains(f.ValidValues, value)
}
