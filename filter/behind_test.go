package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// longPrompt is the i-th prompt of 16 KB.
func longPrompt(i int) string {
	return fmt.Sprintf(`{"model":"m","prompt":"%d %s"}`, i, strings.Repeat("hello world ", 1400))
}

// fillJournal has the first worker decide prompts of some n pages of the journal, and returns where the last one went.
// Four prompts fill a page.
func (g *gateway) fillJournal(n int) string {
	g.t.Helper()
	var last string
	for i := range 4 * n {
		s := g.workers[0].askBody(longPrompt(i))
		last, _, _ = strings.Cut(g.ranked(s), ",")
		s.Finish()
	}
	return last
}

// awaited has the worker tick until a request that may wait for the journal is sent.
func (w *worker) awaited(s *wazerohost.Stream) *wazerohost.Stream {
	const most = 100
	for range most {
		if s.Sent() {
			break
		}
		w.Tick()
	}
	return s
}

// wantFirst fails unless the request left for this endpoint, or the next ones in rank.
func (g *gateway) wantFirst(s *wazerohost.Stream, want string) {
	g.t.Helper()
	if got, _, _ := strings.Cut(g.ranked(s), ","); got != want {
		g.t.Errorf("got endpoint %q, want %q, which has the prompt (%v)", got, want, s)
	}
}

// TestALongJournalIsReadInParts: requests wait while a plug-in that has come later reads what others have written, a
// part in each tick, and then go by all of it.
func TestALongJournalIsReadInParts(t *testing.T) {
	const pages = 100
	eachMode(t, func(t *testing.T, m mode) {
		configuration := m.configuration(byPrefix, "")
		g := newGateway(t, m, 1, configuration)
		g.publish(newPool(0, 0, 0))
		known := g.fillJournal(pages)
		for _, kind := range requestKinds {
			t.Run(kind.name, func(t *testing.T) {
				g.start(1, configuration)
				w := g.workers[len(g.workers)-1]
				waits, asks := kind.send(w), w.askBody(longPrompt(4*pages-1))
				for tick := range 3 {
					if waits.Sent() || waits.Ended() || asks.Sent() || asks.Ended() {
						t.Fatalf("after %d ticks: got %v and %v, want held requests", tick, waits, asks)
					}
					if got := w.requests.TickMillis(); got != 1 {
						t.Errorf("after %d ticks: got a tick every %d ms, want 1", tick, got)
					}
					w.Tick()
				}
				if !waits.Sent() {
					t.Errorf("the journal is read: got %v, want a request that was sent", waits)
				}
				g.wantFirst(asks, known)
				if got := w.requests.TickMillis(); got != 1000 {
					t.Errorf("got a tick every %d ms when nobody waits, want 1000", got)
				}
			})
		}
	})
}

// TestAShortJournalIsReadAtOnce: what takes a few milliseconds is read with the first request.
func TestAShortJournalIsReadAtOnce(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byPrefix, ""))
	g.publish(newPool(0, 0, 0))
	known := g.fillJournal(20)
	g.start(1, m.configuration(byPrefix, ""))
	g.wantFirst(g.workers[1].askBody(longPrompt(79)), known)
}

// TestClientsLeaveAPluginThatReads: it goes on where it was with the next request.
func TestClientsLeaveAPluginThatReads(t *testing.T) {
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byPrefix, ""))
	g.publish(newPool(0, 0, 0))
	known := g.fillJournal(100)
	g.start(1, m.configuration(byPrefix, ""))
	w := g.workers[1]
	first := w.ask()
	w.Tick()
	first.Abort()
	if got := w.requests.TickMillis(); got != 1000 {
		t.Errorf("got a tick every %d ms when the only client has left, want 1000", got)
	}
	w.Tick()
	next := w.askBody(longPrompt(399))
	if next.Sent() || next.Ended() {
		t.Fatalf("got %v, want a held request", next)
	}
	w.Tick()
	g.wantFirst(next, known)
}

// TestOnlySoManyWaitForTheJournal: who comes then has all of it read at once.
func TestOnlySoManyWaitForTheJournal(t *testing.T) {
	const most = 1024
	m := modes[0]
	g := newGateway(t, m, 1, m.configuration(byPrefix, ""))
	g.publish(newPool(0, 0, 0))
	known := g.fillJournal(100)
	g.start(1, m.configuration(byPrefix, ""))
	w := g.workers[1]
	waiting := make([]*wazerohost.Stream, most)
	for i := range waiting {
		waiting[i] = w.ask()
	}
	g.wantFirst(w.askBody(longPrompt(399)), known)
	w.Tick()
	for i, s := range waiting {
		if !s.Sent() {
			t.Fatalf("request %d was not sent: %v", i, s)
		}
	}
}

// TestTimePassesWhileTheJournalIsRead: a worker that reads it for the first time does not take the time that this takes
// for a clock that is set back, by which what it was told of before would end sooner.
func TestTimePassesWhileTheJournalIsRead(t *testing.T) {
	for _, kind := range requestKinds {
		t.Run(kind.name, func(t *testing.T) {
			wantInFlight(t, 0, func(w *worker) { kind.send(w).Finish() })
		})
	}
	t.Run("ticks", func(t *testing.T) {
		wantInFlight(t, 100, func(w *worker) {
			w.ask().Abort()
			for range 4 {
				w.Tick()
			}
		})
	})
}

// wantInFlight fails unless a worker that reads a journal of some pages more counts what another has in flight for as
// long as that does.
func wantInFlight(t *testing.T, pages int, read func(w *worker)) {
	t.Helper()
	const longest = 2 * time.Minute // that a request is taken to last
	m := modes[0]
	configuration := m.configuration(`{"plugins":[{"type":"least-request"}]}`, `"stale":{"policy":"last"},`)
	g := newGateway(t, m, 1, configuration)
	g.publish(newPool(0, 0))
	begins := g.clock.Now()
	busy, _, _ := strings.Cut(g.ranked(g.workers[0].ask()), ",")
	g.fillJournal(pages)
	g.start(1, configuration)
	w := g.workers[1]
	g.clock.Run(time.Second)
	read(w)
	g.clock.Run(0)
	g.clock.Advance(begins.Add(longest - time.Second).Sub(g.clock.Now()))
	for i := range 8 { // by chance where both have none
		s := w.ask()
		if got, _, _ := strings.Cut(g.ranked(s), ","); got == busy {
			t.Fatalf("request %d: got %s, want the other one for a second more", i, got)
		}
		s.Finish()
	}
}
