package state

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// askAs sends a request as ask does, as an event has it.
func (f *fleet) askAs(endpoint int, e journal.Event) {
	e.Kind, e.Primary = journal.Decision, uint64(endpoint+1)
	if e.Time == 0 {
		e.Time = f.now
	}
	f.Apply(&e)
}

// hang sends n requests of different clients to endpoint 0, which it does not answer.
func (f *fleet) hang(n int) (leases []uint32) {
	for i := range n {
		leases = append(leases, f.ask(0, uint64(i)))
	}
	return leases
}

// TestSilenceSince: since when endpoint 0 is silent, while endpoint 1 answers.
func TestSilenceSince(t *testing.T) {
	const second = time.Second
	broken := journal.Event{Status: 500, Ended: journal.EndedWhole, TTFTMicros: 1, DurationMicros: 1}
	for _, test := range []struct {
		name string
		play func(f *fleet)
		// ago is for how long it is silent, 0 for not at all; sampled is how old its sample is, by which it is idle.
		ago, sampled time.Duration
	}{
		{"three requests", func(f *fleet) { f.hang(3); f.pass(2 * second); f.answered(1, 50, second) }, 3 * second, 0},
		{"of two clients, the last one's in between", func(f *fleet) {
			for _, client := range []uint64{1, 2, 1} {
				f.ask(0, client)
			}
			f.pass(2 * second)
			f.answered(1, 50, second)
		}, 3 * second, 0},
		{"two requests", func(f *fleet) { f.hang(2); f.pass(2 * second); f.answered(1, 50, second) }, 0, 0},
		{"since the first of them", func(f *fleet) {
			for range 3 {
				f.hang(2)
				f.pass(second)
			}
			f.answered(1, 50, second)
		}, 4 * second, 0},
		{"since the first of them, told last", func(f *fleet) {
			f.hang(3)
			f.askAs(0, journal.Event{Time: f.now - int64(5*second), Instance: 2, Lease: 1, Client: 9})
			f.pass(2 * second)
			f.answered(1, 50, second)
		}, 8 * second, 0},
		{"a sample one second younger", func(f *fleet) { f.hang(3); f.pass(2 * second); f.answered(1, 50, second) },
			3 * second, 2 * second},
		{"a sample that is hardly younger",
			func(f *fleet) { f.hang(3); f.pass(2 * second); f.answered(1, 50, second) }, 0, 2*second + 1},
		{"others answer what was asked before", func(f *fleet) {
			lease := f.ask(1, 50)
			f.pass(second)
			f.hang(3)
			f.pass(2 * second)
			f.end(1, 50, lease, journal.Event{Status: 200, TTFTMicros: 1, DurationMicros: 3_000_000})
		}, 0, 0},
		{"others begin to answer what was asked before", func(f *fleet) {
			f.pass(second)
			f.hang(3)
			f.pass(2 * second)
			f.Apply(&journal.Event{Kind: journal.Began, Time: f.now, Primary: 2, Client: 50, Status: 200,
				TTFTMicros: 3_000_000})
		}, 0, 0},
		{"others were answered within the last minute", func(f *fleet) {
			f.answered(1, 50, second)
			f.pass(50 * second)
			for range 3 {
				f.ask(0, 7)
			}
			f.pass(8 * second)
			f.answered(1, 7, second)
		}, 0, 0},
		{"a client is alone since a minute", func(f *fleet) {
			f.answered(1, 50, second)
			f.pass(50 * second)
			for range 3 {
				f.ask(0, 7)
			}
			f.pass(9 * second)
			f.answered(1, 7, second)
		}, 10 * second, 0},
		{"another writer is gone", func(f *fleet) {
			f.hang(3)
			f.Apply(&journal.Event{Kind: journal.Gone, Instance: 2})
			f.pass(2 * second)
			f.answered(1, 50, second)
		}, 3 * second, 0},
		{"failures are no silence", func(f *fleet) {
			leases := f.hang(4)
			f.pass(2 * second)
			f.end(0, 1, leases[1], broken)
			f.end(0, 3, leases[3], broken)
			f.answered(1, 50, second)
		}, 0, 0},
		{"failures of another worker's requests", func(f *fleet) {
			for i, lease := range f.hang(3) {
				f.Apply(&journal.Event{Kind: journal.Completion, Time: f.now, Instance: 2, Lease: lease, Primary: 1,
					Client: uint64(i), Status: 500, Ended: journal.EndedWhole, TTFTMicros: 1, DurationMicros: 1})
			}
			f.pass(2 * second)
			f.answered(1, 50, second)
		}, 3 * second, 0},
		{"after requests that nobody remembers any longer", func(f *fleet) {
			f.hang(mostWaiting)
			f.pass(time.Duration(silenceAge))
			f.hang(3)
			f.pass(2 * second)
			f.answered(1, 50, second)
		}, 3 * second, 0},
		{"an answer of before, told late", func(f *fleet) {
			f.pass(second)
			f.hang(3)
			f.Apply(&journal.Event{Kind: journal.Completion, Time: f.now - 1, Instance: 2, Lease: 1, Primary: 1,
				Client: 9, Status: 200, Ended: journal.EndedWhole, TTFTMicros: 1, DurationMicros: 1})
			f.pass(2 * second)
			f.answered(1, 50, second)
		}, 3 * second, 0},
		{"an answer at the same time", func(f *fleet) {
			f.hang(3)
			f.end(0, 9, f.ask(0, 9), journal.Event{Status: 200, Ended: journal.EndedWhole})
			f.pass(2 * second)
			f.answered(1, 50, second)
		}, 0, 0},
		{"requests that are too old", func(f *fleet) {
			f.hang(3)
			f.pass(time.Duration(silenceAge) - second)
			f.answered(1, 50, second)
		}, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFleet(2)
			test.play(f)
			since := f.Failures.SilentSince(0, f.now, f.now-int64(test.sampled), 0)
			if got := time.Duration(f.now - since); test.ago == 0 && since != 0 || test.ago != 0 && got != test.ago {
				t.Errorf("got %d, %v ago, want %v ago, 0 for not silent", since, got, test.ago)
			}
		})
	}
}

// TestSilenceAfterAClockSetBack: what has been waiting counts as before.
func TestSilenceAfterAClockSetBack(t *testing.T) {
	f := newFleet(2)
	f.hang(3)
	f.pass(time.Second)
	f.now -= int64(time.Hour)
	f.pass(0)
	f.pass(time.Second)
	f.answered(1, 50, time.Second)
	if f.Failures.SilentSince(0, f.now, f.now, 0) == 0 {
		t.Error("not silent, want silent")
	}
}

// TestPatience: how long answers of late took says how long a request may wait, by its kind, and for some minutes.
func TestPatience(t *testing.T) {
	slow := func(f *fleet, streamed bool) {
		f.pass(6 * time.Second)
		f.Apply(&journal.Event{Kind: journal.Completion, Time: f.now, Primary: 2, Client: 50, Streamed: streamed,
			Status: 200, Ended: journal.EndedWhole, TTFTMicros: 6_000_000, DurationMicros: 6_000_000})
	}
	for _, test := range []struct {
		name           string
		slow, streamed bool // whether the slow answer is a stream, and the requests that wait are
		between        time.Duration
		wait           time.Duration
		silent         bool
	}{
		{"less than twice as long", false, false, 0, 10 * time.Second, false},
		{"twice as long", false, false, 0, 12 * time.Second, true},
		{"streams, less than twice as long", true, true, 0, 10 * time.Second, false},
		{"streams, twice as long", true, true, 0, 12 * time.Second, true},
		{"answers of another kind", true, false, 0, 12 * time.Second, false},
		{"streams beside answers of another kind", false, true, 0, 12 * time.Second, false},
		{"soon after, less than twice as long", false, false, 30 * time.Second, 7 * time.Second, false},
		{"minutes after, the least", false, false, 5 * time.Minute, 5 * time.Second, true},
		{"minutes after, less than the least", false, false, 5 * time.Minute, 5*time.Second - 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFleet(2)
			slow(f, test.slow)
			f.pass(test.between)
			for i := range uint32(3) {
				f.askAs(0, journal.Event{Instance: 1, Lease: i + 1, Client: uint64(i), Streamed: test.streamed})
			}
			// Another one is asked later, answers at once, and tells nothing of how long answers of either kind take.
			f.Apply(&journal.Event{Kind: journal.Completion, Time: f.now + 1, Primary: 2, Client: 50,
				Streamed: test.slow, Status: 200, Ended: journal.EndedWhole})
			f.now += int64(test.wait)
			if got := f.Failures.SilentSince(0, f.now, 0, 0) != 0; got != test.silent {
				t.Errorf("silent %v, want %v", got, test.silent)
			}
		})
	}
}
