package main

import (
	"math/rand/v2"
	"unsafe"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
)

// stepsWriter writes down how the worker's decisions come about, for followers. It implements scoring.Tracer.
type stepsWriter struct {
	journal.StepsWriter
	pool  *scoring.Pool
	names *journal.Names
	// listed is set while the candidates that were listed last are those that are left.
	listed bool
	// profile and plugin are the last ones, whose names are known to be told.
	profile, plugin string
	hash            uint64
	// next is told the same, if anybody else wants to know.
	next scoring.Tracer
}

// mostKeptSteps bounds the bytes of steps that the streams of a worker keep for the case that they fail.
const mostKeptSteps = 1 << 20

// FilteredOut implements scoring.Tracer.
func (w *stepsWriter) FilteredOut(profile string, e *scoring.Endpoint, filter string) {
	w.enter(profile)
	w.listed = false
	w.Removed(w.hashOf(filter), e.Index, w.pool.ID(e))
	if w.next != nil {
		w.next.FilteredOut(profile, e, filter)
	}
}

// Scored implements scoring.Tracer.
func (w *stepsWriter) Scored(profile, scorer string, candidates []*scoring.Endpoint, scores []float64) {
	w.enter(profile)
	w.list(candidates)
	w.Scores(w.hashOf(scorer), scores)
	if w.next != nil {
		w.next.Scored(profile, scorer, candidates, scores)
	}
}

// Total implements scoring.Tracer.
func (w *stepsWriter) Total(profile string, candidates []*scoring.Endpoint, totals []float64) {
	w.enter(profile)
	w.list(candidates)
	w.Totals(totals)
	if w.next != nil {
		w.next.Total(profile, candidates, totals)
	}
}

// Picked implements scoring.Tracer.
func (w *stepsWriter) Picked(profile string, e *scoring.Endpoint) {
	w.enter(profile)
	w.StepsWriter.Picked(e.Index, w.pool.ID(e))
	if w.next != nil {
		w.next.Picked(profile, e)
	}
}

// Mixed implements scoring.Tracer.
func (w *stepsWriter) Mixed(m *scoring.Mixture) {
	for _, r := range m.Totals {
		w.StepsWriter.Total(r.Endpoint.Index, w.pool.ID(r.Endpoint), r.Total)
	}
	if w.next != nil {
		w.next.Mixed(m)
	}
}

// ModelSelected implements scoring.Tracer. Steps have no room for it.
func (w *stepsWriter) ModelSelected(s *scoring.Selection) {
	if w.next != nil {
		w.next.ModelSelected(s)
	}
}

// list writes down which endpoints the numbers that follow are of.
func (w *stepsWriter) list(candidates []*scoring.Endpoint) {
	if w.listed {
		return
	}
	w.listed = true
	w.Candidates(len(candidates))
	for i, e := range candidates {
		if !w.Candidate(i, e.Index, w.pool.ID(e)) {
			return
		}
	}
}

// enter begins a profile, if it is not the running one. Names are told apart by where they lie: they are the plan's.
func (w *stepsWriter) enter(profile string) {
	if !same(profile, w.profile) {
		w.profile, w.listed = profile, false
		w.names.Add(journal.ProfileName, journal.HashName(profile), profile)
		w.Profile(journal.HashName(profile))
	}
}

func (w *stepsWriter) hashOf(plugin string) uint64 {
	if !same(plugin, w.plugin) {
		w.plugin, w.hash = plugin, journal.HashName(plugin)
		w.names.Add(journal.PluginName, w.hash, plugin)
	}
	return w.hash
}

func same(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
}

// beginSteps has the next decision written down, if somebody follows and wants any steps.
func (s *stream) beginSteps() {
	s.cycle.Brief = false
	if s.history.sample == 0 {
		return
	}
	w := &s.worker.steps
	w.pool, w.names, w.next, w.profile, w.listed = &s.pool.Pool, &s.worker.names, s.cycle.Tracer, "", false
	w.Reset(len(s.pool.Endpoints))
	s.cycle.Brief = s.cycle.Tracer == nil
	s.cycle.Tracer = w
}

// endSteps ends what beginSteps began.
func (s *stream) endSteps() {
	if w := &s.worker.steps; s.cycle.Tracer == scoring.Tracer(w) {
		s.cycle.Tracer = w.next
		w.next = nil
	}
	s.cycle.Brief = false
}

// sampleSteps returns the steps that go into the journal with the decision. Those that do not are kept for the case
// that the request fails.
func (s *stream) sampleSteps() []byte {
	h := &s.history
	if h.sample == 0 {
		return nil
	}
	steps := s.worker.steps.Bytes()
	if rand.Uint32N(1_000_000) < h.sample {
		return steps
	}
	if s.worker.keptSteps+len(steps) <= mostKeptSteps {
		s.steps = append(s.steps[:0], steps...)
		s.worker.keptSteps += len(steps)
	}
	return nil
}

// failed reports whether a completion tells of a failure.
func failed(e *journal.Event) bool {
	return e.Code >= 500 || e.Ended == journal.EndedUnreached || e.Ended == journal.EndedReset ||
		e.Ended == journal.EndedTimeout
}

// dropSteps gives up the steps that were kept, but for the memory of some.
func (s *stream) dropSteps() (memory []byte) {
	s.worker.keptSteps -= len(s.steps)
	return s.steps[:0]
}
