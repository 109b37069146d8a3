package main

import "github.com/pintle-dev/pintle/internal/hostcalls"

// A request waits in two phases, waiting and asking, and always with its whole body held: Envoy loses frames of a
// request that is resumed before its end has come. Only a request that waits allocates for it. If the exchange ends
// meanwhile, nothing follows.

// pending is what a request waits for.
type pending struct {
	// then goes on with the request, which has waited since then, nanoseconds since 1970.
	then  func() hostcalls.Action
	since int64
	// waited is set once the request has waited for servers, in vain or not.
	waited bool
}

const (
	// wakeMillis is how often a worker looks for servers while requests wait for them.
	wakeMillis = 10
	// readMillis is how long a worker does other things between two parts of a journal that requests wait for.
	readMillis = 1
	// mostWaiting bounds how many requests of one plug-in wait in one worker.
	mostWaiting = 1024
)

// patience is for how many nanoseconds a request waits for servers as things are: for the process's first snapshot, as
// a process that has just begun, in a hot restart for one, gets its traffic and its first snapshot at the same time;
// and for a server to join a pool that has none.
func (p *plugin) patience() int64 {
	switch topology := p.pool.snapshot.Topology; {
	case topology == nil:
		return int64(p.config.Wait)
	case len(topology.Endpoints) == 0:
		return int64(p.config.EmptyWait)
	}
	return 0
}

// awaitsServers reports whether the request may wait for servers, once, as things are.
func (s *stream) awaitsServers() bool { return !s.pending.waited && s.plugin.patience() > 0 }

// mustWait reports whether the request is to wait, for servers or for a plug-in that has a long journal to read. To be
// asked with the pool refreshed; now is when the request would be decided.
func (s *stream) mustWait(now int64) bool {
	p := s.plugin
	switch {
	case len(p.waiting) >= mostWaiting:
		return false
	case s.awaitsServers():
		return true
	}
	// Who comes while others wait for the journal waits with them: its parts are read in ticks.
	return p.history.progress == reading || p.history.behind(&p.pool, now)
}

// wait holds the request until there are servers, or for as long as is configured, and the journal is read, and then
// goes on with then. It is to be called when all of the request has come.
func (s *stream) wait(then func() hostcalls.Action) hostcalls.Action {
	p := s.plugin
	s.phase = waiting
	s.pending.then, s.pending.since = then, hostcalls.Now()
	p.waiting = append(p.waiting, s)
	if s.awaitsServers() {
		p.stats.waited.Add(1)
	}
	if len(p.waiting) == 1 {
		p.hurry()
	}
	return s.keep()
}

// hurry has ticks come as requests that wait need them.
func (p *plugin) hurry() {
	period := uint32(wakeMillis)
	if p.history.progress == reading {
		period = readMillis
	}
	_ = hostcalls.SetTick(period)
}

// wake lets the requests go on that have waited long enough.
func (p *plugin) wake() {
	now := hostcalls.Now()
	if p.history.behind(&p.pool, now) {
		p.hurry()
		return
	}
	patience := p.patience()
	kept := p.waiting[:0]
	for _, s := range p.waiting {
		if lasts(s.pending.since+patience, now, patience) {
			kept = append(kept, s)
			continue
		}
		then := s.pending.then
		s.pending = pending{waited: true}
		s.phase = holding
		if hostcalls.Enter(s.id) == nil {
			s.goOn(then())
		}
	}
	clear(p.waiting[len(kept):])
	p.waiting = kept
	if len(kept) > 0 {
		p.hurry()
		return
	}
	if !p.hurries() { // those that went on may have left something for the next tick
		p.slowDown()
	}
}

// lasts reports whether a time of at most so much has not come to its end: by a clock that was set back what is left
// would be more than the whole.
func lasts(until, now, most int64) bool { return now < until && until-now <= most }

// leave forgets a request that ends while it waits.
func (s *stream) leave() {
	if s.phase != waiting {
		return
	}
	p := s.plugin
	for i, other := range p.waiting {
		if other == s {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			break
		}
	}
	if !p.hurries() {
		p.slowDown()
	}
}

// goOn does, outside the request's own callbacks, what a phase of the request has answered.
func (s *stream) goOn(action hostcalls.Action) {
	if action == hostcalls.Continue {
		s.check(hostcalls.ResumeRequest())
	}
}

// ask holds the request while a cluster of Envoy's is asked something, and goes on with then, in a callback of its own.
// The answer's status is 0 when none came; Envoy itself answers 504 when the call takes too long, and 503 when the
// cluster cannot be reached. then answers what a phase of the request would: it may decide, refuse, or ask again. What
// the worker shares among streams, such as the scanned body, holds another stream's by then. To be called when all of
// the request has come; only one question of a request can be open.
func (s *stream) ask(call *hostcalls.Call, then func(hostcalls.Answer) hostcalls.Action) hostcalls.Action {
	s.phase = asking
	err := hostcalls.Dispatch(&s.reply, s.id, call, func(a hostcalls.Answer) {
		s.phase = holding
		s.goOn(then(a))
	})
	if err != nil {
		s.cannotAsk.warn("cluster " + call.Cluster + " cannot be asked: " + err.Error())
		s.phase = holding
		return then(hostcalls.Answer{})
	}
	s.count()
	return hostcalls.Pause
}
