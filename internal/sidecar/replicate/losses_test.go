package replicate

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
