package main_test

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/journal"
)

// TestGatewaysAgree: two gateways that tell each other their events decide as one worker does that has seen the same.
func TestGatewaysAgree(t *testing.T) {
	m := modes[2]
	for name, document := range harness.Agreeing() {
		t.Run(name, func(t *testing.T) {
			configuration := m.configuration(document, compared)
			one, two := newScene(t, m, 1, configuration, 1, false), newPair(t, m, configuration, 1)
			for step := range 600 {
				wantSame(t, step, one.step(), two.step())
				two.relay()
			}
		})
	}
}

// pair is a scene of two gateways of one worker each.
type pair struct {
	*scene
	relays [2]relay
}

func newPair(t *testing.T, m mode, configuration string, seed uint64) *pair {
	first := newGateway(t, m, 1, configuration)
	options := m.options(first.clock)
	options.Seed = 2
	second := &gateway{t: t, mode: m, clock: first.clock, host: newHost(t, options)}
	second.start(1, configuration)
	p := &pair{
		scene:  sceneAt(first, seed),
		relays: [2]relay{newRelay(first, second.workers[0]), newRelay(second, first.workers[0])},
	}
	p.others = []*gateway{second}
	first.workers = append(first.workers, second.workers[0])
	p.change()
	for i := range 3 {
		p.clock.Advance(time.Microsecond)
		p.workers[i%2].ask().Finish()
		p.relay()
	}
	return p
}

func (p *pair) relay() {
	p.relays[0].relay()
	p.relays[1].relay()
}

// relay tells a gateway's events to a worker of another one.
type relay struct {
	t    testing.TB
	from *journal.Journal
	to   *worker
	mark uint64
}

func newRelay(from *gateway, to *worker) relay {
	from.t.Helper()
	j, err := journal.New(hostStore{from.host}, journal.Options{Instance: 1})
	if err != nil {
		from.t.Fatal(err)
	}
	return relay{t: from.t, from: j, to: to}
}

func (r *relay) relay() {
	r.t.Helper()
	var news []byte
	r.from.Poll()
	for e := r.from.Next(); e != nil; e = r.from.Next() {
		if !e.Relayed && e.Kind != journal.Missed {
			news = journal.AppendEvent(news, e)
		}
	}
	if len(news) == 0 {
		return
	}
	s := r.to.relay(journal.AppendRelay(nil, journal.Mark{High: r.mark}, journal.Mark{High: r.mark + 1}, news))
	if r.mark++; s.ResponseHeaders().Get(":status") != "200" {
		r.t.Fatalf("the events were answered %s", s.ResponseHeaders().Get(":status"))
	}
}
