package replicate

import "time"

const (
	// namesakeTurns is how many turns tell two gateways from one whose server was slow to take an entry.
	namesakeTurns = 3
	// namesakeAge is how long ago the other one may have said something.
	namesakeAge = 3 * heartbeat
)

// namesake notices another gateway of the same name. An Envoy that is started anew begins another log and goes back to
// none before, so entries of two logs in turns are of two gateways. The zero value is ready.
type namesake struct {
	own   bool      // the last entry of the name was of the own log
	turns int       // how often one of another log came behind one of the own
	heard time.Time // when the last one of another log was said
}

// hear is told of each entry of the name. found says that there are two now.
func (n *namesake) hear(own bool, said, now time.Time) (found bool) {
	if own {
		n.own = true
		return false
	}
	if now.Sub(said) > namesakeAge {
		return false
	}
	if now.Sub(n.heard) > namesakeAge {
		n.turns = 0
	}
	if n.own {
		n.turns++
		found = n.turns == namesakeTurns
	}
	n.own, n.heard = false, said
	return found
}

// there reports whether there is one.
func (n *namesake) there(now time.Time) bool {
	return n.turns >= namesakeTurns && now.Sub(n.heard) <= namesakeAge
}

// hearName takes down that an entry has this gateway's name.
func (r *reader) hearName(own bool, id streamID, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.namesake.hear(own, r.said(id, now), time.Now()) {
		r.log.Warn("another gateway has the same name", "gateway", r.Gateway)
	}
}
