package state

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

const (
	// DefaultFailureHalfLife is the time in which a share of failures falls by half when an endpoint serves nothing.
	DefaultFailureHalfLife = 20 * time.Second
	// FailureWeight is the part that one completion has in the share: six failures on end make more than half, whatever
	// came before.
	FailureWeight = 1.0 / 8

	// doubtFor is how long an answer to somebody else raises doubt of one client's failures.
	doubtFor = int64(10 * time.Second)
	// mostDoubted bounds the doubted failures that another client can confirm.
	mostDoubted = 5

	// refusedFor is how long after its last answer an endpoint's refusals pass for those of one that is full.
	refusedFor = int64(10 * time.Second)
	// refusalsFade is how much faster a share of refusals falls.
	refusalsFade = 8
)

// outcomes is an endpoint's share of failures at a time.
type outcomes struct {
	time  int64
	share float64
	// good and bad tell who was answered and who was failed last, by address and by user.
	good, bad [2]latest
	// doubted is how many failures of one client alone have not been counted.
	doubted int
	// answered is when it last began an answer, or ended one. refusing is set while all that makes the share are
	// refusals.
	answered int64
	refusing bool
}

// Failures is the share of an endpoint's requests that failed of late, so that one that fails fast, and therefore has a
// short queue and a good latency, can be kept from drawing traffic. It is a moving average over completions, which
// fades with time, so that an endpoint that gets no requests is tried again.
//
// A completion of status 5xx or 429 failed, and an endpoint that could not serve what another then did failed too. The
// failures of one client, known by its address or its user, do not count while the endpoint answers others: they may be
// of its own making. Another client that fails as well confirms them.
//
// A refusal is a 429 or 503 of the endpoint's own, by which servers say that they are full, or that Envoy asked another
// one, which may have followed on such an answer. It counts as any failure does, so that a server that refuses all is
// out after six. But as long as the endpoint answers others, a share of refusals falls eight times as fast: whoever is
// full has room again soon.
//
// Servers of prefill and encode stages answer no clients. Whoever asks them fails the request when they do, so such a
// failure counts for each endpoint that had a part in it, and an answer, too: the one at fault had a part in most. See
// Options.Stages.
//
// A request that nobody answered, because its client left or Envoy lost patience, is no failure in itself: clients
// leave when they like, and servers are slow under load. See SilentSince.
//
// Each event takes O(1) steps, but for journal.Gone, which looks at all endpoints. Share and SilentSince are O(1).
type Failures struct {
	halfLife  float64 // nanoseconds
	stages    bool    // count, see Options.Stages
	clock     clock
	endpoints []outcomes
	silent    []silence
	// answered is the latest time of a decision that led to an answer, of any endpoint; clients are to whom answers
	// went.
	answered int64
	clients  latest
	usual    [2]usual // by kindOf
}

// NewFailures makes one with a half-life, 0 for DefaultFailureHalfLife.
func NewFailures(halfLife time.Duration) *Failures {
	if halfLife <= 0 {
		halfLife = DefaultFailureHalfLife
	}
	return &Failures{halfLife: float64(halfLife)}
}

// Resize makes room for indexes below n. It never shrinks.
func (f *Failures) Resize(n int) {
	for len(f.endpoints) < n {
		f.endpoints = append(f.endpoints, outcomes{})
		f.silent = append(f.silent, silence{})
	}
}

// Reset forgets all of an endpoint.
func (f *Failures) Reset(index int) {
	if uint(index) < uint(len(f.endpoints)) {
		f.endpoints[index] = outcomes{}
		f.silent[index] = silence{}
	}
}

// Expire sets the clock.
func (f *Failures) Expire(now int64) { f.clock.set(now) }

func (f *Failures) apply(s *step) {
	switch s.Kind {
	case journal.Decision:
		f.Decide(s.primary, s.Event)
	case journal.Began, journal.Completion:
		f.Complete(s.primary, s.Event)
		if f.stages && s.Kind == journal.Completion {
			f.completeHelpers(s)
		}
		if s.tried < 0 {
			break
		}
		f.silent[s.tried].drop(s.Event)
		if s.Kind == journal.Completion {
			f.fail(s.tried, s.Event, true)
		}
	case journal.Gone:
		for i := range f.silent {
			f.silent[i].prune(f.clock.now, int64(f.halfLife), s.Instance)
		}
	}
}

// MemoryBytes is 0: all it holds are some bytes per endpoint.
func (f *Failures) MemoryBytes() int { return 0 }

// Decide enters that an endpoint is asked.
func (f *Failures) Decide(index int, e *journal.Event) {
	if uint(index) < uint(len(f.silent)) {
		s, now := &f.silent[index], f.clock.at(e.Time)
		if s.n == mostWaiting {
			s.prune(now, int64(f.halfLife), 0)
		}
		s.ask(e, now)
	}
}

// Complete enters what a completion, or the beginning of an answer, tells of the endpoint that served it.
func (f *Failures) Complete(index int, e *journal.Event) {
	if uint(index) >= uint(len(f.endpoints)) {
		return
	}
	now := f.clock.at(e.Time)
	switch {
	case e.Ended == journal.EndedTimeout && e.Status/100 == 5, e.Status == 0:
		patience, ok := f.patience(e.Streamed, now)
		f.silent[index].end(e, now, ok && int64(e.DurationMicros)*1000 >= patience)
	case e.Status/100 == 5 || e.Status == statusTooMany:
		f.silent[index].end(e, now, false)
		f.fail(index, e, refuses(e.Status) && e.Ended == journal.EndedWhole)
	default:
		f.answer(index, e, now)
	}
}

// completeHelpers enters what a completion tells of the endpoints of other stages: those of an answer did their part,
// and of a failure that the server told of, either may be the cause.
func (f *Failures) completeHelpers(s *step) {
	e := s.Event
	for c := s.leases.helper(e, nil); c != nil; c = s.leases.helper(e, c) {
		index := int(c.index)
		switch failed := e.Status/100 == 5 || e.Status == statusTooMany; {
		case index == s.primary || e.Status == 0:
		case !failed:
			f.answer(index, e, f.clock.at(e.Time))
		case e.Ended == journal.EndedWhole:
			f.fail(index, e, refuses(e.Status))
		}
	}
}

// statusTooMany and statusUnavailable are those by which servers say that they are full.
const (
	statusTooMany     = 429
	statusUnavailable = 503
)

func refuses(status uint16) bool { return status == statusTooMany || status == statusUnavailable }

// answer enters that an endpoint answers.
func (f *Failures) answer(index int, e *journal.Event, now int64) {
	f.silent[index].answered(now)
	took := int64(e.TTFTMicros) * 1000
	f.answered = max(f.answered, now-max(took, int64(e.DurationMicros)*1000))
	f.clients.note(e.Client, now)
	if u := &f.usual[kindOf(e.Streamed)]; float64(took) > u.at(now) {
		*u = newUsual(float64(took), now)
	}
	o := &f.endpoints[index]
	o.answered = max(o.answered, now)
	if e.Kind == journal.Began || o.late(now) {
		return
	}
	o.good[0].note(e.Client, now)
	o.good[1].note(e.User, now)
	o.doubted = 0
	f.enter(o, now, 0)
}

// fail enters that an endpoint failed a request, or refused it.
func (f *Failures) fail(index int, e *journal.Event, refusal bool) {
	if uint(index) >= uint(len(f.endpoints)) {
		return
	}
	o, now := &f.endpoints[index], f.clock.at(e.Time)
	if o.late(now) {
		return
	}
	doubt := o.doubts(0, e.Client, now) || o.doubts(1, e.User, now)
	o.bad[0].note(e.Client, now)
	o.bad[1].note(e.User, now)
	if doubt {
		o.doubted = min(o.doubted+1, mostDoubted)
		return
	}
	f.fade(o, now)
	o.refusing = refusal && now-o.answered < refusedFor && (o.refusing || o.share < FailureWeight)
	for range o.doubted + 1 {
		f.enter(o, now, 1)
	}
	o.doubted = 0
}

// doubts reports whether a failure of who may be of its own making: the endpoint answered somebody else lately, and has
// failed nobody else since.
func (o *outcomes) doubts(by int, who uint64, now int64) bool {
	answered := o.good[by].other(who)
	return answered != never && now-answered < doubtFor && answered > o.bad[by].other(who)
}

// late reports whether what was at a time is told so late, as by a gateway that was cut off, that it says nothing of
// how the endpoint is now.
func (o *outcomes) late(time int64) bool { return time < minus(o.time, maxSkew) }

func (f *Failures) enter(o *outcomes, time int64, failed float64) {
	f.fade(o, time)
	o.share += (failed - o.share) * FailureWeight
}

// fade brings a share to a time.
func (f *Failures) fade(o *outcomes, time int64) {
	if time > o.time {
		o.share = f.shareAt(o, time)
		o.time = time
	}
}

// Share is the share of failures of an endpoint in [0,1] at a time.
//
// With each completion: share += (1 if it failed, else 0, - share) / 8. With time: share halves with every half-life,
// which is an eighth of what is configured for a share of refusals.
func (f *Failures) Share(index int, now int64) float64 {
	if uint(index) >= uint(len(f.endpoints)) {
		return 0
	}
	return f.shareAt(&f.endpoints[index], f.clock.of(now))
}

func (f *Failures) shareAt(o *outcomes, now int64) float64 {
	if now <= o.time || o.share == 0 {
		return o.share
	}
	halfLives := (float64(now) - float64(o.time)) / f.halfLife
	if o.refusing {
		halfLives *= refusalsFade
	}
	return o.share * math.Exp2(-halfLives)
}
