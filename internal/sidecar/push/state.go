package push

import (
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/snapshot"
)

// State is how a Pusher and its Envoy stand.
type State struct {
	// Accepted is when the Envoy last took a snapshot; zero before the first.
	Accepted time.Time
	// Acknowledged and Holds are the position and the topology of that one.
	Acknowledged snapshot.Position
	Holds        uint64
	// Result is that of the last push, Failure why it failed; empty after an accepted one.
	Result, Failure string
	// Filter is the version of the module that answered last, empty where it says none or has not answered.
	Filter string
	// Rival is set while another sidecar feeds the Envoy, too.
	Rival bool
}

// Now returns how things stand.
func (p *Pusher) Now() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Connects reports whether the last push found somebody at the ingest listener, or, where there was nothing to push
// yet, whether somebody is there.
func (p *Pusher) Connects() bool {
	if result := p.Now().Result; result != "" {
		return result != connectFailed
	}
	return p.Ingest.Listens()
}

// Measure has the metrics tell which module the Envoy runs, and how long ago it took a snapshot, counted from start
// before the first.
func (p *Pusher) Measure(start time.Time) {
	p.Metrics.Filter(p.Ingest.Name, func() string { return p.Now().Filter })
	p.Metrics.PushAge(p.Ingest.Name, func() time.Duration {
		if accepted := p.Now().Accepted; !accepted.IsZero() {
			return time.Since(accepted)
		}
		return time.Since(start)
	})
}

// Health says why the Envoy has not heard the sidecar within that time; empty when it has.
func (p *Pusher) Health(now time.Time, within time.Duration) string {
	state := p.Now()
	if !state.Accepted.IsZero() && now.Sub(state.Accepted) <= within {
		return ""
	}
	last := "never"
	if !state.Accepted.IsZero() {
		last = now.Sub(state.Accepted).Round(time.Millisecond).String() + " ago"
	}
	reason := fmt.Sprintf("envoy.ingest %s: last accepted push: %s", p.Ingest.Name, last)
	if state.Failure != "" {
		reason += "; last failure: " + state.Failure
	}
	return reason
}

// Warning says what is wrong although the Envoy hears the sidecar; empty when nothing is.
func (p *Pusher) Warning() string {
	if p.Now().Rival {
		return "envoy.ingest " + p.Ingest.Name + ": " + anotherSidecar
	}
	return ""
}
