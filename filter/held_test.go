package main_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// heldLimit lets a worker hold one MiB.
const heldLimit = `"held":{"maxBytes":1048576},`

// hold begins a request and sends n bytes of a body that does not end.
func (w *worker) hold(n int) *wazerohost.Stream {
	s := w.requests.Request(wazerohost.Headers{{":path", "/v1/completions"}}, false)
	s.Body(append([]byte(`{"prompt":"`), bytes.Repeat([]byte("a"), n-11)...), false)
	return s
}

// refusedHeld counts the streams that were refused to make room, and checks what they were told.
func refusedHeld(t *testing.T, streams []*wazerohost.Stream) int {
	t.Helper()
	n := 0
	for _, s := range streams {
		if s.LocalReply() == nil {
			continue
		}
		n++
		wantError(t, s, 503, "held_too_much")
		if got := s.ResponseHeaders().Get("retry-after"); got != "1" {
			t.Errorf("retry-after: got %q, want 1", got)
		}
	}
	return n
}

// TestHeldBodiesMakeRoom: uploads that stand still give way to those that come, and others are served all the while.
func TestHeldBodiesMakeRoom(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, heldLimit))
		g.publish(newPool(0))
		w := g.workers[0]
		var still []*wazerohost.Stream
		for range 100 {
			still = append(still, w.hold(64<<10))
			g.clock.Advance(10 * time.Millisecond)
			w.Tick()
			other := w.hold(40 << 10)
			w.Tick()
			g.clock.Advance(time.Millisecond)
			other.Body([]byte(`","model":"m"}`), true)
			g.wantRanked(other, address(0))
			other.Finish()
		}
		if got := refusedHeld(t, still); got != 86 {
			t.Errorf("100 uploads of 64 KiB beside short requests: %d were refused, want 86", got)
		}
		if got := refusedHeld(t, still[86:]); got != 0 {
			t.Errorf("of the latest 14 %d were refused, want 0", got)
		}
		if got, _ := g.host.Counter("pintle.requests.held_too_much"); got != 86 {
			t.Errorf("pintle.requests.held_too_much: got %d, want 86", got)
		}
	})
}

// TestHeldBodyAlone: a body that takes all of the room for itself is refused, whatever else is held.
func TestHeldBodyAlone(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, heldLimit))
		g.publish(newPool(0))
		w := g.workers[0]
		small := w.hold(1 << 10)
		s := w.hold(1 << 10)
		for range 40 {
			g.clock.Advance(time.Millisecond)
			s.Body(bytes.Repeat([]byte("a"), 32<<10), false)
		}
		wantError(t, s, 503, "held_too_much")
		small.Body([]byte(`"}`), true)
		if small.LocalReply().Status == 503 {
			t.Errorf("beside it: got %v, want it judged", small)
		}
	})
}

// TestWaitingBodiesMakeRoom: what waits for the first snapshot counts, and what was refused does not wait on.
func TestWaitingBodiesMakeRoom(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, heldLimit+waits))
		w := g.workers[0]
		var all []*wazerohost.Stream
		for range 20 {
			s := w.hold(100 << 10)
			s.Body([]byte(`","model":"m"}`), true)
			all = append(all, s)
			g.clock.Advance(10 * time.Millisecond)
			w.Tick()
		}
		if got := refusedHeld(t, all); got != 10 {
			t.Errorf("20 requests of 100 KiB: %d were refused, want 10", got)
		}
		g.publish(newPool(0))
		w.Tick()
		for i, s := range all[10:] {
			g.wantRanked(s, address(0))
			if s.Stuck() {
				t.Errorf("%d: %v", i, s)
			}
		}
	})
}

// TestHeldSum: whatever comes, goes, ends and is refused, what is held is never more than the limit and a frame, and is
// not counted once it has gone.
func TestHeldSum(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, heldLimit))
		g.publish(newPool(0))
		w := g.workers[0]
		random := rand.New(rand.NewPCG(1, 2))
		held := map[*wazerohost.Stream]int{}
		for range 4000 {
			s, n := w.anyOf(random, held)
			if s.Ended() {
				delete(held, s)
				continue
			}
			switch random.IntN(6) {
			case 0:
				s.Abort()
				delete(held, s)
			case 1:
				s.Body([]byte(`"}`), true)
				delete(held, s)
			default:
				more := random.IntN(60 << 10)
				s.Body(bytes.Repeat([]byte("a"), more), false)
				held[s] = n + more
			}
			sum := 0
			for s, n := range held {
				if !s.Ended() {
					sum += n
				}
			}
			if sum > 3<<19 {
				t.Fatalf("%d bytes are held, want at most a MiB and a half", sum)
			}
			if random.IntN(20) == 0 {
				w.Tick()
			}
			g.clock.Advance(time.Millisecond)
		}
		for s := range held {
			s.Abort()
		}
		s := w.hold(1 << 20)
		if s.Ended() {
			t.Errorf("a MiB after all have gone: got %v, want it held: something is still counted", s)
		}
		s.Body([]byte(`","model":"m"}`), true)
		g.wantRanked(s, address(0))
	})
}

// anyOf is one of the held streams, or a new one.
func (w *worker) anyOf(random *rand.Rand, held map[*wazerohost.Stream]int) (*wazerohost.Stream, int) {
	if random.IntN(3) > 0 {
		for s, n := range held {
			return s, n
		}
	}
	s := w.hold(12)
	held[s] = 12
	return s, 12
}

// TestHeldBodiesHaveABound: between two ticks what is held grows by half of the limit at most, and even a request that
// holds little is refused beyond.
func TestHeldBodiesHaveABound(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, heldLimit))
		g.publish(newPool(0))
		all := []*wazerohost.Stream{g.workers[0].hold(900 << 10)}
		for range 12 {
			all = append(all, g.workers[0].hold(64<<10))
		}
		if early, late := refusedHeld(t, all[:10]), refusedHeld(t, all[10:]); early != 0 || late != 3 {
			t.Errorf("of 1476 KiB requests of %d were refused, and %d of the 3 of 64 KiB after them, want 0 and 3",
				early, late)
		}
		if got := g.workers[0].requests.TickMillis(); got != 1 {
			t.Errorf("tick: got %d ms, want 1 until there is room", got)
		}
		g.workers[0].Tick()
		if n, got := refusedHeld(t, all[:10]), g.workers[0].requests.TickMillis(); n == 0 || got != 1000 {
			t.Errorf("at the tick %d of those before were refused, and the next comes in %d ms; want some, and 1000", n,
				got)
		}
	})
}

// TestAskedRequestsMakeNoRoom: a request that has come whole, and for which something is asked, is not refused for one
// that is still coming, however much it has held for however long.
func TestAskedRequestsMakeNoRoom(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		k := newKeeperWith(t, m, m.configuration(fmt.Sprintf(storing, ""), heldLimit))
		w := k.workers[0]
		var asked []*wazerohost.Stream
		for range 5 {
			s := w.requests.Request(wazerohost.Headers{{":path", "/v1/responses"}}, false)
			s.Body(fmt.Appendf(nil, `{"model":"m","previous_response_id":"r","input":%q}`,
				strings.Repeat("a", 150<<10)), true)
			asked = append(asked, s)
		}
		k.clock.Advance(time.Second)
		coming := w.hold(400 << 10)
		if coming.Ended() {
			t.Fatalf("before the tick: got %v, want it held", coming)
		}
		w.Tick()
		if n := refusedHeld(t, []*wazerohost.Stream{coming}); n != 1 {
			t.Errorf("what is still coming: got %v, want it refused", coming)
		}
		k.serve()
		for _, s := range asked {
			k.wantUnknown(s, "previous_response_not_found", "previous_response_id")
		}
	})
}

// TestRoomIsMadeInAnotherPlugin: a plug-in that has a request of another one of its VM refused goes on as itself.
func TestRoomIsMadeInAnotherPlugin(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		g := newGateway(t, m, 1, m.configuration(byQueue, heldLimit))
		g.publish(newPool(0))
		w := g.workers[0]
		other := &worker{requests: w.ingest}
		still := other.hold(800 << 10)
		g.clock.Advance(time.Second)
		w.hold(300 << 10)
		for _, step := range []struct {
			name              string
			refused, own, its int
		}{{"before the tick", 0, 1, 1000}, {"behind it", 1, 1000, 1000}} {
			if got := refusedHeld(t, []*wazerohost.Stream{still}); got != step.refused {
				t.Errorf("%s: got %d requests refused, want %d", step.name, got, step.refused)
			}
			if own, its := w.requests.TickMillis(), w.ingest.TickMillis(); own != step.own || its != step.its {
				t.Errorf("%s: got ticks every %d and %d ms, want %d and %d", step.name, own, its, step.own, step.its)
			}
			w.Tick()
		}
	})
}
