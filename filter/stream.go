package main

import (
	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
)

// phase is how far the filter is with a request.
type phase uint8

const (
	// settled: nothing more is to be done with the request; its frames pass.
	settled phase = iota
	// holding: the headers wait for the body, which decides.
	holding
	// ingesting: the body is a snapshot, or events of other gateways.
	ingesting
	// waiting: the request waits for the first snapshot, or for the journal to be read.
	waiting
	// asking: the request waits for the answer to a question.
	asking
	// answered: the client has its answer from here.
	answered
)

// stream is one HTTP exchange. Finished ones are used again.
type stream struct {
	hostcalls.DefaultStream
	*plugin
	// id is the number by which the host knows the exchange.
	id        uint32
	phase     phase
	operation openai.Operation
	// relays is set when events of other gateways are taken in. follows is what a follower asks for with them, nil for
	// nothing.
	relays  bool
	follows *followQuery
	// encoded is set when the body is said to be encoded.
	encoded bool
	// unread is a request that goes to any endpoint, as nothing in its body is looked at.
	unread bool
	// held is how many bytes of the body Envoy holds.
	held int
	// place is the request's among those of the worker that are held.
	place place
	// headerText holds the values of the headers that plug-ins read, one after another; headerEnds says where each
	// ends.
	headerText []byte
	headerEnds []int
	// subset lists the addresses that the request may go to, if restricted is set.
	subset     []byte
	restricted bool
	// primary, prefill and encode are the endpoints that were chosen, nil before; profile chose the first one.
	primary, prefill, encode *scoring.Endpoint
	profile                  int
	// primaryPort replaces the port of the chosen endpoints, unless it is 0.
	primaryPort int
	// asked is the journal's name of the model that the client asked for, 0 for none, or before it is known.
	asked uint64
	// fairness is the journal's name of the fairness id that the client named, 0 for none, or while nobody follows.
	fairness uint64
	decision decision
	// shadowed is what the shadow made of the request.
	shadowed journal.Shadowed
	seen     seen
	explain  string
	// steps are how the decision came about, for the case that the request fails.
	steps   []byte
	pending pending
	report  report
	// turn is what is kept of a conversation's turn, nil for nothing; recalled is set once that has been looked at.
	turn     *turn
	recalled bool
	// prefix is how the question went which servers have the beginning of the prompt, empty before.
	prefix string
}

// settle lets the request go on.
func (s *stream) settle() {
	s.phase = settled
	s.release()
}

// decision is what the journal holds of a stream's decision; lease is 0 when it holds nothing. The others are as in
// journal.Event.
type decision struct {
	lease                uint32
	at                   int64
	primary, model, user uint64
	client               uint64
	streamed             bool
	// bytes are those of the prompt's text, 0 when there is more than text in it.
	bytes           uint32
	asked, profile  uint64
	predictedTokens uint32
	predicted       bool
	priority        int32
}

// keepHeaderBytes is how much memory for headers a finished stream keeps for the next one.
const keepHeaderBytes = 4096

// OnHttpStreamDone implements hostcalls.Stream. Envoy calls it however the exchange ended.
func (s *stream) OnHttpStreamDone() {
	s.reportEnd()
	s.completed()
	s.leave()
	s.release()
	s.dropTurn()
	worker := s.worker
	text, subset, steps := s.headerText[:0], s.subset[:0], s.dropSteps()
	if cap(text) > keepHeaderBytes {
		text = nil
	}
	if cap(subset) > keepHeaderBytes {
		subset = nil
	}
	// Without its plug-in: a stream may be idle for long, and the plug-in be replaced meanwhile.
	*s = stream{
		headerText: text, headerEnds: s.headerEnds[:0], steps: steps, report: report{message: s.report.message[:0]},
		subset: subset,
	}
	worker.idle = append(worker.idle, s)
}
