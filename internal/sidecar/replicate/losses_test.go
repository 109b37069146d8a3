package replicate

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
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
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
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
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	a.decide()
	b := newGateway(t, "b", addressOf(v))
	b.wantInAnyOrder("d1", "d2", "d3")
}
