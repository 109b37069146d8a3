package state

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// newInFlight has endpoints with IDs from 1 on.
func newInFlight(timeout time.Duration, leases, n int) (*InFlight, *Endpoints) {
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = uint64(i + 1)
	}
	e := new(Endpoints)
	e.Set(ids)
	f := NewInFlight(timeout, leases, 3)
	f.Resize(n)
	return f, e
}

func decision(t int64, number uint32, primary, prefill uint64, encode ...uint64) *journal.Event {
	return &journal.Event{Kind: journal.Decision, Time: t, Instance: 1, Lease: number, Primary: primary,
		Prefill: prefill, Encode: encode}
}

func completion(t int64, number uint32) *journal.Event {
	return &journal.Event{Kind: journal.Completion, Time: t, Instance: 1, Lease: number}
}

func TestInFlightCounts(t *testing.T) {
	type step func(*InFlight, *Endpoints)
	open := func(e *journal.Event) step { return func(f *InFlight, p *Endpoints) { f.Open(e, p) } }
	done := func(number uint32) step { return func(f *InFlight, _ *Endpoints) { f.Close(completion(50, number)) } }
	expire := func(now int64) step { return func(f *InFlight, _ *Endpoints) { f.Expire(now) } }
	tests := []struct {
		name   string
		steps  []step
		want   [3]int
		leases int
	}{
		{"primary", []step{open(decision(0, 1, 1, 0))}, [3]int{1}, 1},
		{"all roles", []step{open(decision(0, 1, 1, 2, 3, 3))}, [3]int{1, 1, 2}, 1},
		{"one endpoint in two roles", []step{open(decision(0, 1, 1, 1))}, [3]int{2}, 1},
		{"unknown endpoints", []step{open(decision(0, 1, 99, 98, 97, 2))}, [3]int{0, 1}, 1},
		{"completed", []step{open(decision(0, 1, 1, 2, 3)), done(1)}, [3]int{}, 0},
		{"completed twice", []step{open(decision(0, 1, 1, 0)), open(decision(0, 2, 1, 0)), done(1), done(1)}, [3]int{1},
			1},
		{"unknown completion", []step{done(5), open(decision(0, 1, 1, 0)), done(2)}, [3]int{1}, 1},
		{"decided twice", []step{open(decision(0, 1, 1, 0)), open(decision(0, 1, 2, 3))}, [3]int{0, 1, 1}, 1},
		{"a moment before the timeout", []step{open(decision(5, 1, 1, 0)), expire(104)}, [3]int{1}, 1},
		{"at the timeout", []step{open(decision(5, 1, 1, 0)), expire(105)}, [3]int{}, 0},
		{"completed after the timeout", []step{open(decision(5, 1, 1, 0)), expire(105), done(1)}, [3]int{}, 0},
		{"out of order", []step{open(decision(9, 1, 1, 0)), open(decision(5, 2, 2, 0)), open(decision(7, 3, 3, 0)),
			expire(107)}, [3]int{1}, 1},
		{"last number", []step{open(decision(0, math.MaxUint32, 1, 0)), open(decision(0, 0, 2, 0)),
			done(math.MaxUint32)}, [3]int{0, 1}, 1},
		{"extreme times", []step{open(decision(math.MaxInt64, 1, 1, 0)), open(decision(math.MinInt64, 2, 2, 0)),
			expire(math.MinInt64 + 99)}, [3]int{}, 0},
		{"clock set back", []step{open(decision(int64(time.Hour), 1, 1, 0)), expire(1000), expire(1100)}, [3]int{}, 0},
		{"table full", []step{
			open(decision(4, 1, 1, 0)), open(decision(3, 2, 2, 0)), open(decision(5, 3, 3, 0)),
			open(decision(6, 4, 3, 0)),
			open(decision(7, 5, 3, 0)),
		}, [3]int{1, 0, 3}, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, p := newInFlight(100, 4, 3)
			for _, s := range tt.steps {
				s(f, p)
			}
			for i, want := range tt.want {
				if got := f.InFlight(i); got != want {
					t.Errorf("endpoint %d: got %d in flight, want %d", i, got, want)
				}
			}
			if got := f.Leases(); got != tt.leases {
				t.Errorf("got %d leases, want %d", got, tt.leases)
			}
		})
	}
}

func TestInFlightReusesIndexes(t *testing.T) {
	f, p := newInFlight(100, 0, 2)
	f.Open(decision(0, 1, 1, 2), p)
	for _, i := range p.Set([]uint64{2, 3}) {
		f.Reset(int(i))
	}
	if i := p.Index(3); i != 0 {
		t.Fatalf("index of the new endpoint: got %d, want 0", i)
	}
	f.Open(decision(0, 2, 3, 0), p)
	f.Close(completion(1, 1))
	if got := [2]int{f.InFlight(0), f.InFlight(1)}; got != [2]int{1, 0} {
		t.Errorf("got %v in flight, want [1 0]: the old lease must not count for the new endpoint", got)
	}
}

func TestInFlightOfModels(t *testing.T) {
	type step func(*InFlight, *Endpoints)
	open := func(number uint32, model, primary uint64) step {
		return func(f *InFlight, p *Endpoints) {
			e := decision(5, number, primary, 0)
			e.Model = model
			f.Open(e, p)
		}
	}
	done := func(number uint32) step { return func(f *InFlight, _ *Endpoints) { f.Close(completion(50, number)) } }
	tests := []struct {
		name  string
		steps []step
		want  [2]int // of the models 71 and 72
	}{
		{"none", nil, [2]int{}},
		{"one each", []step{open(1, 71, 1), open(2, 72, 1)}, [2]int{1, 1}},
		{"begin and end", []step{open(1, 71, 1), open(2, 71, 2), done(1)}, [2]int{1, 0}},
		{"ends at zero", []step{open(1, 71, 1), done(1), done(1)}, [2]int{}},
		{"no model", []step{open(1, 0, 1)}, [2]int{}},
		{"a model that is not watched", []step{open(1, 73, 1), done(1)}, [2]int{}},
		{"an endpoint that is not in the pool", []step{open(1, 72, 99)}, [2]int{0, 1}},
		{"decided again for another model", []step{open(1, 71, 1), open(1, 72, 1)}, [2]int{0, 1}},
		{"a moment before the timeout", []step{open(1, 71, 1), func(f *InFlight, _ *Endpoints) { f.Expire(104) }},
			[2]int{1, 0}},
		{"at the timeout", []step{open(1, 71, 1), func(f *InFlight, _ *Endpoints) { f.Expire(105) }}, [2]int{}},
		{"the writer is gone", []step{open(1, 71, 1), func(f *InFlight, _ *Endpoints) { f.DropInstance(1) }}, [2]int{}},
		{"the endpoint left", []step{open(1, 71, 1), func(f *InFlight, _ *Endpoints) { f.Reset(0) }}, [2]int{1, 0}},
		{"table full", []step{open(1, 71, 1), open(2, 72, 1), open(3, 72, 1), open(4, 72, 1), open(5, 72, 1)},
			[2]int{0, 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, p := newInFlight(100, 4, 3)
			f.Watch([]uint64{71, 72})
			for _, s := range tt.steps {
				s(f, p)
			}
			if got := [2]int{f.OfModel(0), f.OfModel(1)}; got != tt.want {
				t.Errorf("got %v in flight, want %v", got, tt.want)
			}
			if got := f.OfModel(-1) + f.OfModel(2); got != 0 {
				t.Errorf("models that are not watched: got %d in flight, want 0", got)
			}
		})
	}
}

func TestWatchModel(t *testing.T) {
	var o Options
	for _, hash := range []uint64{9, 8, 9} {
		if place, ok := o.WatchModel(hash); !ok || place != int(9-hash) {
			t.Errorf("model %d: got place %d, %v, want %d", hash, place, ok, 9-hash)
		}
	}
	for hash := range uint64(MaxModels - 2) {
		if _, ok := o.WatchModel(100 + hash); !ok {
			t.Fatalf("model %d has no place, want MaxModels of them", hash+3)
		}
	}
	if _, ok := o.WatchModel(5); ok {
		t.Errorf("a model beyond MaxModels has a place, want none")
	}
	if place, ok := o.WatchModel(8); !ok || place != 1 {
		t.Errorf("a known model when all places are taken: got %d, %v, want 1", place, ok)
	}
}

func TestInFlightHeapOfEqualTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	f, p := newInFlight(100, 0, 1)
	for _, number := range r.Perm(5000) {
		f.Open(decision(int64(number%7), uint32(number), 1, 0), p)
	}
	for _, number := range r.Perm(5000)[:2500] {
		f.Close(completion(0, uint32(number)))
	}
	checkHeap(t, f)
	for now := int64(100); now < 107; now++ {
		f.Expire(now)
		checkHeap(t, f)
		if f.table.used > 0 && f.leases.at(*f.heap.at(0)).time+100 <= now {
			t.Fatalf("at %d: a lease of time %d is still open", now, f.leases.at(*f.heap.at(0)).time)
		}
	}
	if f.Leases() != 0 || f.InFlight(0) != 0 {
		t.Errorf("got %d leases and %d in flight, want none", f.Leases(), f.InFlight(0))
	}
}

// TestInFlightSmallHeaps checks the order after each change, where the last lease is often the second child of its
// parent.
func TestInFlightSmallHeaps(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for range 500 {
		f, p := newInFlight(1000, 0, 1)
		order := r.Perm(3 + r.IntN(8))
		for _, number := range order {
			f.Open(decision(r.Int64N(100), uint32(number), 1, 0), p)
		}
		for _, number := range order {
			f.Close(completion(0, uint32(number)))
			checkHeap(t, f)
		}
	}
}

func checkHeap(t *testing.T, f *InFlight) {
	t.Helper()
	for place := range f.table.used {
		i := *f.heap.at(place)
		if got := f.leases.at(i).place; got != place {
			t.Fatalf("the lease at place %d says %d", place, got)
		}
		if place > 0 && f.earlier(i, *f.heap.at((place - 1) / 2)) {
			t.Fatalf("the lease at place %d ends before its parent", place)
		}
	}
}

func TestRecentRemovesWhatIsThere(t *testing.T) {
	var r recent
	for _, at := range []int64{5, 1, 3, 3} {
		r.add(at)
	}
	for _, at := range []int64{0, 2, 4, 6} {
		r.remove(at)
	}
	if got := r.since(0); got != 4 {
		t.Errorf("after removing what is not there: got %d, want 4", got)
	}
	r.remove(3)
	r.remove(5)
	if got := [2]int{r.since(0), r.since(2)}; got != [2]int{2, 1} {
		t.Errorf("after removing two: got %v, want [2 1]", got)
	}
}

func TestOpenSince(t *testing.T) {
	span := func(from, to int64) (times []int64) {
		for at := from; at <= to; at++ {
			times = append(times, at)
		}
		return times
	}
	tests := []struct {
		name   string
		times  []int64
		expire int64
		since  int64
		want   int
	}{
		{"none", nil, 10, 0, 0},
		{"later only", []int64{1, 2, 3, 4}, 10, 2, 2},
		{"out of order", []int64{4, 1, 3, 2, 3}, 10, 2, 3},
		{"more than are kept", span(1, 200), 200, 0, RecentTimes},
		{"full, the latest are kept", append(span(50, 250), 10), 250, 240, 10},
		{"extremes, which end", []int64{math.MinInt64, math.MaxInt64}, math.MaxInt64, math.MinInt64, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, p := newInFlight(time.Hour, 0, 1)
			for i, at := range tt.times {
				f.Open(decision(at, uint32(i), 1, 0), p)
			}
			f.Expire(tt.expire)
			if got := f.OpenSince(0, tt.since); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestInFlightDoesNotAllocate(t *testing.T) {
	f, p := newInFlight(1000, 5000, 10)
	e := decision(0, 0, 1, 2, 3, 4)
	i := uint32(0)
	run := func() {
		for range 10_000 {
			i++
			e.Time, e.Lease, e.Primary = int64(i), i, uint64(i%10)
			f.Open(e, p)
			if i%3 == 0 {
				e.Lease = i - i%100
				f.Close(e)
			}
			f.Expire(int64(i))
		}
	}
	run()
	if n := testing.AllocsPerRun(3, run); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}
