package state

import "math"

// latest is when something last happened to each of the two clients to whom it happened last.
type latest struct {
	who  [2]uint64
	at   [2]int64
	seen [2]bool
}

// note takes down that it happened to a client. What is told late does not hide what happened since.
func (l *latest) note(who uint64, at int64) {
	if l.seen[0] && at < l.at[0] {
		if who != l.who[0] && (!l.seen[1] || at > l.at[1]) {
			l.who[1], l.at[1], l.seen[1] = who, at, true
		}
		return
	}
	if !l.seen[0] || l.who[0] != who {
		l.who[1], l.at[1], l.seen[1] = l.who[0], l.at[0], l.seen[0]
	}
	l.who[0], l.at[0], l.seen[0] = who, at, true
}

const never = math.MinInt64

// other is when it last happened to another client than who, or never.
func (l *latest) other(who uint64) int64 {
	for i := range l.who {
		if l.seen[i] && l.who[i] != who {
			return l.at[i]
		}
	}
	return never
}
