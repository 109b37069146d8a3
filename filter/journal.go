package main

import (
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// history is a worker's part in what all workers know of earlier requests: it reads and writes the journal, and keeps
// the pool's state up to date with it. The zero value keeps no state.
type history struct {
	on   bool
	data *sharedData
	// outcomes is set when the state takes what became of requests, usage when it takes the tokens that they used.
	outcomes, usage bool
	// began is set when the state takes that an answer has begun.
	began bool
	// shadow is fed by the same events; nil for none.
	shadow *shadow
	// followed is set once somebody follows the journal. Then all of it is written, whatever the state takes.
	followed bool
	// sample is of how many in a million requests followers want the steps of the decision. Above 0 they get those of
	// all that fail.
	sample uint32
	// journal is nil until the first request: Envoy starts VMs that never serve one.
	journal *journal.Journal
	event   journal.Event
	// counted are the journal's statistics as far as Envoy has been told them.
	counted journal.Stats
	// busy is set while there are many decisions: then what becomes of requests waits for the next one, or for a tick.
	// decisions counts them since lookedAt, nanoseconds since 1970.
	busy      bool
	decisions int64
	lookedAt  int64
	progress  progress
}

// busyDecisions a second make a worker busy.
const busyDecisions = 100

// begin gives the pool the state that the plan's plug-ins read, if they read any.
func (h *history) begin(pool *pool, options state.Options, data *sharedData) {
	h.data = data
	options.Seed = hostcalls.Seed()
	pool.State = state.New(options)
	h.wants(options)
}

// wants has what a state with these options takes journaled.
func (h *history) wants(options state.Options) {
	h.usage = h.usage || options.Latency || options.ModelLatency || options.Usage || options.Tokens ||
		options.Lengths || options.Prefix || options.Speeds || options.Outputs
	h.outcomes = h.outcomes || h.usage || options.Failures || options.Begins
	h.began = h.began || options.Prefix || options.Failures || options.Begins || options.Speeds
	h.on = h.on || options.Any()
}

// reports has the tokens that requests used looked at, whatever the state takes.
func (h *history) reports() { h.on, h.outcomes, h.usage = true, true, true }

// follow finds out whether somebody has begun to follow the journal.
func (h *history) follow() {
	by, followed := journal.ReadFollowed(h.data)
	h.sample = by.Sample
	if followed && !h.followed {
		h.followed = true
		h.on, h.outcomes, h.usage, h.began = true, true, true, true
	}
}

// ready makes sure that there is a journal to write to.
func (h *history) ready() {
	if h.journal == nil {
		h.journal = h.newJournal()
	}
}

// catchUp applies what all workers have journaled since the last call.
func (h *history) catchUp(pool *pool, now int64) {
	if !h.on {
		return
	}
	h.expire(pool, now)
	h.ready()
	h.poll(pool)
}

// expire tells the states the time, which they have to know before they are told of events.
func (h *history) expire(pool *pool, now int64) {
	pool.State.Expire(now)
	if h.shadow != nil {
		h.shadow.pool.State.Expire(now)
	}
}

func (h *history) apply(pool *pool, e *journal.Event) {
	pool.State.Apply(e)
	if h.shadow != nil {
		h.shadow.apply(e)
	}
}

// tell takes what has become of a request that was decided on here: for this worker at once, for the others too unless
// it is busy. The time of e is not the present: an answer may have ended long before its client has taken all of it.
func (h *history) tell(pool *pool, e *journal.Event) {
	if !h.busy {
		h.poll(pool)
	}
	h.journal.Hold(e)
	if !pool.State.Knows(e) {
		pool.refresh() // it may have come back since
	}
	h.apply(pool, e)
	if !h.busy {
		h.journal.Flush()
	}
}

// flush tells the other workers what they have not been told.
func (h *history) flush(pool *pool) {
	if h.journal == nil || !h.journal.Holds() {
		return
	}
	h.catchUp(pool, hostcalls.Now())
	h.journal.Flush()
}

// looked reports whether look was called within the last second.
func (h *history) looked(now int64) bool {
	since := now - h.lookedAt
	return since >= 0 && since < int64(time.Second)
}

// look finds out whether the worker is busy.
func (h *history) look(now int64) {
	const second = int64(time.Second)
	h.busy = h.lookedAt != 0 && h.decisions*second >= busyDecisions*max(now-h.lookedAt, 1)
	h.decisions, h.lookedAt = 0, now
}

// tick keeps the journal's reader from falling behind while there are no requests, and tells Envoy what the journal
// counted.
func (h *history) tick(pool *pool, stats *stats, now int64) {
	if h.journal == nil || h.behind(pool, now) {
		return
	}
	h.catchUp(pool, now)
	h.journal.Flush()
	h.journal.Tick(now)
	s := h.journal.Stats()
	add(stats.journalMissed, s.Missed-h.counted.Missed)
	add(stats.journalFailed, s.Failed-h.counted.Failed)
	add(stats.journalConflicts, s.Conflicts-h.counted.Conflicts)
	h.counted = s
}

// add adds to a counter, which takes no 0.
func add(c hostcalls.Counter, n uint64) {
	if n > 0 {
		c.Add(n)
	}
}

func (h *history) newJournal() *journal.Journal {
	for {
		j, err := journal.New(h.data, journal.Options{Instance: hostcalls.Seed()})
		if err == nil {
			return j
		}
		// Only an instance of 0 is refused here.
	}
}

// decided journals the decision that the stream's plan has just made.
func (s *stream) decided() {
	if !s.history.on {
		return
	}
	e := &s.history.event
	s.config.Plan.Record(s.cycle, e)
	if x := s.plugin.shadow; x != nil && s.shadowed.Primary != 0 {
		x.plan.RecordShadow(x.cycle, e)
	}
	e.Time, e.Lease = s.cycle.Request.Now, s.history.journal.NextLease()
	e.Client, e.Streamed = s.client(), s.cycle.Request.Body != nil && s.request.Stream
	e.Asked, e.Shadowed = s.asked, s.shadowed
	// Whoever begins to follow later is told of this, too.
	s.nameDecision(e)
	if s.history.followed {
		e.Fairness, e.Priority = s.fairness, int32(s.cycle.Priority())
		e.Steps = s.sampleSteps()
	}
	ok, read := s.history.journal.AppendRead(e)
	if !ok {
		return
	}
	s.history.decisions++
	s.decision = decision{
		lease: e.Lease, at: e.Time, primary: e.Primary, model: e.Model, user: e.User, client: e.Client,
		streamed: e.Streamed,
		bytes:    e.PromptBytes, asked: e.Asked, profile: e.Profile, predictedTokens: e.PredictedTokens,
		predicted: e.Predicted, priority: e.Priority,
	}
	// It is to be known here before what becomes of it.
	if read {
		s.history.apply(&s.pool, e)
	} else {
		s.history.catchUp(&s.pool, e.Time)
	}
}

// completed journals the end of the stream, if its decision was journaled.
func (s *stream) completed() {
	d := &s.decision
	if d.lease == 0 {
		return
	}
	e := &s.history.event
	now := s.seen.endedAt
	if now == 0 {
		now = hostcalls.Now()
	}
	*e = journal.Event{
		Kind: journal.Completion, Time: now, Lease: d.lease, Primary: d.primary, Model: d.model, User: d.user,
		Client:   d.client,
		Streamed: d.streamed, Encode: e.Encode[:0], Chains: e.Chains[:0], Asked: d.asked, Profile: d.profile,
		PredictedTokens: d.predictedTokens, Predicted: d.predicted, Code: s.seen.code,
		Fairness: s.fairness, Priority: d.priority,
	}
	if s.history.outcomes {
		s.outcome(e, now)
	}
	if failed(e) {
		e.Steps = s.steps
	}
	s.history.tell(&s.pool, e)
}

// began journals that the stream's answer has begun and goes on. One that was not asked for as a stream comes as a
// whole, though Envoy tells of its end apart: its completion is near, and says the same.
func (s *stream) began() {
	d := &s.decision
	if !s.history.began || !d.streamed || s.seen.status != 200 || s.seen.whole {
		return
	}
	e := &s.history.event
	*e = journal.Event{
		Kind: journal.Began, Time: s.seen.firstByteAt, Lease: d.lease, Primary: d.primary, Model: d.model, User: d.user,
		Client:   d.client,
		Streamed: d.streamed, Encode: e.Encode[:0], Chains: e.Chains[:0], Status: s.seen.status,
		TTFTMicros: micros(s.seen.firstByteAt - d.at),
	}
	if s.seen.servedID != 0 {
		e.Primary, e.Tried = s.seen.servedID, e.Primary
	}
	s.history.tell(&s.pool, e)
}

// micros converts nanoseconds for an event, in which 0 is unknown.
func micros(nanos int64) uint32 { return uint32(min(max(nanos/1000, 1), 1<<32-1)) }
