package replicate

import (
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/journal"
)

// TestCompletionsFollowTheirDecisions has what was lost come again behind what was said since.
func TestCompletionsFollowTheirDecisions(t *testing.T) {
	event := func(kind journal.Kind, number uint32) *journal.Event {
		return &journal.Event{Kind: kind, Instance: 99, Lease: number, Time: 1}
	}
	d := func(n uint32) *journal.Event { return event(journal.Decision, n) }
	c := func(n uint32) *journal.Event { return event(journal.Completion, n) }
	gone, began := event(journal.Gone, 0), event(journal.Began, 7)
	for _, test := range []struct {
		name    string
		skipped []*journal.Event
		events  []*journal.Event
		want    []string
		// late are those that wait in vain.
		late []string
	}{
		{name: "in order", events: []*journal.Event{d(1), c(1), d(2), d(3), c(3), c(2)},
			want: []string{"d1", "c1", "d2", "d3", "c3", "c2"}},
		{name: "the decision comes later", events: []*journal.Event{c(1), d(2), c(3), d(3), d(1), c(2)},
			want: []string{"d2", "d3", "c3", "d1", "c1", "c2"}},
		{name: "it never comes", events: []*journal.Event{c(1), d(2), c(3)}, want: []string{"d2"},
			late: []string{"c1", "c3"}},
		{name: "Envoy has it", skipped: []*journal.Event{d(1), d(2), c(2)}, events: []*journal.Event{c(1), c(2)},
			want: []string{"c1"}, late: []string{"c2"}},
		{name: "it waited in the process before", skipped: []*journal.Event{c(1), c(2), c(3), d(3)},
			events: []*journal.Event{d(3), d(1)}, want: []string{"d3", "d1", "c1"}},
		{name: "its process is gone", events: []*journal.Event{d(1), gone, c(1)}, want: []string{"d1", "g0"},
			late: []string{"c1"}},
		{name: "what else there is does not wait", events: []*journal.Event{c(1), began}, want: []string{"7"},
			late: []string{"c1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var o order
			var events []byte
			now := time.Now()
			for _, e := range test.skipped {
				o.passed(e, now, now)
			}
			for _, e := range test.events {
				events = o.add(events, e, now)
			}
			events = o.due(events, now.Add(recentAge-1))
			if got := inShort(t, events); !slices.Equal(got, test.want) {
				t.Errorf("posts %v, want %v", got, test.want)
			}
			if got := inShort(t, o.due(nil, now.Add(recentAge))); !slices.Equal(got, test.late) {
				t.Errorf("posts %v in the end, want %v", got, test.late)
			}
		})
	}
}

// TestLostDecisionComesAgain has a decision reach the stream behind its completion.
func TestLostDecisionComesAgain(t *testing.T) {
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	a := newGateway(t, "a", addressOf(v))
	now := time.Now()
	completion := sealedCompletion(now)
	for _, text := range [][]byte{completion, sealed(token, now, 22), sealed(token, now, 20), completion} {
		appendRaw(t, client, text)
	}
	a.wantOthers("d22", "d20", "c20")
}

// TestLostDecisionComesToTheNext has a decision reach the stream behind its completion, and the sidecar end between.
func TestLostDecisionComesToTheNext(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	a := newGateway(t, "a", addressOf(v))
	now := time.Now()
	appendRaw(t, client, sealedCompletion(now))
	appendRaw(t, client, sealed(token, now, 22))
	a.wantOthers("d22")
	a.stop()
	a.start()
	appendRaw(t, client, sealed(token, now, 20))
	a.wantOthers("d22", "d20", "c20")
}

// TestFewCompletionsWait: where more wait than there is room for, the oldest go, and a post does not outgrow its bound.
func TestFewCompletionsWait(t *testing.T) {
	var o order
	var events []byte
	now := time.Now()
	for n := range uint32(mostHeld + 2) {
		events = o.add(events, &journal.Event{Kind: journal.Completion, Instance: 99, Lease: n}, now)
	}
	if got, want := inShort(t, events), []string{"c0", "c1"}; !slices.Equal(got, want) {
		t.Errorf("posts %v, want %v", got, want)
	}
	var before order
	for n := range uint32(mostHeld + 1) {
		before.passed(&journal.Event{Kind: journal.Completion, Instance: 99, Lease: n}, now, now)
	}
	if n := len(before.held); n != mostHeld {
		t.Errorf("%d wait of those that were read before, want %d", n, mostHeld)
	}
	before.passed(&journal.Event{Kind: journal.Completion, Instance: 99, Lease: mostHeld + 1}, now.Add(-recentAge), now)
	if got := before.held[mostHeld-1].lease.number; got != mostHeld {
		t.Errorf("c%d waits, which no batch follows any more", got)
	}
	left := 0
	for range mostHeld {
		post := o.due(nil, now.Add(recentAge))
		if len(post) > 2*fullPostBytes {
			t.Fatalf("posts %d bytes, want about %d", len(post), fullPostBytes)
		}
		left += len(inShort(t, post))
	}
	if left != mostHeld {
		t.Errorf("posts %d in the end, want %d", left, mostHeld)
	}
	for n := range uint32(mostOpen + 2) {
		o.opened(lease{99, n})
	}
	if len(o.open) > mostOpen {
		t.Errorf("knows %d open leases, want at most %d", len(o.open), mostOpen)
	}
}

func inShort(t *testing.T, events []byte) (all []string) {
	t.Helper()
	for len(events) > 0 {
		var e journal.Event
		n, ok := e.Decode(events)
		if !ok {
			t.Fatalf("%d bytes that are no events", len(events))
		}
		all, events = append(all, short(&e)), events[n:]
	}
	return all
}

// sealedCompletion is an entry that ends request 20 of another gateway.
func sealedCompletion(now time.Time) []byte {
	e := entry{gateway: "x", sent: now.UnixNano(), end: journal.Position{Epoch: 9}}
	e.batch = appendEvent(nil, 0, 21, &journal.Event{Kind: journal.Completion, Instance: 99, Lease: 20,
		Time: now.UnixNano()})
	return newCodec(stream, func() string { return token }).seal(&e)
}
