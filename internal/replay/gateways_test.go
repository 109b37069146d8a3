package replay

import (
	"reflect"
	"testing"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/journal"
)

// followedUp are sessions of two turns: what follows begins with all of the first one and its answer.
func followedUp(sessions int) (all []Request) {
	const units, answer, unit, pause = 8, 2, 64, 2.5
	ask := func(session int, at float64, length int) Request {
		var blocks []uint64
		for i := range length {
			blocks = append(blocks, uint64(session*100+i))
		}
		return Request{At: at, Model: "m", Input: length * unit, Output: answer * unit, Prompt: Prompt{
			Bytes: length * unit * bytesPerToken, UnitBytes: unit * bytesPerToken, Blocks: blocks}}
	}
	for i := range sessions {
		at := float64(i) * 0.05
		first := ask(i, at, units)
		for n := range answer {
			first.Answer = append(first.Answer, uint64(i*100+units+n))
		}
		all = append(all, first, ask(i, at+pause, units+answer+1))
	}
	return all
}

// TestGateways: gateways that learn at once of each other find cached what one finds, those that learn of it later than
// clients come back less, as those that never do.
func TestGateways(t *testing.T) {
	const config = `{"plugins": [{"type": "prefix-cache-scorer"}, {"type": "active-request-scorer"},
		{"type": "max-score-picker"}], "schedulingProfiles": [{"name": "default", "plugins": [
		{"pluginRef": "prefix-cache-scorer", "weight": 3}, {"pluginRef": "active-request-scorer"},
		{"pluginRef": "max-score-picker"}]}]}`
	requests := followedUp(200)
	hits := func(gateways int, lag float64) float64 {
		o := Options{Servers: DefaultServers(), Seed: 1, Lag: lag}
		for range gateways - 1 {
			c, err := pluginconfig.Parse([]byte(config))
			if err != nil {
				t.Fatal(err)
			}
			o.Others = append(o.Others, c.Plan)
		}
		first := run(t, config, requests, o)
		if again := run(t, config, requests, o); len(o.Others) == 0 && !reflect.DeepEqual(first, again) {
			t.Error("the same requests were decided otherwise")
		}
		return Summarise("", first, o.Servers.Count, Limits{}).Hits
	}
	one := hits(1, 0)
	if want := 10.0 / 19; one < want-0.02 || one > want+0.001 {
		t.Errorf("one gateway finds %.3f of all tokens cached, want the answers, too: %.3f", one, want)
	}
	for _, tc := range []struct{ lag, least, most float64 }{
		{0, 0.98, 1.01}, {0.1, 0.98, 1.01}, {3, 0, 0.6}, {-1, 0, 0.6},
	} {
		if got := hits(4, tc.lag) / one; got < tc.least || got > tc.most {
			t.Errorf("with a lag of %v s four gateways find %.3f of what one does, want %v to %v", tc.lag, got,
				tc.least, tc.most)
		}
	}
}

// TestLate: events come when they are due, in the order of that, with all that they hold.
func TestLate(t *testing.T) {
	var l late
	for i, due := range []int64{30, 10, 20, 20} {
		e := journal.Event{Kind: journal.Decision, Lease: uint32(i)}
		e.Chains = []journal.Chain{{ID: 1, Blocks: []uint64{7}}}
		l.add(due, i, &e)
		e.Chains[0].Blocks[0] = 8 // the caller's
	}
	var got []int
	for _, now := range []int64{5, 20, 40} {
		for e, from := l.next(now); e != nil; e, from = l.next(now) {
			if int(e.Lease) != from || e.Chains[0].Blocks[0] != 7 {
				t.Errorf("of %d came %+v", from, e)
			}
			got = append(got, from)
		}
		got = append(got, -1)
	}
	if want := []int{-1, 1, 2, 3, -1, 0, -1}; !reflect.DeepEqual(got, want) {
		t.Errorf("came %v, want %v", got, want)
	}
}
