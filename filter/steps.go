package main

import (
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
	// profile is the running one.
	profile string
	// hashed are the hashes of names that have been told, at is which of them was asked for last: decisions ask for
	// the same ones in the same order.
	hashed []hashedName
	at     int
	// next is told the same, if anybody else wants to know. on is set from beginSteps to endSteps.
	next scoring.Tracer
	on   bool
}

// hashedName is a name of the plan's, which is told apart from others by where it lies.
type hashedName struct {
	kind journal.NameKind
	name string
	hash uint64
}

// mostHashed bounds the names of which hashes are kept.
const mostHashed = 64

// mostKeptSteps bounds the bytes of steps that the streams of a worker keep for the case that they fail.
const mostKeptSteps = 1 << 20

// FilteredOut implements scoring.Tracer.
func (w *stepsWriter) FilteredOut(profile string, e *scoring.Endpoint, filter string) {
	w.enter(profile)
	w.listed = false
	w.Removed(w.hashOf(journal.PluginName, filter), e.Index, w.pool.ID(e))
	if w.next != nil {
		w.next.FilteredOut(profile, e, filter)
	}
}

// Scored implements scoring.Tracer.
func (w *stepsWriter) Scored(profile, scorer string, candidates []*scoring.Endpoint, scores []float64) {
	w.enter(profile)
	w.list(candidates)
	w.Scores(w.hashOf(journal.PluginName, scorer), scores)
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

// Mixed implements scoring.Tracer. The totals are those of the profile that picks, again.
func (w *stepsWriter) Mixed(m *scoring.Mixture) {
	w.enter(m.Shares[0].Name)
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

// enter begins a profile, if it is not the running one.
func (w *stepsWriter) enter(profile string) {
	if !same(profile, w.profile) {
		w.profile, w.listed = profile, false
		w.Profile(w.hashOf(journal.ProfileName, profile))
	}
}

// hashOf returns the hash of a name, which followers are told.
func (w *stepsWriter) hashOf(kind journal.NameKind, name string) uint64 {
	for range w.hashed {
		if h := &w.hashed[w.at]; h.kind == kind && same(h.name, name) {
			return h.hash
		}
		if w.at++; w.at == len(w.hashed) {
			w.at = 0
		}
	}
	hash := journal.HashName(name)
	if w.names.Add(kind, hash, name) {
		if len(w.hashed) == mostHashed { // those of plans that are gone
			w.hashed = w.hashed[:0]
		}
		w.at, w.hashed = len(w.hashed), append(w.hashed, hashedName{kind, name, hash})
	}
	return hash
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
	w.on = true
	w.Reset(len(s.pool.Endpoints))
	s.cycle.Brief = s.cycle.Tracer == nil
	s.cycle.Tracer = w
}

// endSteps ends what beginSteps began.
func (s *stream) endSteps() {
	if w := &s.worker.steps; w.on {
		s.cycle.Tracer = w.next
		w.next, w.on = nil, false
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
	if s.worker.dice.Uint64()%1_000_000 < uint64(h.sample) {
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
