package cases

import (
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
)

// steps writes decisions down as the filter does while somebody follows. It implements scoring.Tracer.
type steps struct {
	journal.StepsWriter
	pool   *scoring.Pool
	listed bool
}

// FilteredOut implements scoring.Tracer.
func (w *steps) FilteredOut(_ string, e *scoring.Endpoint, _ string) {
	w.Removed(1, e.Index, w.pool.ID(e))
}

// Scored implements scoring.Tracer.
func (w *steps) Scored(_, scorer string, candidates []*scoring.Endpoint, scores []float64) {
	if !w.listed {
		w.listed = true
		w.Candidates(len(candidates))
		for i, e := range candidates {
			w.Candidate(i, e.Index, w.pool.ID(e))
		}
	}
	w.Scores(uint64(len(scorer)), scores)
}

// Total implements scoring.Tracer.
func (w *steps) Total(_ string, _ []*scoring.Endpoint, totals []float64) { w.Totals(totals) }

// Picked implements scoring.Tracer.
func (w *steps) Picked(_ string, e *scoring.Endpoint) { w.StepsWriter.Picked(e.Index, w.pool.ID(e)) }

// Mixed implements scoring.Tracer.
func (w *steps) Mixed(*scoring.Mixture) {}

// ModelSelected implements scoring.Tracer.
func (w *steps) ModelSelected(*scoring.Selection) {}

// traced times the default configuration's decision with its steps.
func traced() func() {
	b := newBench(``, 64)
	w := &steps{pool: b.cycle.Pool}
	b.cycle.Tracer, b.cycle.Brief = w, true
	return func() {
		w.listed = false
		w.Reset(len(b.cycle.Pool.Endpoints))
		b.decide()
	}
}
