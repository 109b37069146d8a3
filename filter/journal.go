package main

import (
	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// log is the worker's part in what all workers know of earlier requests: it reads and writes the journal, and keeps the pool's state
// up to date with it. The zero value keeps no state.
type log struct {
	on bool
	// outcomes is set when the state takes what became of requests, usage when it takes the tokens that they used.
	outcomes, usage bool
	// began is set when the state takes that an answer has begun.
	began bool
	// journal is nil until the first request: Envoy starts VMs that never serve one.
	journal *journal.Journal
	event   journal.Event
	// counted are the journal's statistics as far as Envoy has been told them.
	counted journal.Stats
}

// store is Envoy's shared data as the journal sees it.
type store struct{ buffer hostcalls.Buffer }

// Get implements journal.Store.
func (s *store) Get(key string) (value []byte, change uint32, ok bool) {
	return hostcalls.SharedData(&s.buffer, key)
}

// Set implements journal.Store.
func (s *store) Set(key string, value []byte, change uint32) (ok bool) {
	ok, err := hostcalls.SetSharedData(key, value, change)
	return ok && err == nil
}

// begin gives the pool the state that the plan's plug-ins read, if they read any.
func (l *log) begin(pool *pool, options state.Options) {
	options.Seed = hostcalls.Seed()
	pool.State = state.New(options)
	l.usage = options.Latency || options.ModelLatency || options.Usage || options.Tokens || options.Prefix
	l.outcomes = l.usage || options.Failures
	l.began = options.Prefix
	l.on = options.Any()
}

// catchUp applies what all workers have journaled since the last call.
func (l *log) catchUp(pool *pool, now int64) {
	if !l.on {
		return
	}
	pool.State.Expire(now)
	if l.journal == nil {
		l.journal = newJournal()
	}
	if !l.journal.Poll() {
		return
	}
	for e := l.journal.Next(); e != nil; e = l.journal.Next() {
		pool.State.Apply(e)
	}
}

// tick keeps the journal's reader from falling behind while there are no requests, and tells Envoy what the journal counted.
func (l *log) tick(pool *pool, stats *stats) {
	if l.journal == nil {
		return
	}
	now := hostcalls.Now()
	l.catchUp(pool, now)
	l.journal.Tick(now)
	s := l.journal.Stats()
	add(stats.journalMissed, s.Missed-l.counted.Missed)
	add(stats.journalFailed, s.Failed-l.counted.Failed)
	add(stats.journalConflicts, s.Conflicts-l.counted.Conflicts)
	l.counted = s
}

// add adds to a counter, which takes no 0.
func add(c hostcalls.Counter, n uint64) {
	if n > 0 {
		c.Add(n)
	}
}

func newJournal() *journal.Journal {
	for {
		j, err := journal.New(&store{}, journal.Options{Instance: hostcalls.Seed()})
		if err == nil {
			return j
		}
		// Only an instance of 0 is refused here.
	}
}

// decided journals the decision that the stream's plan has just made.
func (s *stream) decided() {
	if !s.log.on {
		return
	}
	e := &s.log.event
	s.config.Plan.Record(s.cycle, e)
	e.Time, e.Lease = s.cycle.Request.Now, s.log.journal.NextLease()
	if s.log.journal.Append(e) {
		s.decision = decision{lease: e.Lease, at: e.Time, primary: e.Primary, model: e.Model, user: e.User, prompt: len(e.Chains) > 0}
	}
}

// completed journals the end of the stream, if its decision was journaled.
func (s *stream) completed() {
	d := &s.decision
	if d.lease == 0 {
		return
	}
	e := &s.log.event
	now := hostcalls.Now()
	*e = journal.Event{
		Kind: journal.Completion, Time: now, Lease: d.lease, Primary: d.primary, Model: d.model, User: d.user, Encode: e.Encode[:0],
		Chains: e.Chains[:0],
	}
	if s.log.outcomes {
		s.outcome(e, now)
	}
	s.log.journal.Append(e)
}

// began journals that the stream's answer has begun and goes on, if its prompt then counts as cached.
func (s *stream) began() {
	d := &s.decision
	if !s.log.began || !d.prompt || s.seen.status != 200 || s.seen.whole {
		return
	}
	e := &s.log.event
	*e = journal.Event{
		Kind: journal.Began, Time: s.seen.firstByteAt, Lease: d.lease, Primary: d.primary, Model: d.model, User: d.user, Encode: e.Encode[:0],
		Chains: e.Chains[:0], Status: s.seen.status, TTFTMicros: micros(s.seen.firstByteAt - d.at),
	}
	if s.seen.servedID != 0 {
		e.Primary, e.Tried = s.seen.servedID, e.Primary
	}
	s.log.journal.Append(e)
}

// micros converts nanoseconds for an event, in which 0 is unknown.
func micros(nanos int64) uint32 { return uint32(min(max(nanos/1000, 1), 1<<32-1)) }
