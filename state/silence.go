package state

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

const (
	// PatienceMicros is how long a request waits for an answer at the least before its endpoint may be suspected of
	// silence.
	PatienceMicros = 5_000_000

	// deniedAfter is how much younger than a request a sample is that may deny it: a request is on its way, and read,
	// before it is counted.
	deniedAfter = int64(time.Second)
	// mostWaiting bounds the unanswered requests that are remembered of an endpoint, the oldest ones. leastSilent of
	// them raise suspicion.
	mostWaiting = 16
	leastSilent = 3
	// silenceAge is when an unanswered request is forgotten.
	silenceAge = int64(DefaultRequestTimeout)
	// aloneAfter is how long after the last answer to anybody else a client is alone.
	aloneAfter = int64(time.Minute)
	// usualHalfLife is the time in which the longest wait for an answer of late is halved.
	usualHalfLife = time.Minute
)

// waiting is a request that an endpoint has not begun to answer. left is when its client gave up, 0 before.
type waiting struct {
	time, left       int64
	client, instance uint64
	lease            uint32
	streamed         bool
}

// silence is the oldest requests that an endpoint has not begun to answer since it last answered anybody.
type silence struct {
	n  int
	at [mostWaiting]waiting
}

// usual is the longest that an answer of late took to begin. It is asked for again and again at the same time: faded is
// what it was at the time asked.
type usual struct {
	value, faded float64
	time, asked  int64
}

func newUsual(value float64, now int64) usual {
	return usual{value: value, faded: value, time: now, asked: now}
}

func (u *usual) at(now int64) float64 {
	if now != u.asked {
		u.asked = now
		u.faded = u.value * math.Exp2(-float64(max(now-u.time, 0))/float64(usualHalfLife))
	}
	return u.faded
}

// ask notes a decision for an endpoint.
func (s *silence) ask(e *journal.Event, now int64) {
	if s.n < mostWaiting {
		s.at[s.n] = waiting{time: now, client: e.Client, instance: e.Instance, lease: e.Lease, streamed: e.Streamed}
		s.n++
	}
}

// end notes that a request ended without an answer. Unless its client was patient it says nothing.
func (s *silence) end(e *journal.Event, now int64, patient bool) {
	for i := range s.n {
		if w := &s.at[i]; w.lease == e.Lease && w.instance == e.Instance {
			if patient {
				w.left = now
			} else {
				s.remove(i)
			}
			return
		}
	}
}

// answered forgets what was asked before the endpoint answered somebody. What was asked later waits on, as an answer
// may be told late.
func (s *silence) answered(now int64) {
	n := 0
	for i := range s.n {
		if s.at[i].time > now {
			s.at[n] = s.at[i]
			n++
		}
	}
	s.n = n
}

// drop forgets a request that another endpoint serves.
func (s *silence) drop(e *journal.Event) { s.end(e, 0, false) }

func (s *silence) remove(i int) {
	copy(s.at[i:s.n-1], s.at[i+1:s.n])
	s.n--
}

// prune forgets what is too old, and the requests of a writer that is gone.
func (s *silence) prune(now, memory int64, gone uint64) {
	for i := s.n - 1; i >= 0; i-- {
		w := &s.at[i]
		if now-w.time >= silenceAge || w.left != 0 && now-w.left >= memory || gone != 0 && w.instance == gone {
			s.remove(i)
		}
	}
}

// patience is how long a request waits before its wait says something: PatienceMicros, and twice as long as any answer
// of late of its kind took to begin; ok is false as long as none has come.
func (f *Failures) patience(streamed bool, now int64) (nanos int64, ok bool) {
	longest := f.usual[kindOf(streamed)].at(now)
	return max(PatienceMicros*1000, int64(2*longest)), f.usual[kindOf(streamed)].value > 0
}

// leastWait is patience, without end as long as none is known.
func (f *Failures) leastWait(streamed bool, now int64) (nanos int64) {
	if nanos, ok := f.patience(streamed, now); ok {
		return nanos
	}
	return math.MaxInt64
}

func kindOf(streamed bool) int {
	if streamed {
		return 1
	}
	return 0
}

// SilentSince is since when an endpoint has been silent where it should not be, 0 when it is not. It is silent by
// requests that it does not begin to answer, three at the least, while it answers nobody else either and other
// endpoints answered what was asked later. They count once they have waited for long, as measured by the answers of
// late; or once the endpoint itself denies them: a sample, taken at a time, 0 for never, counts no requests there,
// neither waiting nor running. The requests of one client alone say nothing as long as there are others. What it
// returns is to be compared with other endpoints' alone: it is by the state's own clock.
func (f *Failures) SilentSince(index int, now, sampledAt int64, requests int) int64 {
	if uint(index) >= uint(len(f.silent)) || f.silent[index].n < leastSilent {
		return 0
	}
	now, sampledAt = f.clock.of(now), f.clock.of(sampledAt)
	s := &f.silent[index]
	patience := [2]int64{f.leastWait(false, now), f.leastWait(true, now)}
	count, since, several := 0, int64(0), false
	var first uint64
	for i := range s.n {
		w := &s.at[i]
		if w.time >= f.answered || now-w.time >= silenceAge || w.left != 0 && now-w.left >= int64(f.halfLife) {
			continue
		}
		// A client that has left was patient, see end.
		denied := requests == 0 && sampledAt >= w.time+deniedAfter
		if w.left == 0 && !denied && now-w.time < patience[kindOf(w.streamed)] {
			continue
		}
		if count == 0 {
			first, since = w.client, w.time
		}
		several = several || w.client != first
		since = min(since, w.time)
		count++
	}
	if count < leastSilent || !several && f.clients.other(first) != never && now-f.clients.other(first) < aloneAfter {
		return 0
	}
	return since
}

// SilentFor is for how long an endpoint has been silent where it should not be, in nanoseconds, 0 when it is not.
func (f *Failures) SilentFor(index int, now, sampledAt int64, requests int) int64 {
	if since := f.SilentSince(index, now, sampledAt, requests); since != 0 {
		return max(f.clock.of(now)-since, 0)
	}
	return 0
}
