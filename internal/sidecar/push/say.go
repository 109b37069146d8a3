package push

import (
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

// steadyFor is how long pushes have to go well, or to fail, to be said to do so once they have failed now and then.
const steadyFor = 10 * time.Second

// steadiness is whether pushes fail now and then, as where one of an Envoy's workers stands still: it gets a part of
// the connections.
type steadiness struct {
	unsteady bool
	// failed is when the last one failed, recovered when one was last said to be accepted again.
	failed, recovered time.Time
}

// said is what the log says of a push.
type said uint8

const (
	nothing said = iota
	accepted
	failed
	nowAndThen
)

// says tells what to say of a push: whether it failed, whether its result differs from that of the one before, and when
// the last one was accepted.
func (s *steadiness) says(now time.Time, failing, changed bool, lastAccepted time.Time) said {
	if failing {
		s.failed = now
	}
	switch {
	case s.unsteady && failing && now.Sub(lastAccepted) >= steadyFor:
		s.unsteady = false
		return failed
	case s.unsteady && !failing && now.Sub(s.failed) >= steadyFor:
		s.unsteady = false
		return accepted
	case s.unsteady || !changed:
		return nothing
	case !failing:
		if !s.failed.IsZero() {
			s.recovered = now
		}
		return accepted
	case now.Sub(s.recovered) < steadyFor:
		s.unsteady = true
		return nowAndThen
	}
	return failed
}

// record counts a push, and logs when its result differs from the last one's. Of the turns that another sidecar takes,
// and of pushes that fail now and then, one line tells.
func (p *Pusher) record(o outcome, took time.Duration) {
	p.Metrics.Pushed(p.Ingest.Name, o.result, took)
	p.mu.Lock()
	changed, lastAccepted := p.state.Result != o.result, p.state.Accepted
	turn := o.result == older || o.err == nil && p.state.Result == older
	p.state.Result, p.state.Failure = o.result, ""
	if o.err == nil || o.filter != "" {
		changed = changed || p.state.Filter != o.filter
		p.state.Filter = o.filter
	}
	rival := p.rivals.any(time.Now())
	rivalChanged := rival != p.state.Rival
	p.state.Rival = rival
	if o.err == nil {
		p.state.Accepted, p.state.Acknowledged, p.state.Holds = time.Now(), p.position, p.topology
	} else {
		p.state.Failure = pool.OneLine(o.err.Error())
	}
	p.mu.Unlock()
	switch {
	case rivalChanged && rival:
		p.Log.Error(anotherSidecar, "target", p.Ingest.Name)
	case rivalChanged:
		p.Log.Info("no other sidecar feeds this Envoy any more", "target", p.Ingest.Name)
	}
	if rival && turn {
		p.say(o, nothing, took)
		return
	}
	p.say(o, p.steadiness.says(time.Now(), o.err != nil, changed, lastAccepted), took)
}

// say logs a push, unless there is nothing new in it.
func (p *Pusher) say(o outcome, what said, took time.Duration) {
	about := []any{"target", p.Ingest.Name}
	if o.filter != "" {
		about = append(about, "filter", o.filter)
	}
	if o.err != nil {
		about = append(about, "result", o.result, "error", pool.OneLine(o.err.Error()))
	}
	switch what {
	case failed:
		p.Log.Warn("push failed", about...)
	case nowAndThen:
		p.Log.Warn("pushes fail now and then", about...)
	case accepted:
		p.Log.Info("push accepted", append(about, "epoch", p.position.Epoch)...)
	default:
		p.Log.Debug("pushed", "target", p.Ingest.Name, "result", o.result, "took", took)
	}
}
