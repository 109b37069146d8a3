package main_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/journal"
)

const relayPath = "/pintle/v1/events"

// relay posts a message with events of another gateway.
func (w *worker) relay(message []byte, headers ...[2]string) *wazerohost.Stream {
	s := w.ingest.Request(set(ingestHeaders(), append([][2]string{{":path", relayPath}}, headers...)...), false)
	s.Body(message, true)
	return s
}

// relayed is a message that takes a gateway from one mark to the next.
func relayed(after uint64, events ...journal.Event) []byte {
	var encoded []byte
	for i := range events {
		encoded = journal.AppendEvent(encoded, &events[i])
	}
	return journal.AppendRelay(nil, journal.Mark{High: after}, journal.Mark{High: after + 1}, encoded)
}

// TestEventsOfOtherGateways: what another gateway sent keeps all workers from an endpoint until its answer begins, and
// followers can tell it from this gateway's.
func TestEventsOfOtherGateways(t *testing.T) {
	const document = `{"plugins":[{"type":"token-load-scorer","parameters":{"queueThresholdTokens":4000}},{"type":"queue-scorer"}],
		"schedulingProfiles":[{"name":"default","plugins":[{"pluginRef":"token-load-scorer"},{"pluginRef":"queue-scorer","weight":0.1}]}]}`
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 2, m.configuration(document, `"load":{"correction":false},`))
		p := newPool(1, 0)
		g.publish(p)
		primary := journal.EndpointID(p.Topology.Endpoints[1].Name)
		decision := journal.Event{Kind: journal.Decision, Time: g.clock.Now().UnixNano(), Instance: 99, Lease: 1,
			Primary: primary, PrimaryLoad: 2000}
		end := decision
		end.Kind, end.PrimaryLoad = journal.Completion, 0
		post := func(message []byte, status string, mark uint64) {
			t.Helper()
			s := g.workers[0].relay(message)
			now, _, ok := journal.ParseRelayed(s.ResponseBody())
			if got := s.ResponseHeaders().Get(":status"); got != status || !ok || now.Mark.High != mark {
				t.Errorf("got %s %x, want %s and mark %d", got, s.ResponseBody(), status, mark)
			}
		}
		post(relayed(0, decision), "200", 1)
		post(relayed(0, decision), "409", 1)
		for _, w := range g.workers {
			g.wantRanked(w.ask(), address(0))
		}
		f := &follower{gateway: g}
		if all := f.events(); len(all) != 3 || !all[0].Relayed || all[1].Relayed {
			t.Errorf("followed %+v, want one of another gateway and two of this", all)
		}
		post(relayed(1, end), "200", 2)
		for _, w := range g.workers {
			g.wantRanked(w.ask(), address(1))
		}
	})
}

// TestEventsBringTheJournalBack: whoever posts events gets what is new in the journal with the answer, if it asks.
func TestEventsBringTheJournalBack(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		g.publish(newPool(1, 0))
		g.workers[0].relay(relayed(0, journal.Event{Kind: journal.Decision, Instance: 99, Lease: 1}),
			[2]string{":path", relayPath + "?at=0.0.0.0"}) // somebody follows
		g.workers[0].ask()
		var f journal.Follower
		var all []journal.Event
		for _, mark := range []uint64{1, 2} {
			at := f.At()
			query := fmt.Sprintf("?at=%d.%d.%d.%d", at.Epoch, at.Page, at.Seq, at.Offset)
			s := g.workers[0].relay(relayed(mark, journal.Event{Kind: journal.Decision, Instance: 99, Lease: 7}),
				[2]string{":path", relayPath + query})
			now, rest, ok := journal.ParseRelayed(s.ResponseBody())
			a, whole := journal.ParseAnswer(rest)
			if !ok || !whole || now.Mark.High != mark+1 || now.Epoch != a.Epoch {
				t.Fatalf("got %s %x", s.ResponseHeaders().Get(":status"), s.ResponseBody())
			}
			f.Read(&a, func(e *journal.Event, _ journal.Position) { all = append(all, *e) })
		}
		if len(all) != 4 || !all[0].Relayed || all[1].Relayed || all[2].Lease != 7 || all[3].Lease != 7 {
			t.Errorf("followed %+v, want another's decision, one of this gateway, and two of another", all)
		}
	})
}

// TestEventsBeyondNumbers: events with numbers that the module's int has no room for harm no worker, though all read
// them, and so does each that is made anew.
func TestEventsBeyondNumbers(t *testing.T) {
	g := newGateway(t, modes[2], 2, modes[2].configuration(`{"plugins":[{"type":"prefix-cache-scorer"}]}`, ""))
	p := newPool(1, 0)
	g.publish(p)
	const chain = 256
	held := journal.Event{Kind: journal.Held, Time: g.clock.Now().UnixNano(), Held: math.MaxUint32,
		Primary: journal.EndpointID(p.Topology.Endpoints[0].Name),
		Chains:  []journal.Chain{{ID: chain, Blocks: []uint64{1, 2}}}}
	steps := journal.AppendEvent(nil,
		&journal.Event{Kind: journal.Decision, Instance: 99, Lease: 1, Steps: []byte("steps")})
	// Behind the fixed part and the section's head.
	binary.LittleEndian.PutUint32(steps[int(binary.LittleEndian.Uint16(steps[4:]))+8:], math.MaxUint32)
	message := journal.AppendRelay(nil, journal.Mark{}, journal.Mark{High: 1}, journal.AppendEvent(steps, &held))
	if got := g.workers[0].relay(message).ResponseHeaders(); got.Get(":status") != "200" ||
		got.Get("content-type") != "application/octet-stream" {
		t.Errorf("got %v for the events, want 200 and bytes", got)
	}
	for i, w := range g.workers {
		if !w.ask().Sent() {
			t.Errorf("worker %d: no request leaves, want one to", i)
		}
	}
}

func TestEventsThatAreRefused(t *testing.T) {
	good := relayed(0, journal.Event{Kind: journal.Decision, Instance: 99, Lease: 1})
	tests := []struct {
		name    string
		headers [][2]string
		body    []byte
		status  int
		code    string
	}{
		{"no token", [][2]string{{"authorization", ""}}, good, 401, "unauthorized"},
		{"GET", [][2]string{{":method", "GET"}}, good, 405, "method"},
		{"a position that is none", [][2]string{{":path", relayPath + "?at=1"}}, good, 400, "bad_position"},
		{"cut short", nil, good[:len(good)-1], 400, "malformed"},
		{"a snapshot", nil, newPool(1).message(t, (&gateway{}).next()), 400, "malformed"},
		{"empty", nil, nil, 400, "malformed"},
	}
	g := newGateway(t, modes[2], 1, modes[2].configuration(byQueue, ""))
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			e := wantError(t, g.workers[0].relay(tc.body, tc.headers...), tc.status, tc.code)
			if e.Error.Type != "events_refused" {
				t.Errorf("type: got %q, want events_refused", e.Error.Type)
			}
		})
	}
	if _, _, ok := g.host.SharedData("pintle/v1/relayed"); ok {
		t.Error("what was refused left a mark")
	}
}
