package journal

import (
	"bytes"
	"testing"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

// TestFollowerKeepsItsPlace: an answer without a log moves nothing, and a new log without events is one restart,
// however often it is told of.
func TestFollowerKeepsItsPlace(t *testing.T) {
	data := journaltest.New(0)
	j := open(t, data.Store(), 1, 4)
	decide(t, j, 1)
	var f Follower
	expectTold(t, &f, data.Store(), "d1.1")
	at := f.At()
	expectTold(t, &f, journaltest.New(0).Store())
	if f.At() != at {
		t.Errorf("without a log: stands at %+v, want %+v", f.At(), at)
	}
	again := journaltest.New(0)
	open(t, again.Store(), 5, 4).create(absent)
	for range 2 {
		expectTold(t, &f, again.Store())
	}
	if got := f.Stats(); got.Restarts != 1 || f.At().Epoch == at.Epoch {
		t.Errorf("got %+v at %+v, want one restart, in the new log", got, f.At())
	}
}

// TestFreshFollowerMissesNothing: what was overwritten before it came is not its loss.
func TestFreshFollowerMissesNothing(t *testing.T) {
	data := journaltest.New(0)
	j := open(t, data.Store(), 1, 4)
	for range 12 {
		decide(t, j, MaxBlocks)
	}
	var f Follower
	expectTold(t, &f, data.Store(), "d1.9", "d1.10", "d1.11", "d1.12")
	if got := f.Stats(); got != (FollowerStats{Events: 4}) {
		t.Errorf("got %+v, want 4 events and none missed", got)
	}
}

// TestFollowerPassesDamageInTheHead: what cannot be read of the newest page is missed once, and what is appended behind
// it is told.
func TestFollowerPassesDamageInTheHead(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	j := open(t, data.Store(), 1, 4)
	for range 3 {
		decide(t, j, 1)
	}
	value, _, _ := store.Get(headKey)
	broken := bytes.Clone(value)
	record := (len(broken) - headerBytes) / 3
	broken[headerBytes+record+20] ^= 1
	store.Set(headKey, broken, 0)
	var f Follower
	expectTold(t, &f, store, "d1.1", "m2")
	expectTold(t, &f, store)
	decide(t, j, 1)
	expectTold(t, &f, store, "d1.4")
	if got := f.Stats(); got != (FollowerStats{Events: 2, Missed: 2}) {
		t.Errorf("got %+v, want 2 events and 2 missed", got)
	}
}

// TestFollowerLeavesWhatItDidNotAskFor: an answer that begins behind where it stands is none for it.
func TestFollowerLeavesWhatItDidNotAskFor(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	j := open(t, data.Store(), 1, 4)
	var f, other Follower
	decide(t, j, 1)
	expectTold(t, &f, store, "d1.1")
	decide(t, j, 1)
	expectTold(t, &other, store, "d1.1", "d1.2")
	decide(t, j, 1)
	var writer Answerer
	a, _ := ParseAnswer(writer.Append(nil, store, []Position{other.At()}, Position{}, 0, 0))
	at := f.At()
	f.Read(&a, func(e *Event, _ Position) { t.Errorf("told %s, want nothing", short(e)) })
	if f.At() != at {
		t.Errorf("stands at %+v, want %+v", f.At(), at)
	}
	expectTold(t, &f, store, "d1.2", "d1.3")
}
