package journal

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

// tickUntil ticks once a second, from second 0 to that one.
func tickUntil(j *Journal, second int64) {
	for now := range second + 1 {
		j.Tick(now * int64(time.Second))
	}
}

// TestVerdictStaysInItsLog has a log replaced by one that is as long: a verdict on somebody of the old one must not get
// into it.
func TestVerdictStaysInItsLog(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	silent, a, other := open(t, data.Store(), 1, 4), open(t, store, 2, 4), open(t, data.Store(), 3, 4)
	decide(t, silent, 0)
	complete(t, a, 1)
	expect(t, a, "d1.1", "c2.1")
	store.Set(headKey, []byte("something else"), 0)
	_, change, _ := store.Get(headKey)
	if !other.create(change) {
		t.Fatal("the new log was not created")
	}
	complete(t, other, 1)
	complete(t, other, 2)
	tickUntil(a, 60)
	expect(t, open(t, data.Store(), 4, 4), "c3.1", "c3.2")
}

// TestVerdictOnOneself: who was declared gone has no lease open any more, and does not claim to live for their sake.
func TestVerdictOnOneself(t *testing.T) {
	data := journaltest.New(0)
	slow, a := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
	decide(t, slow, 0)
	complete(t, a, 1)
	expect(t, a, "d1.1", "c2.1")
	tickUntil(a, 30)
	expect(t, slow, "d1.1", "c2.1", "g1")
	before := slow.Stats().Appended
	tickUntil(slow, 60)
	if got := slow.Stats().Appended; got != before {
		t.Errorf("wrote %d events, want none: its leases are closed", got-before)
	}
	decide(t, slow, 0)
	tickUntil(slow, 60)
	if got := slow.Stats().Appended - before; got < 2 {
		t.Errorf("wrote %d events, want the decision and signs of life", got)
	}
}

// TestHealingWaits: a head that is damaged now may be whole with the next tick, in which case it is never replaced.
func TestHealingWaits(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	a := open(t, store, 1, 4)
	decide(t, a, 0)
	expect(t, a, "d1.1")
	whole, _, _ := store.Get(headKey)
	whole = append([]byte{}, whole...)
	damaged := []byte("something else")
	for range 5 {
		for range healTicks - 1 {
			store.Set(headKey, damaged, 0)
			expect(t, a)
			a.Tick(0)
			if got, _, _ := store.Get(headKey); string(got) != string(damaged) {
				t.Fatalf("the head was replaced too early")
			}
		}
		store.Set(headKey, whole, 0)
		expect(t, a)
		a.Tick(0)
	}
	for range healTicks - 1 {
		store.Set(headKey, damaged, 0)
		expect(t, a)
		a.Tick(0)
	}
	expect(t, a)
	store.Set(headKey, whole, 0) // after it was looked at for the last time
	a.Tick(0)
	if got, _, _ := store.Get(headKey); string(got) != string(whole) {
		t.Error("a head that is whole was replaced")
	}
	if got := a.Stats().Restarts; got != 0 {
		t.Errorf("got %d restarts, want none", got)
	}
}

// TestFullPage: what is full must be the same for all, and never let a page with an event more grow beyond what readers
// take.
func TestFullPage(t *testing.T) {
	for _, tc := range []struct {
		length uint32
		full   bool
	}{{0, false}, {fullBytes - 1, false}, {fullBytes, true}, {fullBytes + 1, true}} {
		if got := (&page{length: tc.length}).full(); got != tc.full {
			t.Errorf("%d bytes: got %v, want %v", tc.length, got, tc.full)
		}
	}
}
