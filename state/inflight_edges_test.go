package state

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// TestRequestTimeoutByDefault: a request is gone two minutes after it was decided, where nothing else is asked for.
func TestRequestTimeoutByDefault(t *testing.T) {
	for _, timeout := range []time.Duration{0, -1} {
		f, p := newInFlight(timeout, 0, 1)
		f.Open(decision(someTime, 1, 1, 0), p)
		for _, tc := range []struct {
			after time.Duration
			want  int
		}{{2*time.Minute - 1, 1}, {2 * time.Minute, 0}} {
			if f.Expire(someTime + int64(tc.after)); f.InFlight(0) != tc.want {
				t.Errorf("after %v: got %d, want %d", tc.after, f.InFlight(0), tc.want)
			}
		}
	}
}

// TestInFlightOutOfRange: of an endpoint that is none in the pool nothing is in flight.
func TestInFlightOutOfRange(t *testing.T) {
	f, p := newInFlight(0, 0, 2)
	f.TrackBusy()
	f.Open(decision(someTime, 1, 1, 2), p)
	f.Expire(someTime + 1)
	for _, index := range []int{-1, 2} {
		f.Reset(index)
		if n, since, last := f.InFlight(index), f.OpenSince(index, 0), f.LastDecided(index); n != 0 || since != 0 ||
			last != 0 || f.Tokens(index) != 0 || f.Busy(index) != 0 {
			t.Errorf("%d: got %d, %d, %d, %d and %v, want nothing", index, n, since, last, f.Tokens(index),
				f.Busy(index))
		}
	}
	if f.InFlight(0) != 1 || f.InFlight(1) != 1 {
		t.Errorf("got %d and %d in flight, want one each", f.InFlight(0), f.InFlight(1))
	}
}

// TestLastDecided: an endpoint was last charged by the latest decision for it, in whichever role, and with nothing
// since it was forgotten.
func TestLastDecided(t *testing.T) {
	f, p := newInFlight(0, 0, 4)
	f.Open(decision(10, 1, 1, 2, 3), p)
	f.Open(decision(30, 2, 1, 0), p)
	f.Open(decision(20, 3, 1, 2), p) // told late
	f.Close(completion(40, 2))
	for index, want := range []int64{30, 20, 10, 0} {
		if got := f.LastDecided(index); got != want {
			t.Errorf("endpoint %d: got %d, want %d", index, got, want)
		}
	}
	f.Reset(0)
	if n, since, last := f.InFlight(0), f.OpenSince(0, 0), f.LastDecided(0); n != 0 || since != 0 || last != 0 {
		t.Errorf("forgotten: got %d in flight, %d of them since, decided at %d; want nothing", n, since, last)
	}
	f.Close(completion(40, 1))
	if got := []int{f.InFlight(0), f.InFlight(1), f.InFlight(2)}; got[0] != 0 || got[1] != 1 || got[2] != 0 {
		t.Errorf("after an end of both: got %v in flight, want [0 1 0]", got)
	}
}

// TestOutlived: a request that took as long as leases last, or longer, had none at its end.
func TestOutlived(t *testing.T) {
	f, _ := newInFlight(time.Second, 0, 1)
	f.Expire(someTime)
	for _, tc := range []struct {
		name string
		took uint32 // microseconds
		ago  time.Duration
		want bool
	}{
		{"as long", 1_000_000, 0, true},
		{"hardly shorter", 999_999, 0, false},
		{"longer", 5_000_000, 0, true},
		{"unknown", 0, 0, false},
		{"unknown, and told late", 0, 2 * time.Second, false},
		{"shorter, and told late", 999_999, time.Microsecond, true},
	} {
		e := journal.Event{Kind: journal.Completion, Time: someTime - int64(tc.ago), DurationMicros: tc.took}
		if got := f.outlived(&e); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestBeganByTheEnd: of an answer of which only the end is told the beginning is worked out.
func TestBeganByTheEnd(t *testing.T) {
	for _, tc := range []struct {
		name       string
		first, all uint32 // microseconds
		before     time.Duration
		began      bool
	}{
		{name: "a second before it", first: 100_000, all: 1_100_000, before: time.Second, began: true},
		{name: "at the end", first: 100_000, all: 100_000, began: true},
		{name: "longer than all", first: 100_000, all: 50_000, began: true},
		{name: "never", all: 1_100_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, v := known()
			p := new(Endpoints)
			p.Set([]uint64{1})
			const end = someTime + int64(2*time.Second)
			e := decision(someTime, 1, 1, 0)
			e.Streamed, e.PrimaryLoad, e.InputTokens = true, 1000, 1000
			f.Open(e, p)
			f.Close(&journal.Event{Kind: journal.Completion, Time: end, Instance: 1, Lease: 1, Primary: 1, Status: 200,
				TTFTMicros: tc.first, DurationMicros: tc.all, OutputTokens: 1, Streamed: true})
			want := int64(0)
			if tc.began {
				want = end - int64(tc.before)
			}
			if v.began != want || (v.ttft.Samples == 1) != tc.began || v.unbegun != 0 || v.running != 0 {
				t.Errorf("began at %d, %d learnt, %d to begin and %v under way; want %d, and none left", v.began,
					v.ttft.Samples, v.unbegun, v.running, want)
			}
		})
	}
}

// TestAsOthersHear: a worker that applies a decision of its own arrives at what others read of it in the journal, which
// has no room for all of it.
func TestAsOthersHear(t *testing.T) {
	const many = journal.MaxEncode + 4
	ids := make([]uint64, many+1)
	own := decision(someTime, 1, many+1, 0)
	for i := range ids {
		ids[i] = uint64(i + 1)
	}
	own.Encode = ids[:many]
	for i := range uint64(journal.MaxSessions + 2) {
		own.Sessions = append(own.Sessions, journal.Session{ID: 100 + i, Endpoint: 1})
	}
	read := new(journal.Event)
	if _, ok := read.Decode(journal.AppendEvent(nil, own)); !ok {
		t.Fatal("the decision cannot be read")
	}
	states := map[*journal.Event]*State{own: nil, read: nil}
	for e := range states {
		s := New(Options{InFlight: true, Sessions: true})
		s.SetEndpoints(ids)
		s.Apply(e)
		states[e] = s
	}
	for i := range ids {
		if got, want := states[own].InFlight.InFlight(i), states[read].InFlight.InFlight(i); got != want {
			t.Errorf("endpoint %d: %d in flight, want %d as others read", i, got, want)
		}
	}
	if got, want := states[own].Sessions.Len(), states[read].Sessions.Len(); got != want {
		t.Errorf("%d sessions are bound, want %d as others read", got, want)
	}
}
