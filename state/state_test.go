package state

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// all is a State of all parts, small enough for its limits to be reached.
func all(seed uint64) *State {
	return New(Options{
		InFlight: true, MaxLeases: 64, RequestTimeout: time.Second, Models: []uint64{1, 2},
		Prefix: true, PrefixCapacity: 30, PrefixLimits: PrefixLimits{Entries: 100},
		Cold: true, ColdSize: 4,
		Latency: true, ModelLatency: true, WindowAge: time.Second,
		Failures: true,
		Seed:     seed,
	})
}

// drive turns bytes into calls of a State and checks after each that nothing is out of bounds.
func drive(t *testing.T, s *State, data []byte) {
	next := func() uint64 {
		if len(data) == 0 {
			return 0
		}
		v := data[0]
		data = data[1:]
		if v == 0xff && len(data) >= 8 {
			wide := binary.LittleEndian.Uint64(data)
			data = data[8:]
			return wide
		}
		return uint64(v)
	}
	for len(data) > 0 {
		switch next() % 8 {
		case 0:
			ids := make([]uint64, next()%12)
			for i := range ids {
				ids[i] = next() % 16
			}
			s.SetEndpoints(ids)
		case 1:
			s.Expire(int64(next() * 1e7))
		case 2:
			s.Apply(&journal.Event{Kind: journal.Gone, Instance: next() % 4})
		default:
			e := journal.Event{
				Kind: journal.Kind(next() % 6), Time: int64(next() * 1e7), Instance: next() % 4, Lease: uint32(next()),
				Primary: next() % 16, Prefill: next() % 16, Model: next() % 3, Cold: next()%2 == 1,
				OutputTokens: uint32(next()),
				Status:       uint16(next() * 100), TTFTMicros: uint32(next()), DurationMicros: uint32(next()),
			}
			for range next() % 4 {
				e.Encode = append(e.Encode, next()%16)
			}
			e.Chains = chains(chain(next(), int(next()%64)))
			s.Apply(&e)
		}
		checkBounds(t, s)
	}
}

func checkBounds(t *testing.T, s *State) {
	t.Helper()
	if got := s.InFlight.Leases(); got > 64 {
		t.Fatalf("got %d leases, want at most 64", got)
	}
	if got := s.Prefix.Entries(); got > 100 {
		t.Fatalf("got %d blocks, want at most 100", got)
	}
	if got := s.InFlight.OfModel(0) + s.InFlight.OfModel(1); got < 0 || got > s.InFlight.Leases() {
		t.Fatalf("got %d in flight by model with %d leases", got, s.InFlight.Leases())
	}
	probe := chain(3, 20)
	for i := range s.Endpoints.Len() {
		most := s.InFlight.Leases() * (2 + MaxCharged)
		if got := s.InFlight.InFlight(i); got < 0 || got > most {
			t.Fatalf("endpoint %d: got %d in flight with %d leases", i, got, s.InFlight.Leases())
		}
		if open := s.InFlight.OpenSince(i, 0); open > RecentTimes || open < 0 {
			t.Fatalf("endpoint %d: got %d open", i, open)
		}
		if got := s.Failures.Share(i, 0); !(got >= 0 && got <= 1) {
			t.Fatalf("endpoint %d: got a share of failures of %v", i, got)
		}
		if got := s.Prefix.Match(i, probe); got < 0 || got > len(probe) {
			t.Fatalf("endpoint %d: got a match of %d", i, got)
		}
		if s.Endpoints.ID(i) == 0 &&
			(s.InFlight.InFlight(i) != 0 || s.Prefix.Len(i) != 0 || s.Latency.TTFT.Count(i) != 0) {
			t.Fatalf("free index %d holds state", i)
		}
	}
}

func random(r *rand.Rand, n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func FuzzApply(f *testing.F) {
	r := rand.New(rand.NewPCG(19, 20))
	for range 5 {
		f.Add(random(r, 200)) // short, as each input of interest is minimised
	}
	f.Fuzz(func(t *testing.T, data []byte) { drive(t, all(1), data[:min(len(data), 1<<14)]) })
}

func TestSameEventsSameState(t *testing.T) {
	data := random(rand.New(rand.NewPCG(21, 22)), 100_000)
	a, b := all(1), all(1)
	drive(t, a, data)
	drive(t, b, data)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("two States differ after the same calls")
	}
	c := all(99)
	drive(t, c, data)
	for i := range a.Endpoints.Len() {
		for path := range uint64(64) {
			probe := chain(path, 40)
			if got, want := c.Prefix.Match(i, probe), a.Prefix.Match(i, probe); got != want {
				t.Fatalf("endpoint %d: got a match of %d with another seed, want %d", i, got, want)
			}
		}
		if got, want := c.InFlight.InFlight(i), a.InFlight.InFlight(i); got != want {
			t.Errorf("endpoint %d: got %d in flight with another seed, want %d", i, got, want)
		}
	}
}

// TestInterleavings applies the events of some writers in many orders that keep each writer's own.
func TestInterleavings(t *testing.T) {
	const writers, each = 4, 100
	r := rand.New(rand.NewPCG(23, 24))
	logs := make([][]journal.Event, writers)
	for w := range logs {
		for i := range each {
			at := int64(i)*1e6 + r.Int64N(1e6)
			e := journal.Event{Kind: journal.Decision, Time: at, Instance: uint64(w), Lease: uint32(i),
				Primary: 1 + r.Uint64N(5), Prefill: r.Uint64N(6), Model: 1 + r.Uint64N(2)}
			logs[w] = append(logs[w], e)
			if done := r.IntN(i + 1); i%2 == 0 {
				logs[w] = append(logs[w], journal.Event{
					Kind: journal.Completion, Time: at, Instance: uint64(w), Lease: uint32(done), Primary: e.Primary,
					Model:  1,
					Status: 200 + 300*uint16(r.IntN(2)), TTFTMicros: 1 + r.Uint32N(1000), DurationMicros: 5000,
					OutputTokens: 9,
				})
			}
		}
	}
	fresh := func() *State {
		s := New(Options{InFlight: true, Models: []uint64{1, 2}, Latency: true, ModelLatency: true})
		s.SetEndpoints([]uint64{1, 2, 3, 4, 5})
		interleave(r, s, logs)
		return s
	}
	first := fresh()
	for range 20 {
		s := fresh()
		compareStates(t, s, first)
		s.Expire(each*1e6 + int64(DefaultRequestTimeout))
		for i := range 5 {
			if got := s.InFlight.InFlight(i); got != 0 {
				t.Fatalf("endpoint %d at rest: got %d in flight, want 0", i, got)
			}
		}
	}
}

func interleave(r *rand.Rand, s *State, logs [][]journal.Event) {
	read := make([]int, len(logs))
	for left := len(logs); left > 0; {
		w := r.IntN(len(logs))
		for n := r.IntN(30); n > 0 && read[w] < len(logs[w]); n-- {
			e := logs[w][read[w]]
			s.Apply(&e)
			if read[w]++; read[w] == len(logs[w]) {
				left--
			}
		}
	}
}

func compareStates(t *testing.T, got, want *State) {
	t.Helper()
	for place := range 2 {
		if g, w := got.InFlight.OfModel(place), want.InFlight.OfModel(place); g != w {
			t.Fatalf("model %d: got %d in flight, want %d", place, g, w)
		}
	}
	for i := range 5 {
		if g, w := got.InFlight.InFlight(i), want.InFlight.InFlight(i); g != w {
			t.Fatalf("endpoint %d: got %d in flight, want %d", i, g, w)
		}
		if g, w := got.InFlight.OpenSince(i, 5e7), want.InFlight.OpenSince(i, 5e7); g != w {
			t.Fatalf("endpoint %d: got %d open, want %d", i, g, w)
		}
		if g, w := got.Latency.TTFT.Percentile(i, 0.9), want.Latency.TTFT.Percentile(i, 0.9); g != w {
			t.Fatalf("endpoint %d: got a TTFT of %v, want %v", i, g, w)
		}
	}
}

func TestApply(t *testing.T) {
	s := New(Options{InFlight: true, Prefix: true, Cold: true, Latency: true, ModelLatency: true, Failures: true})
	s.SetEndpoints([]uint64{11, 12, 13})
	blocks := chain(1, 10)
	s.Apply(&journal.Event{Kind: journal.Decision, Time: 5, Instance: 1, Lease: 1, Primary: 11, Prefill: 12,
		Encode: []uint64{13}, Cold: true, Chains: chains(blocks)})
	s.Apply(&journal.Event{Kind: journal.Decision, Time: 5, Instance: 2, Lease: 1, Primary: 13})
	matched, ranks := make([]int32, 3), make([]int32, 3)
	s.Prefix.MatchAll(blocks, []uint16{0, 1, 2}, matched)
	s.Cold.Ranks([]uint16{0, 1, 2}, ranks)
	if want := []int32{10, 10, 0}; !reflect.DeepEqual(matched, want) {
		t.Errorf("matches: got %v, want %v", matched, want)
	}
	if want := []int32{1, 2, 0}; !reflect.DeepEqual(ranks, want) {
		t.Errorf("cold ranks: got %v, want %v", ranks, want)
	}
	inFlight := func() [3]int { return [3]int{s.InFlight.InFlight(0), s.InFlight.InFlight(1), s.InFlight.InFlight(2)} }
	if got, want := inFlight(), [3]int{1, 1, 2}; got != want {
		t.Errorf("in flight: got %v, want %v", got, want)
	}
	s.Apply(&journal.Event{Kind: journal.Gone, Time: 6, Instance: 2})
	s.Apply(&journal.Event{Kind: journal.Missed, Missed: 3})
	if got, want := inFlight(), [3]int{1, 1, 1}; got != want {
		t.Errorf("in flight without the writer that is gone: got %v, want %v", got, want)
	}
	s.Apply(&journal.Event{Kind: journal.Completion, Time: 7, Instance: 1, Lease: 1, Primary: 11, Model: 4, Status: 200,
		TTFTMicros: 9})
	s.Apply(&journal.Event{Kind: journal.Completion, Time: 7, Instance: 1, Lease: 9, Primary: 12, Status: 503})
	if got, want := inFlight(), [3]int{}; got != want {
		t.Errorf("in flight at the end: got %v, want %v", got, want)
	}
	if got := s.Latency.TTFT.Mean(0) + s.Models.TTFT.Mean(s.Models.Index(4)); got != 18 {
		t.Errorf("TTFT of the endpoint and the model: got %v in all, want 18", got)
	}
	s.Apply(&journal.Event{Kind: journal.Completion, Time: 7, Instance: 1, Lease: 8, Primary: 13, Tried: 11,
		Status: 200})
	if got := [3]float64{s.Failures.Share(0, 7), s.Failures.Share(1, 7),
		s.Failures.Share(2, 7)}; got != [3]float64{0.125, 0.125, 0} {
		t.Errorf("shares of failures: got %v, want those of 11, which another had to stand in for, and of 12", got)
	}
	s.SetEndpoints([]uint64{12, 13})
	if got := s.Prefix.Match(0, blocks) + s.Latency.TTFT.Count(0); got != 0 {
		t.Errorf("endpoint that left: got %d blocks and samples, want none", got)
	}
}

func TestKnows(t *testing.T) {
	s := New(Options{})
	s.SetEndpoints([]uint64{11, 12})
	tests := []struct {
		name  string
		event journal.Event
		want  bool
	}{
		{"no endpoint", journal.Event{}, true},
		{"all", journal.Event{Primary: 11, Prefill: 12, Encode: []uint64{11, 12}}, true},
		{"a primary that is not there", journal.Event{Primary: 13, Prefill: 12}, false},
		{"a prefill that is not there", journal.Event{Primary: 11, Prefill: 13}, false},
		{"an encode that is not there", journal.Event{Primary: 11, Encode: []uint64{11, 13}}, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := s.Knows(&tc.event); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestPartsThatAreOff(t *testing.T) {
	s := New(Options{})
	s.SetEndpoints([]uint64{1, 2})
	s.Apply(&journal.Event{Kind: journal.Decision, Primary: 1, Chains: chains(chain(1, 3)), Cold: true})
	s.Apply(&journal.Event{Kind: journal.Completion, Primary: 1, Status: 200, TTFTMicros: 1})
	s.Expire(5)
	s.Apply(&journal.Event{Kind: journal.Gone})
	s.SetEndpoints([]uint64{2})
	if got := s.MemoryBytes(); got != 0 {
		t.Errorf("got %d bytes, want none", got)
	}
}

func TestApplyDoesNotAllocate(t *testing.T) {
	s := all(1)
	s.SetEndpoints([]uint64{1, 2, 3, 4, 5, 6})
	r := rand.New(rand.NewPCG(25, 26))
	e := journal.Event{Encode: []uint64{5, 6}, Chains: chains(chain(1, 20))}
	i := uint32(0)
	run := func() {
		for range 500 {
			i++
			e.Kind, e.Time, e.Lease = journal.Decision, int64(i)*1e6, i
			e.Primary, e.Prefill, e.Model, e.Cold = 1+r.Uint64N(6), r.Uint64N(7), 1+r.Uint64N(3), r.IntN(2) == 0
			e.Chains[0].Blocks[r.IntN(20)] = r.Uint64()
			s.Apply(&e)
			e.Kind, e.Lease, e.Status, e.TTFTMicros = journal.Completion, i-r.Uint32N(50), 200+300*uint16(r.IntN(2)),
				1+r.Uint32N(99)
			s.Apply(&e)
			s.Expire(int64(i) * 1e6)
		}
	}
	// Until as many prompts wait for answers that never come as may.
	for range 60 {
		run()
	}
	if n := testing.AllocsPerRun(5, run); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// chains is the list of one chain of blocks.
func chains(blocks []uint64) []journal.Chain { return []journal.Chain{{Blocks: blocks}} }
