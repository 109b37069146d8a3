package replicate

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestServerDies has the stream's server end, and begin anew without what it held. What was decided meanwhile comes
// through.
func TestServerDies(t *testing.T) {
	v := harness.StartValkey(t, "--appendonly", "no")
	a, b := newGateway(t, "a", addressOf(v)), newGateway(t, "b", addressOf(v))
	a.decide()
	b.wantOthers("d1")
	v.Kill()
	a.decide()
	harness.WaitFor(t, limit, "the failure to show", func() (bool, string) {
		s := a.member.Now(time.Now())
		return len(s.Failures) > 0, fmt.Sprint(s)
	})
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
	harness.WaitFor(t, limit, "b to have all", func() (bool, string) {
		got := b.others()
		slices.Sort(got)
		return reflect.DeepEqual(got, []string{"d1", "d2", "d3"}), fmt.Sprint(got)
	})
}

// TestServerLosesWhatASilentGatewaySaid has the stream vanish when its gateway has nothing more to say.
func TestServerLosesWhatASilentGatewaySaid(t *testing.T) {
	v := harness.StartValkey(t)
	client := v.Client()
	defer client.Close()
	a := newGateway(t, "a", addressOf(v))
	a.decide()
	p := &a.member.publisher
	harness.WaitFor(t, limit, "the batch", func() (bool, string) {
		p.appending.Lock()
		defer p.appending.Unlock()
		return len(p.recent) == 1, fmt.Sprint(len(p.recent))
	})
	if err := client.Del(t.Context(), stream).Err(); err != nil {
		t.Fatal(err)
	}
	p.beat()
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
	appended := func(batches int) {
		t.Helper()
		harness.WaitFor(t, limit, "the batches", func() (bool, string) {
			p.appending.Lock()
			defer p.appending.Unlock()
			return len(p.recent) == batches, fmt.Sprint(len(p.recent))
		})
	}
	a.decide()
	appended(1)
	p.appending.Lock()
	p.recent[0].appended = time.Now().Add(-2 * recentAge)
	p.appending.Unlock()
	memory("1")
	a.decide()
	harness.WaitFor(t, limit, "the failure to show", func() (bool, string) {
		s := a.member.Now(time.Now())
		return len(s.Failures) > 0, fmt.Sprint(s)
	})
	memory("0")
	appended(2)
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	a.decide()
	b := newGateway(t, "b", addressOf(v))
	harness.WaitFor(t, limit, "b to have all", func() (bool, string) {
		got := b.others()
		slices.Sort(got)
		return reflect.DeepEqual(got, []string{"d1", "d2", "d3"}), fmt.Sprint(got)
	})
}
