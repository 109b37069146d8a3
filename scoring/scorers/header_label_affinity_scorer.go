package scorers

import (
	"github.com/pintle-dev/pintle/scoring"
)

// headerLabelAffinityScorer prefers endpoints with a label whose value is that of a request header. The answer has the
// header with the label's value of the endpoint that served, so that later requests can follow it.
//
// Formula: 1 where the label has the header's value, else 0.
//
// Missing data: without the header every endpoint scores 0, as does one without the label.
//
// Source: llm-d, header-label-affinity-scorer. In 0.10 the answer has no such header.
type headerLabelAffinityScorer struct {
	header      scoring.HeaderKey
	name, label string
	stamps      bool
	value       []byte // scratch
}

type headerLabelAffinityScorerParameters struct {
	// HeaderName is the header. Required.
	HeaderName string
	// LabelKey is the label. Required.
	LabelKey string
	// StampResponseHeader puts the label's value into the answer's header.
	StampResponseHeader bool
}

// NewHeaderLabelAffinityScorer builds a header-label-affinity-scorer.
func NewHeaderLabelAffinityScorer(b *scoring.Builder) scoring.Plugin {
	p := headerLabelAffinityScorerParameters{StampResponseHeader: true}
	b.HeaderName("headerName", &p.HeaderName)
	b.String("labelKey", &p.LabelKey)
	b.Bool("stampResponseHeader", &p.StampResponseHeader)
	if p.HeaderName == "" {
		b.Missing("headerName", "name the header whose value is compared")
	}
	if p.LabelKey == "" {
		b.Missing("labelKey", "name the label that it is compared with")
	}
	return &headerLabelAffinityScorer{header: b.RequestHeader(p.HeaderName), name: p.HeaderName,
		label: p.LabelKey, stamps: p.StampResponseHeader}
}

// Score implements scoring.Scorer.
func (s *headerLabelAffinityScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
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

// OnResponse implements scoring.ResponseHook.
func (s *headerLabelAffinityScorer) OnResponse(o *scoring.Outcome, headers scoring.HeaderSetter) {
	if label, _ := o.Served.Label(s.label); s.stamps && label != "" {
		s.value = append(s.value[:0], label...)
		headers.SetHeader(s.name, s.value)
	}
}
