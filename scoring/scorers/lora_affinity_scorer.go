package scorers

import (
	"slices"

	"github.com/pintle-dev/pintle/scoring"
)

// loraAffinityScorer prefers endpoints that already have the request's LoRA adapter, then those with room for one more.
// The adapter is the model that the request asks for.
//
// Formula: 1 when the adapter runs there; else 0.8 when fewer adapters run and wait than the server can run at once, or
// none was ever reported; else 0.6 when the adapter waits there; else 0.
//
// Range: 0 to 1.
//
// Missing data: an endpoint without fresh metrics scores 0.5. vLLM shows its adapters only after the first request for
// one, so a server that reports none counts as having all its room; one that reports adapters but not how many it can
// run scores 0.5 for others.
//
// Source: Heimdall and the Gateway API Inference Extension, lora-affinity-scorer. There, and in llm-d's dialect here, a
// server that has not said how many adapters it can run has no room and scores 0.
type loraAffinityScorer struct {
	// room has a server that has reported no adapter yet count as one with room.
	room bool
}

// NewLoRAAffinityScorer builds a lora-affinity-scorer. It has no parameters.
func NewLoRAAffinityScorer(b *scoring.Builder) scoring.Plugin {
	return loraAffinityScorer{room: b.Defaults().AdapterRoom}
}

// Score implements scoring.Scorer.
func (s loraAffinityScorer) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	adapter := slices.Index(c.Pool.Adapters, c.Request.Model)
	has := func(list []uint16) bool { return adapter >= 0 && slices.Contains(list, uint16(adapter)) }
	for i, e := range candidates {
		m := &e.Metrics
		reported := len(m.RunningLoRA) + len(m.WaitingLoRA)
		switch {
		case !c.Fresh(e):
			scores[i] = neutral
		case has(m.RunningLoRA):
			scores[i] = 1
		case reported < m.MaxLoRA || s.room && reported+m.MaxLoRA == 0:
			scores[i] = 0.8
		case has(m.WaitingLoRA):
			scores[i] = 0.6
		case s.room && m.MaxLoRA == 0:
			scores[i] = neutral
		}
	}
}
