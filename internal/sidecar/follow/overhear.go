package follow

import (
	"context"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// overheardInterval is how often a follower asks by itself that overhears another one's answers: Envoy hears that it is
// followed, and what is missing is fetched.
const overheardInterval = time.Second

// overhear takes an answer that another follower of the same Envoy got from a position on, as far as it has not been
// read. An answer is passed over while this one asks by itself, and where it lacks what was before.
func (f *Follower) overhear(ctx context.Context, text []byte, from journal.Position) {
	if !f.asking.TryLock() {
		return
	}
	defer f.asking.Unlock()
	at := f.reader.At()
	if f.client == nil || at.Epoch != from.Epoch || at.Page < from.Page ||
		at.Page == from.Page && at.Offset < from.Offset {
		return
	}
	_, err := f.pass(ctx, text)
	if err == nil {
		f.overheard = time.Now()
	}
	if ctx.Err() == nil {
		f.note(err)
	}
}

// due is when the Envoy is to be asked next. What rode there once is likely to go again after as long, and a bit later
// than that: to ask just before would be to ask twice. Who overhears another asks when that falls silent, when there is
// something to keep, and from time to time.
func (f *Follower) due() time.Time {
	due := f.asked.Add(f.Interval)
	switch heard := f.overheard.Add(f.Interval); {
	case f.ridden:
		return due.Add(f.Interval / 3)
	case heard.After(due) && !f.keeps():
		if rare := f.asked.Add(max(f.Interval, overheardInterval)); rare.Before(heard) {
			return rare
		}
		return heard
	}
	return due
}

// keeps reports whether there is a position that Envoy is to keep.
func (f *Follower) keeps() bool {
	if f.Keep == nil {
		return false
	}
	keep := f.Keep()
	return keep.Epoch == f.reader.At().Epoch && keep.Seq > f.kept.Seq
}
