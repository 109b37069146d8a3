package main

import (
	"math/rand/v2"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// worker is what one VM, that is one Envoy worker thread, has to work with: memory that all plug-ins of the VM share.
//
// Memory for bodies is kept for good, however large: blocks of a quarter of a megabyte and more that are given up stay
// in use, as measured with TinyGo 0.41. Its collector scans globals conservatively.
type worker struct {
	cycle       *scoring.Cycle
	request     openai.Request
	header      hostcalls.Buffer
	fields      []hostcalls.Field
	path        []byte
	body        hostcalls.Buffer
	property    hostcalls.Buffer
	reply       hostcalls.Buffer
	filterState hostcalls.FilterState
	destination []byte
	// addresses and patch are scratch memory for a header of addresses and for a changed body.
	addresses, patch []byte
	headerValues     []string
	stats            stats
	shadowStats      *shadowStats // nil before the first plug-in with a shadow
	data             sharedData
	idle             []*stream
	// answerer and told are what followers are answered with, names what they are told of hashes.
	answerer journal.Answerer
	told     []byte
	names    journal.Names
	// steps are those of the last decision, keptSteps the bytes that streams keep of theirs.
	steps     stepsWriter
	keptSteps int
	// dice tell of which decisions the steps are sampled.
	dice       rand.PCG
	heldBodies heldBodies
	// turnScan is what a request for /v1/responses says; keptFree are blocks that keep nothing, of keptMade.
	turnScan openai.Turn
	keptFree [][]byte
	keptMade int
	// readModels are how many plug-ins go by lists of models. The one that takes snapshots may be another.
	readModels int
	// precise is what the sidecar has said of the prompt that is being decided.
	precise scoring.PreciseMatches
}

// ofThisVM is the VM's only worker.
var ofThisVM *worker

func theWorker() *worker {
	if ofThisVM == nil {
		ofThisVM = &worker{cycle: scoring.NewCycle(hostcalls.Seed()), stats: newStats()}
		ofThisVM.names.Store = &ofThisVM.data
		ofThisVM.dice.Seed(hostcalls.Seed(), 0)
	}
	return ofThisVM
}

// sharedData is Envoy's shared data as the journal and the snapshot see it, a journal.Store.
type sharedData struct{ buffer hostcalls.Buffer }

// Get implements journal.Store.
func (d *sharedData) Get(key string) (value []byte, change uint32, ok bool) {
	return hostcalls.SharedData(&d.buffer, key)
}

// Set implements journal.Store.
func (d *sharedData) Set(key string, value []byte, change uint32) (ok bool) {
	ok, err := hostcalls.SetSharedData(key, value, change)
	return ok && err == nil
}

type stats struct {
	routed, passed, refused, waited      tally
	heldTooMuch                          hostcalls.Counter
	snapshotsAccepted, snapshotsRejected hostcalls.Counter
	journalMissed, journalFailed         hostcalls.Counter
	journalConflicts                     hostcalls.Counter
	decisionMicros                       sampled
	turnsRecalled, turnsUnknown          hostcalls.Counter
	turnsUnavailable                     hostcalls.Counter
	turnsStored, turnsLost               hostcalls.Counter
	prefixKnown, prefixNone              hostcalls.Counter
	prefixLate, prefixFailed             hostcalls.Counter
	prefixHanded, prefixSkipped          hostcalls.Counter
}

// tell tells Envoy what was counted since the last call. It is called by each plug-in of the VM.
func (s *stats) tell(now int64) {
	s.routed.tell()
	s.passed.tell()
	s.refused.tell()
	s.waited.tell()
	s.decisionMicros.tell(now)
}

func newStats() stats {
	return stats{
		routed:            newTally("pintle.requests.routed"),
		passed:            newTally("pintle.requests.passed"),
		refused:           newTally("pintle.requests.refused"),
		waited:            newTally("pintle.requests.waited"),
		heldTooMuch:       hostcalls.NewCounter("pintle.requests.held_too_much"),
		snapshotsAccepted: hostcalls.NewCounter("pintle.snapshots.accepted"),
		snapshotsRejected: hostcalls.NewCounter("pintle.snapshots.refused"),
		journalMissed:     hostcalls.NewCounter("pintle.journal.missed"),
		journalFailed:     hostcalls.NewCounter("pintle.journal.failed"),
		journalConflicts:  hostcalls.NewCounter("pintle.journal.conflicts"),
		decisionMicros:    newSampled("pintle.decision_us"),
		turnsRecalled:     hostcalls.NewCounter("pintle.responses.recalled"),
		turnsUnknown:      hostcalls.NewCounter("pintle.responses.unknown"),
		turnsUnavailable:  hostcalls.NewCounter("pintle.responses.unavailable"),
		turnsStored:       hostcalls.NewCounter("pintle.responses.stored"),
		turnsLost:         hostcalls.NewCounter("pintle.responses.not_stored"),
		prefixKnown:       hostcalls.NewCounter("pintle.prefix.known"),
		prefixNone:        hostcalls.NewCounter("pintle.prefix.none"),
		prefixLate:        hostcalls.NewCounter("pintle.prefix.late"),
		prefixFailed:      hostcalls.NewCounter("pintle.prefix.failed"),
		prefixHanded:      hostcalls.NewCounter("pintle.prefix.handed"),
		prefixSkipped:     hostcalls.NewCounter("pintle.prefix.skipped"),
	}
}
