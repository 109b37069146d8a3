package scorers

import (
	"strings"

	"github.com/pintle-dev/pintle/scoring"
)

// headerLabelAffinityScorer prefers endpoints that have a label of the value of a request header.
//
// Formula: 1 where the label has the header's value, else 0.
//
// Missing data: without the header every endpoint scores 0, as does one without the label.
//
// Source: llm-d, header-label-affinity-scorer.
type headerLabelAffinityScorer struct {
	header scoring.HeaderKey
	label  string
}

type headerLabelAffinityScorerParameters struct {
	// HeaderName is the header. Required.
	HeaderName string
	// LabelKey is the label. Required.
	LabelKey string
}

// NewHeaderLabelAffinityScorer builds a header-label-affinity-scorer.
func NewHeaderLabelAffinityScorer(b *scoring.Builder) scoring.Plugin {
	p := headerLabelAffinityScorerParameters{}
	b.String("headerName", &p.HeaderName)
	b.String("labelKey", &p.LabelKey)
	if p.HeaderName == "" {
		b.Missing("headerName", "name the header whose value is compared")
	}
	if p.LabelKey == "" {
		b.Missing("labelKey", "name the label that it is compared with")
	}
	return headerLabelAffinityScorer{b.RequestHeader(strings.ToLower(p.HeaderName)), p.LabelKey}
}

// Score implements scoring.Scorer.
func (s headerLabelAffinityScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	value := c.Request.Header(s.header)
	if value == "" {
		return
	}
	for i, e := range candidates {
		if label, ok := e.Label(s.label); ok && label == value {
			scores[i] = 1
		}
	}
}
