package picker

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// near is how much two sums of scores may differ that are the same.
const near = 1e-6

// Each document decides 2,000 requests, over 50 fleets.
const (
	fleets            = 50
	requestsPerFleet  = 40
	serversOfAFleet   = 6
	prefixesOfPrompts = 12
)

func TestPicker(t *testing.T) {
	if os.Getenv("PINTLE_PICKER") == "" {
		t.Skip("PINTLE_PICKER names no picker to compare with")
	}
	for _, d := range slices.Concat(documents, selections, stages) {
		t.Run(d.name, func(t *testing.T) {
			pair := startPair(t, &d)
			random := rand.New(rand.NewPCG(1, 2))
			for fleet := range fleets {
				shuffle(t, random, pair.servers)
				pair.own.sample()
				for range requestsPerFleet {
					pair.both(t, fleet, d.next(random, pair.servers))
				}
			}
			pair.endAll(t)
			t.Logf("%d of %d requests compared, over %d fleets; the best differ for %d, sums for %d, %d were refused",
				pair.compared, fleets*requestsPerFleet, fleets, pair.wrong, pair.inexact, pair.refused)
		})
	}
}

// pair is the two that get the same, and what came of it.
type pair struct {
	document *document
	servers  []*server
	picker   *picker
	own      *pintle
	flying   []flight

	compared, wrong, inexact, refused int
}

// flight is a request without the end of its answer.
type flight struct {
	*exchange
	lease uint32
	at    uint64
}

func startPair(t testing.TB, d *document) *pair {
	t.Helper()
	p := &pair{document: d, servers: startServers(t, serversOfAFleet, d.atOneAddress)}
	for i, s := range p.servers {
		if d.labels != nil {
			s.labels = d.labels(i)
		}
	}
	p.picker, p.own = startPicker(t, d.text, p.servers), newPintle(t, d.text, p.servers)
	return p
}

// both has both decide a request and compares, and has it served where the picker said.
func (p *pair) both(t testing.TB, fleet int, r request) {
	t.Helper()
	got, want := p.own.decide(t, r), p.picker.ask(t, r)
	if p.document.comparable == nil || p.document.comparable(p.own) {
		p.compared++
		difference := p.compare(got, want.answer)
		if difference != "" {
			if p.wrong++; p.wrong <= 5 {
				t.Errorf("fleet %d, %v %s: %s\n%s", fleet, r.headers, r.body[:min(len(r.body), 80)], difference,
					p.table(got, want.answer))
			}
		} else if !sameTotals(got, want.answer) {
			if p.inexact++; p.inexact <= 2 {
				t.Logf("fleet %d, %v %s %s: other sums\n%s", fleet, r.headers, r.path, r.body[:min(len(r.body), 80)],
					p.table(got, want.answer))
			}
		}
	}
	if want.status != 0 || got.status != 0 {
		p.refused++
		want.end(t)
		p.land(t, got)
		return
	}
	lease := p.own.serve(t, want.answer, got)
	p.flying = append(p.flying, flight{want, lease, p.own.event.Primary})
	p.land(t, got)
}

// land has answers end: the one of the last request or, where the document says so, one or the other of some time ago.
func (p *pair) land(t testing.TB, got *answer) {
	t.Helper()
	if len(p.flying) == 0 {
		return
	}
	if p.document.inFlight == 0 {
		f := p.flying[0]
		p.flying = p.flying[:0]
		f.end(t)
		p.own.end(f.lease, f.at)
		if a, b := got.response["x-session-token"], f.response["x-session-token"]; a != b {
			t.Errorf("the answer's token is %q, the picker's %q", a, b)
		}
		return
	}
	if n := len(p.flying); n > p.document.inFlight/2 {
		f := p.flying[n-p.document.inFlight/2]
		if f.response["sent"] == "" {
			f.begin(t)
			p.own.begin(f.lease, f.at)
			time.Sleep(2 * time.Millisecond) // the picker counts the first piece of an answer beside
		}
	}
	if len(p.flying) > p.document.inFlight || got.status != 0 {
		f := p.flying[0]
		p.flying = slices.Delete(p.flying, 0, 1)
		f.end(t)
		p.own.end(f.lease, f.at)
	}
}

func (p *pair) endAll(t testing.TB) {
	t.Helper()
	for _, f := range p.flying {
		f.end(t)
	}
}

// compare says how two answers differ in what is best, empty for not at all.
func (p *pair) compare(got, want *answer) string {
	if got.status != want.status || got.dropped != want.dropped {
		return fmt.Sprintf("status %d %s, the picker's is %d %s", got.status, got.dropped, want.status, want.dropped)
	}
	if a, b := best(got.totals), best(want.totals); len(b) > 0 && !slices.Equal(a, b) {
		return fmt.Sprintf("best are %v, the picker's are %v", a, b)
	}
	if a, b := sorted(got.ranked), sorted(want.ranked); len(b) > 1 && !slices.Equal(a, b) {
		return fmt.Sprintf("candidates are %v, the picker's are %v", a, b)
	}
	const prefill, encode, rank = "x-prefiller-host-port", "x-encoder-hosts-ports", "x-data-parallel-host-port"
	if a, b := got.headers[prefill], want.headers[prefill]; (a == "") != (b == "") {
		return fmt.Sprintf("the prefill stage is at %q, the picker's at %q", a, b)
	} else if b != "" && !slices.Contains(best(p.own.totals["prefill"]), b) {
		return fmt.Sprintf("for prefill the best are %v, the picker's is %q", best(p.own.totals["prefill"]), b)
	}
	if a, b := list(got.headers[encode]), list(want.headers[encode]); !slices.Equal(a, b) {
		return fmt.Sprintf("the encode stage is at %v, the picker's at %v", a, b)
	}
	if b := want.headers[rank]; (got.headers[rank] == "") != (b == "") || b != "" &&
		!slices.Contains(best(got.totals), b) {
		return fmt.Sprintf("the rank is %q, the picker's %q", got.headers[rank], b)
	}
	return ""
}

// best are the addresses with the greatest sum.
func best(totals map[string]float64) (addresses []string) {
	most := math.Inf(-1)
	for _, total := range totals {
		most = max(most, total)
	}
	for address, total := range totals {
		if total >= most-near {
			addresses = append(addresses, address)
		}
	}
	slices.Sort(addresses)
	return addresses
}

func sorted(addresses []string) []string { return slices.Sorted(slices.Values(addresses)) }

func list(header string) []string {
	if header == "" {
		return nil
	}
	return sorted(strings.Split(header, ","))
}

// sameTotals reports whether the sums of all endpoints are the same.
func sameTotals(got, want *answer) bool {
	alike := func(a, b float64) bool { return math.Abs(a-b) <= near }
	return len(want.totals) == 0 || maps.EqualFunc(got.totals, want.totals, alike)
}

func (p *pair) table(got, want *answer) string {
	var out strings.Builder
	for _, s := range p.servers {
		l := s.reported.Load()
		fmt.Fprintf(&out, "%s %s %v waiting %d running %d usage %v heat %v adapters %v %v: %v, the picker %v\n", s.name,
			s.address, s.labels, l.waiting, l.running, l.usage, l.heat, l.active, l.queued, got.totals[s.address],
			want.totals[s.address])
	}
	return out.String()
}
