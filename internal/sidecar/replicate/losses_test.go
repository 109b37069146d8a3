package replicate

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/journal"
)

// wantInAnyOrder waits until the journal has these events of other gateways and no more.
func (g *gateway) wantInAnyOrder(want ...string) {
	g.t.Helper()
	harness.WaitFor(g.t, limit, g.name+" to have all", func() (bool, string) {
		got := g.others()
		slices.Sort(got)
		return reflect.DeepEqual(got, want), fmt.Sprint(got)
	})
}

// flush has the server lose all that it has.
func flush(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// wantRecent waits until the gateway has appended so many batches of late.
func (g *gateway) wantRecent(batches int) {
	g.t.Helper()
	p := &g.member.publisher
	harness.WaitFor(g.t, limit, "the batches", func() (bool, string) {
		p.appending.Lock()
		defer p.appending.Unlock()
		return len(p.recent) == batches, fmt.Sprint(len(p.recent))
	})
}

// TestServerDies has the stream's server end, and begin anew without what it held. What was decided meanwhile comes
// through.
func TestServerDies(t *testing.T) {
	v := harness.StartValkey(t, "--appendonly", "no")
	a, b := newGateway(t, "a", addressOf(v)), newGateway(t, "b", addressOf(v))
	a.decide()
	b.wantOthers("d1")
	v.Kill()
	a.decide()
	a.wantFailure()
	a.decide()
	if err := v.Start(); err != nil {
		t.Fatal(err)
	}
	b.wantOthers("d1", "d2", "d3")
	b.decide()
	a.wantOthers("d1")
	client := v.Client()
	defer client.Close()
	flush(t, client)
	b.decide()
	a.wantOthers("d1", "d2")
}

// TestServerLosesWhatNobodyRead has the stream vanish between an append and the reading of it.
func TestServerLosesWhatNobodyRead(t *testing.T) {
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	a := newGateway(t, "a", addressOf(v))
	a.decide()
	entries := func(least int64) {
		harness.WaitFor(t, limit, "the entries", func() (bool, string) {
			n := client.XLen(t.Context(), stream).Val()
			return n >= least, fmt.Sprint(n)
		})
	}
	entries(2)
	a.decide()
	entries(3)
	if err := client.Del(t.Context(), stream).Err(); err != nil {
		t.Fatal(err)
	}
	a.decide()
	b := newGateway(t, "b", addressOf(v))
	b.wantInAnyOrder("d1", "d2", "d3")
}

// TestServerLosesWhatWasCaughtUp has the server lose what was appended while there is more to append: who comes later
// gets all of it.
func TestServerLosesWhatWasCaughtUp(t *testing.T) {
	t.Parallel()
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	a := newGateway(t, "a", addressOf(v))
	a.decide()
	a.wantRecent(1)
	p := &a.member.publisher
	p.appending.Lock()
	flush(t, client)
	p.wait(sentBatch{end: p.told})
	p.appending.Unlock()
	newGateway(t, "b", addressOf(v)).wantOthers("d1")
}

// TestServerLosesWhatASilentGatewaySaid has the stream vanish when its gateway has nothing more to say.
func TestServerLosesWhatASilentGatewaySaid(t *testing.T) {
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	a := newGateway(t, "a", addressOf(v))
	a.decide()
	a.wantRecent(1)
	if err := client.Del(t.Context(), stream).Err(); err != nil {
		t.Fatal(err)
	}
	a.member.publisher.beat()
	newGateway(t, "b", addressOf(v)).wantOthers("d1")
}

// TestServerStandsStillAndEnds has a server take nothing for so long that what was appended before counts as read, and
// then lose it, before anybody could read.
func TestServerStandsStillAndEnds(t *testing.T) {
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	memory := func(limit string) {
		t.Helper()
		if err := client.ConfigSet(t.Context(), "maxmemory", limit).Err(); err != nil {
			t.Fatal(err)
		}
	}
	a := newGateway(t, "a", addressOf(v))
	p := &a.member.publisher
	a.decide()
	a.wantRecent(1)
	p.appending.Lock()
	p.recent[0].appended = time.Now().Add(-2 * recentAge)
	p.appending.Unlock()
	memory("1")
	a.decide()
	a.wantFailure()
	memory("0")
	a.wantRecent(2)
	flush(t, client)
	a.decide()
	b := newGateway(t, "b", addressOf(v))
	b.wantInAnyOrder("d1", "d2", "d3")
}

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
				o.early(e)
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
	e := entry{gateway: "x", sent: now.UnixNano(), end: journal.Position{Epoch: 9}}
	e.batch = appendEvent(nil, 0, 21, &journal.Event{Kind: journal.Completion, Instance: 99, Lease: 20,
		Time: now.UnixNano()})
	completion := newCodec(stream, func() string { return token }).seal(&e)
	for _, text := range [][]byte{completion, sealed(token, now, 22), sealed(token, now, 20), completion} {
		appendRaw(t, client, text)
	}
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

// TestServerWithAClockBehind has another server take over, which has not the last entry of the former one and names new
// ones by a clock that is behind: they are read although they seem to come before what was read, by this process of the
// sidecar or, as Envoy says, by the one before.
func TestServerWithAClockBehind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		while func(a *gateway, lose func())
	}{
		{"the sidecar runs", func(_ *gateway, lose func()) { lose() }},
		{"the sidecar is started anew", func(a *gateway, lose func()) {
			a.stop()
			lose()
			a.start()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := harness.StartValkey(t)
			client := v.Client()
			defer client.Close()
			a := newGateway(t, "a", addressOf(v))
			a.decide()
			a.wantRecent(1)
			now := time.Now()
			id := fmt.Sprint(now.Add(time.Hour).UnixMilli(), "-0")
			if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, ID: id,
				Values: []any{field, sealed(token, now, 3)}}).Err(); err != nil {
				t.Fatal(err)
			}
			a.wantOthers("d3")
			test.while(a, func() {
				if err := client.Del(t.Context(), stream).Err(); err != nil {
					t.Fatal(err)
				}
			})
			appendRaw(t, client, sealed(token, now, 4))
			harness.WaitFor(t, limit, "the sidecar to read", func() (bool, string) {
				return a.member.reader.taken.Load() != nil, "nothing yet"
			})
			a.member.publisher.beat()
			a.wantOthers("d3", "d4")
		})
	}
}
