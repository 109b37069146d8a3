package main_test

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/snapshot"
)

func TestWorkersSeeOneSnapshot(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 2, m.configuration(byQueue, ""))
		for _, best := range []int{1, 0, 2} {
			p := newPool(5, 5, 5)
			p.Load.Endpoints[best].WaitingRequests = 0
			g.publish(p)
			for _, w := range g.workers {
				g.wantRanked(w.ask(), address(best))
			}
		}
		p := newPool(5, 5, 5)
		p.Load.Endpoints[1].WaitingRequests = 0
		if s := g.workers[1].post(p.loadMessage(t, g.next())); s.ResponseHeaders().Get(":status") != "204" || s.Sent() {
			t.Errorf("load alone: got %v %s, want 204", s.ResponseHeaders(), s.ResponseBody())
		}
		for _, w := range g.workers {
			g.wantRanked(w.ask(), address(1))
		}
	})
}

// stored is the snapshot as all workers see it.
func (g *gateway) stored() string {
	all := ""
	for _, key := range []string{"topology", "load", "version"} {
		value, change, ok := g.host.SharedData("pintle/v1/" + key)
		all += fmt.Sprintf("%s %x %d %v\n", key, value, change, ok)
	}
	return all
}

// set returns headers with some replaced; an empty value removes.
func set(headers wazerohost.Headers, fields ...[2]string) wazerohost.Headers {
	for _, field := range fields {
		var kept wazerohost.Headers
		for _, h := range headers {
			if h[0] != field[0] {
				kept = append(kept, h)
			}
		}
		if field[1] != "" {
			kept = append(kept, field)
		}
		headers = kept
	}
	return headers
}

// ingestMessages say what is to be done about a snapshot that is refused, by the code.
var ingestMessages = map[string]string{
	"epoch_ahead":      "the epoch lies years ahead of this machine's clock",
	"older":            "a newer snapshot is already there",
	"unknown_topology": "the load belongs to a topology that is not here; send both",
	"malformed":        "the snapshot is refused and changes nothing",
}

func TestIngestRefusals(t *testing.T) {
	current := snapshot.Position{Epoch: 17, Sequence: 19}
	newer := snapshot.Position{Epoch: 17, Sequence: 20}
	good := newPool(1, 2).message(t, newer)
	flipped := bytes.Clone(good)
	flipped[60] ^= 1
	another := bytes.Clone(good)
	another[4] = 3
	tests := []struct {
		name    string
		headers [][2]string
		from    string
		body    []byte
		status  int
		code    string
	}{
		{"no token", [][2]string{{"authorization", ""}}, "", good, 401, "unauthorized"},
		{"another token", [][2]string{{"authorization", "Bearer test-tokem"}}, "", good, 401, "unauthorized"},
		{"a longer token", [][2]string{{"authorization", "Bearer " + token + "x"}}, "", good, 401, "unauthorized"},
		{"a token cut short", [][2]string{{"authorization", "Bearer test"}}, "", good, 401, "unauthorized"},
		{"no token after the scheme", [][2]string{{"authorization", "Bearer"}}, "", good, 401, "unauthorized"},
		{"another scheme", [][2]string{{"authorization", "Basic " + token}}, "", good, 401, "unauthorized"},
		{"another machine", nil, "10.0.0.9:4000", good, 403, "foreign_peer"},
		{"an address that was only said, and has no port", nil, "127.0.0.1:0", good, 403, "foreign_peer"},
		{"an address that only begins alike", nil, "[::11]:4000", good, 403, "foreign_peer"},
		{"PUT", [][2]string{{":method", "PUT"}}, "", good, 405, "method"},
		{"a length over the limit", [][2]string{{"content-length", fmt.Sprint(snapshot.MaxMessageBytes + 1)}}, "", nil,
			413, "too_large"},
		{"the longest length, and another body",
			[][2]string{{"content-length", fmt.Sprint(snapshot.MaxMessageBytes)}}, "", good[:20], 400, "truncated"},
		{"a length that is none", [][2]string{{"content-length", "-1"}}, "", nil, 413, "too_large"},
		{"more than the limit", nil, "", make([]byte, snapshot.MaxMessageBytes+1), 413, "too_large"},
		{"a record that claims more than the limit", nil, "",
			append([]byte("PNTL\x01\x02\x00\x00\xff\xff\xff\x7f"), make([]byte, 40)...), 413, "too_large"},
		{"the same position", nil, "", newPool(1, 2).message(t, current), 409, "older"},
		{"an older sequence", nil, "", newPool(1, 2).message(t, snapshot.Position{Epoch: 17, Sequence: 18}), 409,
			"older"},
		{"an older epoch", nil, "", newPool(1, 2).message(t, snapshot.Position{Epoch: 16, Sequence: 99}), 409, "older"},
		{"a load of an unknown topology", nil, "", newPool(1, 2).loadMessage(t, newer), 409, "unknown_topology"},
		{"nothing", nil, "", []byte{}, 400, "truncated"},
		{"a message cut short", nil, "", good[:len(good)-1], 400, "truncated"},
		{"a header cut short", nil, "", good[:20], 400, "truncated"},
		{"a flipped bit", nil, "", flipped, 400, "checksum_mismatch"},
		{"something else", nil, "", bytes.Repeat([]byte("GET / "), 20), 400, "foreign"},
		{"another version", nil, "", another, 400, "unsupported_version"},
		{"bytes after the end", nil, "", append(bytes.Clone(good), 0), 400, "truncated"},
		{"two topologies", nil, "", append(bytes.Clone(good), good...), 400, "malformed"},
		{"an epoch years ahead", nil, "", newPool(1, 2).message(t, snapshot.Position{Epoch: 1 << 63, Sequence: 1}), 400,
			"epoch_ahead"},
	}
	for _, hold := range []mode{modes[0], modes[2]} {
		g := newGateway(t, hold, 1, hold.configuration(byQueue, ""))
		first := g.workers[0].post(newPool(3, 2, 1).message(t, current))
		if first.ResponseHeaders().Get(":status") != "204" {
			t.Fatalf("first snapshot: got %s", first.ResponseBody())
		}
		version := first.ResponseHeaders().Get("x-pintle-version")
		if version == "" || version == "unknown" {
			t.Errorf("version: got %q, want that of the build", version)
		}
		before := g.stored()
		for i, tc := range tests {
			t.Run(hold.hold+" "+tc.name, func(t *testing.T) {
				s := g.workers[0].ingest.Request(set(ingestHeaders(), tc.headers...), false,
					wazerohost.From(cmp.Or(tc.from, "127.0.0.1:4000")))
				sendFrames(s, tc.body, 1<<20)
				e := wantError(t, s, tc.status, tc.code)
				early := tc.status == 401 || tc.status == 403 || tc.status == 405 ||
					tc.status == 413 && len(tc.headers) > 0
				if got, _ := g.host.Counter("pintle.snapshots.refused"); got != uint64(i+1) {
					t.Errorf("pintle.snapshots.refused: got %d, want %d", got, i+1)
				}
				if e.Error.Type != "snapshot_refused" {
					t.Errorf("type: got %q, want snapshot_refused", e.Error.Type)
				}
				if got := s.ResponseHeaders().Get("x-pintle-version"); early && got != "" || !early && got != version {
					t.Errorf("version: got %q, want %q: %v", got, version, !early)
				}
				if want, told := ingestMessages[tc.code]; told && e.Error.Message != want {
					t.Errorf("message: got %q, want %q", e.Error.Message, want)
				}
				if tc.code == "older" &&
					(e.Current == nil || e.Current.Epoch != current.Epoch || e.Current.Sequence != current.Sequence) {
					t.Errorf("current: got %+v, want %+v", e.Current, current)
				}
				if after := g.stored(); after != before {
					t.Errorf("what is stored changed:\n got %s\nwant %s", after, before)
				}
				g.wantRanked(g.workers[0].ask(), address(2))
			})
		}
	}
}

// sendFrames sends a body in frames of at most size bytes, until the stream has been answered.
func sendFrames(s *wazerohost.Stream, body []byte, size int) {
	for !s.Ended() {
		n := min(size, len(body))
		s.Body(body[:n], n == len(body))
		if body = body[n:]; len(body) == 0 {
			return
		}
	}
}

func TestIngestAccepts(t *testing.T) {
	tests := []struct {
		name    string
		headers [][2]string
		from    string
		send    func(s *wazerohost.Stream, message []byte)
	}{
		{"one frame", nil, "127.0.0.1:1", func(s *wazerohost.Stream, m []byte) { s.Body(m, true) }},
		{"one byte after another", nil, "127.9.9.9:1", func(s *wazerohost.Stream, m []byte) { sendFrames(s, m, 1) }},
		{"an empty last frame", nil, "[::1]:1",
			func(s *wazerohost.Stream, m []byte) { s.Body(m, false); s.Body(nil, true) }},
		{"an address of IPv4 in one of IPv6", nil, "[::ffff:127.0.0.1]:1",
			func(s *wazerohost.Stream, m []byte) { s.Body(m, true) }},
		{"trailers", nil, "127.0.0.1:1",
			func(s *wazerohost.Stream, m []byte) { s.Body(m, false); s.Trailers(wazerohost.Headers{{"t", "1"}}) }},
		{"a scheme in lower case", [][2]string{{"authorization", "bearer " + token}}, "127.0.0.1:1",
			func(s *wazerohost.Stream, m []byte) { s.Body(m, true) }},
	}
	for _, hold := range []mode{modes[0], modes[2]} {
		g := newGateway(t, hold, 1, hold.configuration(byQueue, ""))
		for i, tc := range tests {
			t.Run(hold.hold+" "+tc.name, func(t *testing.T) {
				p := newPool(9, 9, 9, 9, 9, 9)
				p.Load.Endpoints[i].WaitingRequests = 0
				s := g.workers[0].ingest.Request(set(ingestHeaders(), tc.headers...), false, wazerohost.From(tc.from))
				tc.send(s, p.message(t, g.next()))
				if h := s.ResponseHeaders(); h.Get(":status") != "204" || len(s.ResponseBody()) != 0 || s.Sent() ||
					!s.Ended() {
					t.Errorf("answer: got %v %q, want 204 and nothing", h, s.ResponseBody())
				}
				g.wantRanked(g.workers[0].ask(), address(i))
			})
		}
	}
}

func TestIngestWithoutBody(t *testing.T) {
	for _, m := range []mode{modes[0], modes[2]} {
		g := newGateway(t, m, 1, m.configuration(byQueue, ""))
		wantError(t, g.workers[0].ingest.Request(ingestHeaders(), true), 405, "method")
		wantError(t, g.workers[0].ingest.Request(set(ingestHeaders(), [2]string{":method", "POST"}), true), 400,
			"truncated")
		s := g.workers[0].ingest.Request(ingestHeaders(), false)
		s.Trailers(wazerohost.Headers{{"t", "1"}})
		wantError(t, s, 400, "truncated")
	}
}

// TestConcurrentPosts has publishers race on two workers, each snapshot with a topology of its own. Whatever the order,
// what is stored in the end is one whole snapshot: the newest.
func TestConcurrentPosts(t *testing.T) {
	const rounds = 500
	m := modes[2]
	g := newGateway(t, m, 2, m.configuration(byQueue, ""))
	g.publish(sequencePool(1))
	for round := range rounds {
		newest := uint64(2*round + 3)
		var all sync.WaitGroup
		for i := range g.workers {
			w := g.workers[(round+i)%2]
			sequence := newest - uint64(i)
			message := sequencePool(sequence).message(t, snapshot.Position{Epoch: 1, Sequence: sequence})
			all.Add(1)
			go func() {
				defer all.Done()
				s := w.post(message)
				if status := s.ResponseHeaders().Get(":status"); status != "204" &&
					(status != "409" || sequence == newest) {
					t.Errorf("post %d of %d: got %s %s, want 204, or 409 for the older", sequence, newest, status,
						s.ResponseBody())
				}
				w.ask().Finish()
			}()
		}
		all.Wait()
		for i, w := range g.workers {
			if got, want := g.ranked(w.ask()), sequencePool(newest).Topology.Endpoints[1].Address; got != want {
				t.Fatalf("round %d, worker %d: got %q, want %q; stored:\n%s", round, i, got, want, g.stored())
			}
		}
	}
}

// sequencePool is a pool whose addresses tell its sequence; its second endpoint is the best.
func sequencePool(sequence uint64) *pool {
	p := newPool(7, 1, 8)
	for i := range p.Topology.Endpoints {
		p.Topology.Endpoints[i].Address = strings.Replace(address(i), ":8000", fmt.Sprintf(":%d", 1000+sequence), 1)
	}
	return p
}
