package journal

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

// relay is a message with events of another process.
func relay(after, mark Mark, events ...Event) []byte {
	var encoded []byte
	for i := range events {
		encoded = AppendEvent(encoded, &events[i])
	}
	return AppendRelay(nil, after, mark, encoded)
}

func take(t testing.TB, j *Journal, message []byte, want Mark, wantOK bool) {
	t.Helper()
	if !j.CheckRelay(message) {
		t.Fatal("the message is not whole")
	}
	now, ok := j.TakeRelay(message)
	var head page
	if value, _, found := j.store.Get(headKey); found {
		head, _ = parsePage(value)
	}
	if wanted := (Relayed{want, head.epoch}); now != wanted || ok != wantOK || head.epoch == 0 {
		t.Errorf("got %v, %v, want %v, %v", now, ok, wanted, wantOK)
	}
	if parsed, rest, ok := ParseRelayed(append(now.Append(nil), "rest"...)); !ok || parsed != now ||
		string(rest) != "rest" {
		t.Errorf("encoded and read again: got %v, %v, want %v", parsed, ok, now)
	}
}

func TestRelayedEventsAreReadAsOthers(t *testing.T) {
	data := journaltest.New(0)
	a, b := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
	decide(t, a, 2)
	foreign := Event{Kind: Decision, Instance: 9, Lease: 5, Primary: 3, Chains: chain(hashes(2))}
	take(t, b, relay(Mark{}, Mark{1, 1}, foreign, Event{Kind: Alive, Instance: 9}, Event{Kind: Refused, Instance: 9},
		Event{Kind: Completion, Instance: 9, Lease: 5}), Mark{1, 1}, true)
	expect(t, a, "d1.1", "d9.5", "c9.5")
	b.Poll()
	for e := b.Next(); e != nil; e = b.Next() {
		if e.Relayed != (e.Instance == 9) {
			t.Errorf("%s: relayed is %v", short(e), e.Relayed)
		}
		if e.Instance == 9 && e.Kind == Decision {
			e.Relayed = false
			if got := e.Chains; !reflect.DeepEqual(got, foreign.Chains) || e.Primary != 3 {
				t.Errorf("got %+v, want the chains of the other process", e)
			}
		}
	}
}

func TestRelayedOnce(t *testing.T) {
	data := journaltest.New(0)
	a, b := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
	first := relay(Mark{}, Mark{1, 1}, Event{Kind: Decision, Instance: 9, Lease: 1})
	second := relay(Mark{1, 1}, Mark{1, 2}, Event{Kind: Completion, Instance: 9, Lease: 1})
	take(t, a, first, Mark{1, 1}, true)
	take(t, b, first, Mark{1, 1}, false)
	take(t, b, second, Mark{1, 2}, true)
	take(t, a, second, Mark{1, 2}, false)
	take(t, a, first, Mark{1, 2}, false)
	take(t, a, relay(Mark{1, 2}, Mark{1, 2}), Mark{1, 2}, true)
	expect(t, b, "d9.1", "c9.1")
}

// TestHeldAreRelayed: what servers have is told without a mark, as often as it is told, and disturbs none.
func TestHeldAreRelayed(t *testing.T) {
	data := journaltest.New(0)
	a, b := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
	held := Event{Kind: Held, Time: 2, Instance: 9, Primary: 3, Held: 2, Chains: chain(hashes(3))}
	take(t, b, relay(AnyMark, AnyMark, held), Mark{}, true)
	take(t, b, relay(Mark{}, Mark{1, 1}, Event{Kind: Alive, Instance: 8}), Mark{1, 1}, true)
	take(t, a, relay(AnyMark, AnyMark, held, held), Mark{1, 1}, true)
	a.Poll()
	n := 0
	for e := a.Next(); e != nil; e = a.Next() {
		n++
		if e.Kind != Held || e.Held != 2 || e.InputTokens != 0 || e.Primary != 3 || !e.Relayed ||
			!reflect.DeepEqual(e.Chains, held.Chains) {
			t.Errorf("got %+v, want %+v", e, held)
		}
	}
	if n != 3 {
		t.Errorf("got %d events, want 3", n)
	}
}

// TestHeldLayout: the number of blocks lies where other events have input tokens. It is written so for ever.
func TestHeldLayout(t *testing.T) {
	b := AppendEvent(nil, &Event{Kind: Held, Held: 0x01020304, InputTokens: 5})
	if b[6] != 7 || string(b[64:68]) != "\x04\x03\x02\x01" {
		t.Errorf("got kind %d, %x", b[6], b[64:68])
	}
}

// TestRelayOfManyPages: a message that no page takes is read as it was sent, with what others write meanwhile.
func TestRelayOfManyPages(t *testing.T) {
	data := journaltest.New(0)
	a, b := open(t, data.Store(), 1, 64), open(t, data.Store(), 2, 64)
	var events []Event
	var want []string
	decide(t, a, 1)
	want = append(want, "d1.1")
	for i := range 300 {
		events = append(events, Event{Kind: Decision, Instance: 9, Lease: uint32(i + 1), Chains: chain(hashes(i % 40))},
			Event{Kind: Refused, Instance: 9})
		want = append(want, fmt.Sprint("d9.", i+1))
	}
	take(t, b, relay(Mark{}, Mark{1, 1}, events...), Mark{1, 1}, true)
	if s := b.Stats(); s.Appended != 300 || s.Failed != 0 {
		t.Errorf("got %+v, want 300 events appended", s)
	}
	decide(t, a, 1)
	expect(t, a, append(want, "d1.2")...)
	expect(t, b, append(want, "d1.2")...)
}

func TestRelaysThatAreRefused(t *testing.T) {
	j := open(t, journaltest.New(0).Store(), 1, 4)
	good := relay(Mark{}, Mark{1, 1}, Event{Kind: Decision, Instance: 9, Lease: 1})
	if !j.CheckRelay(good) {
		t.Fatal("the message is refused")
	}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1
		if i/4 != 1 && j.CheckRelay(bad) { // four bytes are for later versions
			t.Errorf("changed in byte %d: taken", i)
		}
		if j.CheckRelay(good[:i]) {
			t.Errorf("cut to %d bytes: taken", i)
		}
	}
	if j.CheckRelay(AppendRelay(nil, Mark{}, Mark{}, []byte("events that are none, and 40 bytes long"))) {
		t.Error("what is no event is taken")
	}
	for _, tc := range []struct {
		size int
		want bool
	}{{MaxRelayBytes, true}, {MaxRelayBytes + 8, false}} {
		events := []byte(nil)
		for left := tc.size - relayHeadBytes; left > 0; left = tc.size - relayHeadBytes - len(events) {
			words := (min(left, 8192) - eventBytes - sectionBytes) / 8
			events = append(events, sectionsOf(section(99, make([]uint64, words)...))...)
		}
		message := AppendRelay(nil, Mark{}, Mark{}, events)
		if got := j.CheckRelay(message); len(message) != tc.size || got != tc.want {
			t.Errorf("a message of %d bytes, want %d: taken %v, want %v", len(message), tc.size, got, tc.want)
		}
	}
}

func TestParseRelayedNeedsAll(t *testing.T) {
	whole := (&Relayed{Mark{1, 2}, 3}).Append(nil)
	for n := range len(whole) + 1 {
		r, rest, ok := ParseRelayed(whole[:n])
		if want := n == len(whole); ok != want || len(rest) != 0 || ok != (r == Relayed{Mark{1, 2}, 3}) {
			t.Errorf("of %d bytes of %d: got %+v and %v, want %v", n, len(whole), r, ok, want)
		}
	}
}

// TestAnotherProcessDies has an instance of another process fall silent: its leases end for all, also where nobody has
// decided anything, and those who relay do not take the verdict for one on an instance of their own.
func TestAnotherProcessDies(t *testing.T) {
	data := journaltest.New(0)
	j, err := New(data.Store(), Options{Instance: 1, Slots: 4, DeadAfter: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	take(t, j, relay(Mark{}, Mark{1, 1}, Event{Kind: Decision, Instance: 9, Lease: 1}), Mark{1, 1}, true)
	expect(t, j, "d9.1")
	now := int64(0)
	pass := func(seconds int) {
		for range seconds {
			now += int64(time.Second)
			j.Tick(now)
		}
	}
	pass(25)
	take(t, j, relay(Mark{1, 1}, Mark{1, 2}, Event{Kind: Alive, Instance: 9}), Mark{1, 2}, true)
	expect(t, j)
	pass(25)
	expect(t, j)
	pass(10)
	j.Poll()
	e := j.Next()
	if e == nil || e.Kind != Gone || e.Instance != 9 || !e.Relayed {
		t.Fatalf("got %+v, want a relayed verdict on instance 9", e)
	}
}

func TestFollowersAreToldOfLifeIfTheyWant(t *testing.T) {
	data := journaltest.New(0)
	j := open(t, data.Store(), 1, 4)
	decide(t, j, 0)
	take(t, j, relay(Mark{}, Mark{1, 1}, Event{Kind: Alive, Instance: 9}), Mark{1, 1}, true)
	for _, signs := range []bool{false, true} {
		f := Follower{Signs: signs}
		var a Answerer
		answer, ok := ParseAnswer(a.Append(nil, data.Store(), nil, Position{}, 0, 0))
		if !ok {
			t.Fatal("no answer")
		}
		n := 0
		f.Read(&answer, func(*Event, Position) { n++ })
		if want := map[bool]int{false: 1, true: 2}[signs]; n != want {
			t.Errorf("signs %v: told %d events, want %d", signs, n, want)
		}
	}
}
