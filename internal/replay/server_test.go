package replay

import (
	"math"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// unheard is told what a server does, and does nothing.
type unheard struct{}

func (unheard) began(*server, *request) {}
func (unheard) ended(*server, *request) {}

// TestUsage: a request that runs holds its prompt and what is out of its answer, though room is kept for all of it. It
// may be a block more or less, as a block that is begun is not told from one that is full.
func TestUsage(t *testing.T) {
	like := Servers{MaxRunning: 2, BlockTokens: 16, Blocks: 100, PrefillTokensPerSecond: 160,
		TimePerOutputToken: 100 * time.Millisecond}
	s := newServer(0, &like, unheard{})
	s.send(&request{input: 160, output: 161, size: 16})
	for _, test := range []struct {
		name string
		at   float64
		want float64
	}{
		{"its prompt is processed", 0.5, 0.11}, {"it answers", 1.01, 0.11}, {"half of it is out", 9.01, 0.16},
		{"it is over", 18, 0},
	} {
		if s.advance(test.at); !(math.Abs(s.usage()-test.want) <= 0.01+1e-9) {
			t.Errorf("%s: got %v of the cache in use, want %v", test.name, s.usage(), test.want)
		}
	}
}

// TestPrefillAmongOthers: prompts wait for each other outside of the batch if so many may be in it, and answers slow
// down while one is processed if that is how the servers are.
func TestPrefillAmongOthers(t *testing.T) {
	like := Servers{Count: 1, MaxRunning: 8, BlockTokens: 16, Blocks: 1000, PrefillTokensPerSecond: 1000,
		TimePerOutputToken: 10 * time.Millisecond}
	for _, test := range []struct {
		name string
		like func(s *Servers)
		// whole is how long the first answer takes; waiting are the requests that have not been taken into the batch
		// when the second prompt is processed.
		whole   float64
		waiting int
	}{
		{"beside each other", func(*Servers) {}, 3, 0},
		{"one in the batch", func(s *Servers) { s.MaxPrefills = 1 }, 3, 1},
		{"decoding at half the pace", func(s *Servers) { s.WhilePrefill = 0.5 }, 3.5, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			servers := like
			test.like(&servers)
			s := newServer(0, &servers, unheard{})
			first := &request{input: 1000, output: 201, size: 16}
			for _, r := range []*request{first, {input: 500, output: 1, size: 16}, {input: 500, output: 1, size: 16}} {
				s.send(r)
			}
			s.advance(1.25)
			if got := s.waiting.len(); got != test.waiting {
				t.Errorf("got %d requests that wait outside of the batch, want %d", got, test.waiting)
			}
			s.advance(test.whole - 0.01)
			before := len(s.decoding)
			s.advance(test.whole + 0.01)
			if before != 1 || len(s.decoding) != 0 {
				t.Errorf("before %v s %d requests answer, afterwards %d; want one and none", test.whole, before,
					len(s.decoding))
			}
		})
	}
}

// TestUsersOfARecording: who sent a request is told with its decision, as no header tells it again.
func TestUsersOfARecording(t *testing.T) {
	requests := []Request{{Model: "m", Input: 10, Output: 1, User: 7}, {At: 1, Model: "m", Input: 10, Output: 1}}
	var users []uint64
	run(t, random, requests, Options{Servers: DefaultServers(), Events: func(e *journal.Event) {
		if e.Kind == journal.Decision {
			users = append(users, e.User)
		}
	}})
	if len(users) != 2 || users[0] != 7 || users[1] != 0 {
		t.Errorf("decisions are told of the users %v, want 7 and nobody", users)
	}
}
