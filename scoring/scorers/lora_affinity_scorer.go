package scorers

import (
	"slices"

	"github.com/pintle-dev/pintle/scoring"
)

// loraAffinityScorer prefers endpoints that already have the request's LoRA adapter, then those with room for one more. The
// adapter is the model that the request asks for.
//
// Formula: 1 when the adapter runs there; else 0.8 when fewer adapters run and wait than the server can run at once; else 0.6
// when the adapter waits there; else 0.
//
// Range: 0 to 1.
//
// Missing data: an endpoint without fresh metrics scores 0.5; one that reports no adapters at all has no room and scores 0.
//
// Source: Heimdall and the Gateway API Inference Extension, lora-affinity-scorer.
type loraAffinityScorer struct{}

// NewLoRAAffinityScorer builds a lora-affinity-scorer. It has no parameters.
func NewLoRAAffinityScorer(*scoring.Builder) scoring.Plugin { return loraAffinityScorer{} }

// Score implements scoring.Scorer.
func (loraAffinityScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	adapter := slices.Index(c.Pool.Adapters, c.Request.Model)
	has := func(list []uint16) bool { return adapter >= 0 && slices.Contains(list, uint16(adapter)) }
	for i, e := range candidates {
		m := &e.Metrics
		switch {
		case !c.Fresh(e):
			scores[i] = neutral
		case has(m.RunningLoRA):
			scores[i] = 1
		case len(m.RunningLoRA)+len(m.WaitingLoRA) < m.MaxLoRA:
			scores[i] = 0.8
		case has(m.WaitingLoRA):
			scores[i] = 0.6
		}
	}
}
