package push

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/snapshot"
)

const (
	// rivalTurns within rivalWindow are more than a sidecar that is being replaced can cause.
	rivalTurns  = 4
	rivalWindow = 30 * time.Second

	anotherSidecar = "another sidecar feeds this Envoy, too, and the two take turns; one sidecar for each Envoy is " +
		"right"
)

// rivals notices another sidecar: an epoch above one's own after one's own was accepted, again and again.
type rivals struct {
	turns [rivalTurns]time.Time // a ring
	next  int
}

func (r *rivals) turn(now time.Time) {
	r.turns[r.next] = now
	r.next = (r.next + 1) % rivalTurns
}

// any reports whether there were as many turns of late as only a rival takes.
func (r *rivals) any(now time.Time) bool {
	oldest := r.turns[r.next]
	return !oldest.IsZero() && now.Sub(oldest) < rivalWindow
}

// outranked takes an epoch above the one that the Envoy holds. Whoever has already been heard in its own epoch lost its
// turn to somebody.
func (p *Pusher) outranked(current uint64) {
	if p.Now().Acknowledged.Epoch == p.position.Epoch {
		p.rivals.turn(time.Now())
	}
	if current < math.MaxUint64 {
		p.position = snapshot.Position{Epoch: max(p.position.Epoch, current+1), Sequence: p.position.Sequence}
	}
}
