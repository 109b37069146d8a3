package journal

import (
	"reflect"
	"testing"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

// TestRelayedOnceByTwoAtOnce: of two workers that are sent one message at once, the first there is, one takes it.
func TestRelayedOnceByTwoAtOnce(t *testing.T) {
	for name, before := range map[string]bool{"the first message": false, "a later one": true} {
		t.Run(name, func(t *testing.T) {
			data := journaltest.New(0)
			b := open(t, data.Store(), 2, 4)
			at, want := Mark{}, []string{"d9.1"}
			if before {
				at = Mark{1, 1}
				take(t, b, relay(Mark{}, at, Event{Kind: Decision, Instance: 9, Lease: 7}), at, true)
				want = []string{"d9.7", "d9.1"}
			}
			message := relay(at, Mark{1, 2}, Event{Kind: Decision, Instance: 9, Lease: 1})
			store := &meanwhile{data.Store(), func() { take(t, b, message, Mark{1, 2}, true) }}
			take(t, open(t, store, 1, 4), message, Mark{1, 2}, false)
			expect(t, b, want...)
		})
	}
}

// beforeHead does something before the head is set for the first time.
type beforeHead struct {
	Store
	act func()
}

func (b *beforeHead) Set(key string, value []byte, change uint32) bool {
	if act := b.act; act != nil && key == headKey {
		b.act = nil
		act()
	}
	return b.Store.Set(key, value, change)
}

// TestRelayWhileOthersAppend: what another worker appends while a message is written stands before it, and all of both
// is there once.
func TestRelayWhileOthersAppend(t *testing.T) {
	data := journaltest.New(0)
	other := open(t, data.Store(), 2, 4)
	decide(t, other, 1)
	j := open(t, &beforeHead{data.Store(), func() { decide(t, other, 1) }}, 1, 4)
	take(t, j, relay(Mark{}, Mark{1, 1}, Event{Kind: Decision, Instance: 9, Lease: 1},
		Event{Kind: Refused, Instance: 9}, Event{Kind: Completion, Instance: 9, Lease: 1}), Mark{1, 1}, true)
	expect(t, other, "d2.1", "d2.2", "d9.1", "c9.1")
	if got := j.Stats(); got.Appended != 2 || got.Conflicts != 1 || got.Failed != 0 {
		t.Errorf("got %+v, want 2 appended with a conflict", got)
	}
}

// TestRelayIntoNoLog: who is refused is told of a log, too, and into a head that is none nothing is written.
func TestRelayIntoNoLog(t *testing.T) {
	message := relay(Mark{5, 5}, Mark{5, 6}, Event{Kind: Decision, Instance: 9, Lease: 1})
	take(t, open(t, journaltest.New(0).Store(), 1, 4), message, Mark{}, false)

	data := journaltest.New(0)
	store := data.Store()
	store.Set(headKey, []byte("something else"), 0)
	j := open(t, data.Store(), 1, 4)
	now, ok := j.TakeRelay(relay(Mark{}, Mark{1, 1}, Event{Kind: Decision, Instance: 9},
		Event{Kind: Refused, Instance: 9}, Event{Kind: Alive, Instance: 9}))
	if now != (Relayed{Mark: Mark{1, 1}}) || !ok {
		t.Errorf("got %+v and %v, want the mark and no log", now, ok)
	}
	if got := j.Stats(); got.Appended != 0 || got.Failed != 2 || got.Corrupt != 1 {
		t.Errorf("got %+v, want 2 failed and 1 corrupt", got)
	}
	if value, _, _ := store.Get(headKey); string(value) != "something else" {
		t.Errorf("the head became %q", value)
	}
}

// TestOneAnyMarkIsAMark: only both of them stand for who keeps none.
func TestOneAnyMarkIsAMark(t *testing.T) {
	j := open(t, journaltest.New(0).Store(), 1, 4)
	take(t, j, relay(AnyMark, Mark{1, 1}, Event{Kind: Decision, Instance: 9}), Mark{}, false)
	take(t, j, relay(Mark{1, 1}, AnyMark, Event{Kind: Decision, Instance: 9}), Mark{}, false)
	expect(t, j)
}

// TestRelayedEventsAreWhole: an event of another process has all that it was sent with.
func TestRelayedEventsAreWhole(t *testing.T) {
	j := open(t, journaltest.New(0).Store(), 1, 4)
	for i, sent := range []Event{sampleDecision(), sampleCompletion(), {Kind: Completion, Status: 0x1ff}} {
		mark := Mark{1, uint64(i + 1)}
		after := Mark{1, uint64(i)}
		if i == 0 {
			after = Mark{}
		}
		take(t, j, relay(after, mark, sent), mark, true)
		j.Poll()
		got := j.Next()
		if got == nil || !got.Relayed {
			t.Fatalf("got %+v, want a relayed event", got)
		}
		got.Relayed = false
		if !reflect.DeepEqual(AppendEvent(nil, got), AppendEvent(nil, &sent)) {
			t.Errorf("got %+v, want %+v", got, sent)
		}
	}
}
