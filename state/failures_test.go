package state

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// fleet is a State of failures with some endpoints, and its time.
type fleet struct {
	*State
	now   int64
	lease uint32
}

func newFleet(endpoints int) *fleet {
	f := &fleet{State: New(Options{Failures: true, InFlight: true}), now: someTime}
	ids := make([]uint64, endpoints)
	for i := range ids {
		ids[i] = uint64(i + 1)
	}
	f.SetEndpoints(ids)
	f.Expire(f.now)
	return f
}

func (f *fleet) pass(d time.Duration) {
	f.now += int64(d)
	f.Expire(f.now)
}

// ask sends a request of a client to an endpoint, from 0 on, and returns its lease.
func (f *fleet) ask(endpoint int, client uint64) uint32 {
	f.lease++
	f.Apply(&journal.Event{Kind: journal.Decision, Time: f.now, Instance: 1, Lease: f.lease,
		Primary: uint64(endpoint + 1), Client: client})
	return f.lease
}

// end ends it as an event says that has the status and the rest.
func (f *fleet) end(endpoint int, client uint64, lease uint32, e journal.Event) {
	e.Kind, e.Time, e.Instance, e.Lease, e.Primary, e.Client = journal.Completion, f.now, 1, lease, uint64(endpoint+1),
		client
	f.Apply(&e)
}

func (f *fleet) answered(endpoint int, client uint64, took time.Duration) {
	lease := f.ask(endpoint, client)
	f.pass(took)
	micros := uint32(took.Microseconds())
	f.end(endpoint, client, lease,
		journal.Event{Status: 200, Ended: journal.EndedWhole, TTFTMicros: micros, DurationMicros: micros})
}

func (f *fleet) failed(endpoint int, client uint64) {
	f.end(endpoint, client, f.ask(endpoint, client),
		journal.Event{Status: 500, Ended: journal.EndedWhole, TTFTMicros: 1, DurationMicros: 1})
}

// One client alone cannot have an endpoint left out that answers others, however many of its requests fail and whoever
// it says to be.
func TestOneClientMovesNoShare(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []string{"one address", "one user"} {
		f := newFleet(2)
		for i := range 1000 {
			f.answered(0, 1+r.Uint64N(5), 10*time.Millisecond)
			for range 1 + r.IntN(30) {
				e := journal.Event{Kind: journal.Completion, Time: f.now, Primary: 1, Status: 500, Client: 100,
					User: r.Uint64()}
				if kind == "one user" {
					e.Client, e.User = r.Uint64(), 100
				}
				f.Apply(&e)
			}
			if share := f.Failures.Share(0, f.now); share != 0 {
				t.Fatalf("%s, round %d: share %v, want 0", kind, i, share)
			}
			f.pass(time.Duration(r.Int64N(int64(time.Second))))
		}
	}
}

// An endpoint that breaks is out after six failures, whether one client is there or many.
func TestSixFailures(t *testing.T) {
	for _, clients := range []int{1, 2, 3, 8} {
		f := newFleet(2)
		for i := range 100 {
			f.answered(0, uint64(i%clients), time.Millisecond)
		}
		for i := range 6 {
			if share := f.Failures.Share(0, f.now); share > 0.5 {
				t.Errorf("%d clients: out after %d failures, want 6", clients, i)
			}
			f.failed(0, uint64(i%clients))
		}
		if share := f.Failures.Share(0, f.now); share <= 0.5 {
			t.Errorf("%d clients: share %v after 6 failures, want more than a half", clients, share)
		}
	}
	// The others are gone, and the one that is left is believed.
	f := newFleet(2)
	f.answered(0, 1, time.Millisecond)
	f.pass(time.Duration(doubtFor))
	for range 6 {
		f.failed(0, 2)
	}
	if share := f.Failures.Share(0, f.now); share <= 0.5 {
		t.Errorf("share %v after 6 failures of the only client, want more than a half", share)
	}
}

// A server that is full refuses, and is tried again soon; one that refuses all is out as if it failed.
func TestRefusals(t *testing.T) {
	const threshold = 0.5
	full := journal.Event{Status: 503, Ended: journal.EndedWhole, TTFTMicros: 1, DurationMicros: 1}
	tooMany := journal.Event{Status: 429, Ended: journal.EndedWhole, TTFTMicros: 1, DurationMicros: 1}
	unreached := journal.Event{Status: 503, Ended: journal.EndedUnreached, DurationMicros: 1}
	broken := journal.Event{Status: 500, Ended: journal.EndedWhole, TTFTMicros: 1, DurationMicros: 1}
	next := journal.Event{Status: 200, Ended: journal.EndedWhole, TTFTMicros: 1, DurationMicros: 1, Tried: 1}
	tests := []struct {
		name  string
		works bool // it answers, up to the failures
		event journal.Event
		after time.Duration
		back  bool
	}{
		{"full", true, full, 2500 * time.Millisecond, true},
		{"full, at once", true, full, 0, false},
		{"full, says 429", true, tooMany, 2500 * time.Millisecond, true},
		{"says 429 to all", false, tooMany, 2500 * time.Millisecond, false},
		{"Envoy went on to the next", true, next, 2500 * time.Millisecond, true},
		{"refuses all", false, full, 2500 * time.Millisecond, false},
		{"Envoy always goes on", false, next, 2500 * time.Millisecond, false},
		{"Envoy answers 503", true, unreached, 2500 * time.Millisecond, false},
		{"broken", true, broken, 2500 * time.Millisecond, false},
		{"broken, after the half-life", true, broken, 20 * time.Second, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(2)
			if tt.works {
				f.answered(0, 1, time.Millisecond)
			}
			for i := range 100 {
				if out := f.Failures.Share(0, f.now) > threshold; out != (i >= 6) {
					t.Fatalf("%d failures: out %v, want %v", i, out, i >= 6)
				}
				lease, served := f.ask(0, uint64(i)), 0
				if tt.event.Tried != 0 {
					served = 1
				}
				f.end(served, uint64(i), lease, tt.event)
			}
			f.pass(tt.after)
			if back := f.Failures.Share(0, f.now) <= threshold; back != tt.back {
				t.Errorf("after %v: back %v, want %v", tt.after, back, tt.back)
			}
		})
	}
}

// Refusals do not shorten the share of other failures, and those of a server that answers nobody any more count in
// full.
func TestRefusalsAmongFailures(t *testing.T) {
	full := journal.Event{Status: 503, Ended: journal.EndedWhole}
	f := newFleet(2)
	f.answered(0, 100, time.Millisecond)
	for i := range uint64(100) {
		f.failed(0, i)
	}
	f.end(0, 1, f.ask(0, 1), full)
	f.pass(10 * time.Second)
	if share := f.Failures.Share(0, f.now); share < 0.6 {
		t.Errorf("a refusal after failures: share %v after half a half-life, want 0.7", share)
	}
	f = newFleet(2)
	f.answered(0, 100, time.Millisecond)
	for i := range uint64(110) {
		f.end(0, i, f.ask(0, i), full)
		f.pass(100 * time.Millisecond)
	}
	f.pass(10 * time.Second)
	if share := f.Failures.Share(0, f.now); share < 0.6 {
		t.Errorf("refusals long after the last answer: share %v after half a half-life, want 0.7", share)
	}
}

func TestSilence(t *testing.T) {
	const second = time.Second
	hang := func(f *fleet, clients int) (leases []uint32) {
		for i := range 8 {
			leases = append(leases, f.ask(0, uint64(i%clients)))
		}
		return leases
	}
	leave := func(f *fleet, clients int, wait time.Duration, e journal.Event) {
		leases := hang(f, clients)
		f.pass(wait)
		for i, lease := range leases {
			e.DurationMicros = uint32(wait.Microseconds())
			f.end(0, uint64(i%clients), lease, e)
		}
	}
	others := func(f *fleet) {
		for range 3 {
			f.answered(1, 50, 100*time.Millisecond)
		}
	}
	client := journal.Event{Ended: journal.EndedClient}
	tests := []struct {
		name     string
		play     func(f *fleet)
		requests int // that the endpoint's page counts, -1 without a page
		silent   bool
	}{
		{"the page denies requests of two clients", func(f *fleet) { hang(f, 2); f.pass(2 * second); others(f) }, 0,
			true},
		{"of one client", func(f *fleet) { hang(f, 1); f.pass(2 * second); others(f) }, 0, false},
		{"the page does not", func(f *fleet) { hang(f, 2); f.pass(2 * second); others(f) }, 1, false},
		{"there is no page", func(f *fleet) { hang(f, 2); f.pass(2 * second); others(f) }, -1, false},
		{"the page is hardly younger", func(f *fleet) { hang(f, 2); others(f) }, 0, false},
		{"nobody else answers", func(f *fleet) { others(f); hang(f, 2); f.pass(20 * second) }, 0, false},
		{"it answers somebody", func(f *fleet) { hang(f, 2); f.pass(2 * second); f.answered(0, 9, second); others(f) },
			0, false},
		{"patient clients leave", func(f *fleet) { others(f); leave(f, 2, 6*second, client); others(f) }, 1, true},
		{"patient clients leave, long ago",
			func(f *fleet) { others(f); leave(f, 2, 6*second, client); others(f); f.pass(20 * second) }, 1, false},
		{"Envoy loses patience", func(f *fleet) {
			others(f)
			leave(f, 2, 6*second, journal.Event{Status: 504, Ended: journal.EndedTimeout})
			others(f)
		}, 1, true},
		{"Envoy cuts answers that have begun", func(f *fleet) {
			others(f)
			leave(f, 2, 6*second, journal.Event{Status: 200, TTFTMicros: 1000, Ended: journal.EndedTimeout})
			others(f)
		}, 1, false},
		{"impatient clients leave", func(f *fleet) { others(f); leave(f, 2, 4*second, client); others(f) }, 1,
			false},
		{"answers take as long",
			func(f *fleet) { f.answered(1, 50, 4*second); leave(f, 2, 6*second, client); others(f) }, 1, false},
		{"nothing is known of answers", func(f *fleet) { leave(f, 2, 60*second, client) }, 1, false},
		{"thirty of one client leave", func(f *fleet) {
			others(f)
			for range 5 {
				leave(f, 1, 6*second, client)
			}
			others(f)
		}, 1, false},
		{"no answer for long", func(f *fleet) { others(f); hang(f, 2); f.pass(7 * second); others(f) }, 1, true},
		{"its client's lease is gone", func(f *fleet) {
			hang(f, 2)
			f.Apply(&journal.Event{Kind: journal.Gone, Instance: 1})
			f.pass(2 * second)
			others(f)
		}, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFleet(2)
			tt.play(f)
			sampledAt := f.now
			if tt.requests < 0 {
				sampledAt, tt.requests = 0, 0
			}
			if got := f.Failures.SilentSince(0, f.now, sampledAt, tt.requests) != 0; got != tt.silent {
				t.Errorf("silent %v, want %v", got, tt.silent)
			}
			if f.Failures.SilentSince(1, f.now, sampledAt, tt.requests) != 0 || f.Failures.Share(0, f.now) != 0 {
				t.Error("the other endpoint is silent too, or something failed")
			}
		})
	}
}

// A client alone is believed: there is nobody whom it could harm.
func TestSilenceToTheOnlyClient(t *testing.T) {
	f := newFleet(2)
	for range 4 {
		f.ask(0, 7)
	}
	f.pass(2 * time.Second)
	f.answered(1, 7, 100*time.Millisecond)
	if f.Failures.SilentSince(0, f.now, f.now, 0) == 0 {
		t.Error("not silent, want silent")
	}
}

// A server that died and is back has not kept silent on what Envoy asked others instead.
func TestSilenceOfRetriedRequests(t *testing.T) {
	for _, kind := range []journal.Kind{journal.Began, journal.Completion} {
		f := newFleet(2)
		for i := range uint64(8) {
			lease := f.ask(0, i%2)
			f.Apply(&journal.Event{
				Kind: kind, Time: f.now, Instance: 1, Lease: lease, Primary: 2, Tried: 1, Client: i % 2,
				Status: 200, Ended: journal.EndedWhole, TTFTMicros: 1, DurationMicros: 1,
			})
		}
		f.pass(time.Minute)
		f.answered(1, 50, 100*time.Millisecond)
		if f.Failures.SilentSince(0, f.now, f.now, 0) != 0 {
			t.Errorf("%v: silent, want not silent", kind)
		}
	}
}
