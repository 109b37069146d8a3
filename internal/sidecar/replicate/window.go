package replicate

import (
	"cmp"
	"slices"
	"time"
)

const (
	// windowBits is how far behind a log's newest event one may come and still be told from what has been seen.
	windowBits = 1 << 16
	// keptLogs is how many logs of a gateway are told apart: its Envoy begins one with each start.
	keptLogs = 4
	// mostGateways bounds those that are known; beyond it the one that was silent longest is forgotten.
	mostGateways = 256
	// shownFor is how long one is shown that has fallen silent: longer than alerts wait, and not for ever where each
	// rollout brings new names.
	shownFor = 15 * time.Minute
)

// window knows which events of one log have been seen, by their numbers: which of the last windowBits, and of those
// before them all.
type window struct {
	epoch, end uint64 // end is one more than the highest number seen
	bits       [windowBits / 64]uint64
}

// admit reports whether an event is seen for the first time.
func (w *window) admit(seq uint64) bool {
	if seq+windowBits < w.end {
		return false
	}
	if seq >= w.end {
		if seq-w.end >= windowBits {
			clear(w.bits[:])
		} else {
			for n := w.end; n < seq; n++ {
				w.clear(n)
			}
		}
		w.end = seq + 1
		w.set(seq)
		return true
	}
	seen := w.bits[seq%windowBits/64]&(1<<(seq%64)) != 0
	w.set(seq)
	return !seen
}

func (w *window) set(seq uint64)   { w.bits[seq%windowBits/64] |= 1 << (seq % 64) }
func (w *window) clear(seq uint64) { w.bits[seq%windowBits/64] &^= 1 << (seq % 64) }

// peer is another gateway, or this one's past.
type peer struct {
	name  string
	heard time.Time
	// lag is how old the newest event of its last batch was when Envoy had it.
	lag                time.Duration
	events, duplicates uint64
	logs               []*window // the one heard of last comes first
}

// log is the window of a log, a new one if need be.
func (p *peer) log(epoch uint64) *window {
	i := slices.IndexFunc(p.logs, func(w *window) bool { return w.epoch == epoch })
	if i < 0 {
		p.logs = append(p.logs, &window{epoch: epoch})
		i = len(p.logs) - 1
	}
	found := p.logs[i]
	copy(p.logs[1:i+1], p.logs[:i])
	p.logs[0] = found
	p.logs = p.logs[:min(len(p.logs), keptLogs)]
	return found
}

// peers are those that a reader has heard of.
type peers map[string]*peer

func (all peers) of(name string) *peer {
	if p := all[name]; p != nil {
		return p
	}
	if len(all) == mostGateways {
		delete(all, all.sorted(func(a, b *peer) int { return a.heard.Compare(b.heard) })[0].name)
	}
	all[name] = &peer{name: name}
	return all[name]
}

// unseen has all events be new.
func (all peers) unseen() {
	for _, p := range all {
		p.logs = nil
	}
}

func (all peers) sorted(by func(a, b *peer) int) []*peer {
	list := make([]*peer, 0, len(all))
	for _, p := range all {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *peer) int { return cmp.Or(by(a, b), cmp.Compare(a.name, b.name)) })
	return list
}
