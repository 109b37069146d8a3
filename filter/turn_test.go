package main_test

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
)

// TestTheClockGoesBackWhileTellingFails: a response that the sidecar did not take is not told the difference later.
func TestTheClockGoesBackWhileTellingFails(t *testing.T) {
	k := newKeeper(t, modes[0], "")
	w := k.workers[0]
	s := k.turn(`{"model":"m","input":"a"}`)
	s.Respond(wazerohost.Headers{{":status", "200"}}, false)
	s.RespondBody([]byte(`{"id":"r","status":"completed","output":[]}`), true)
	s.Finish()
	w.Tick()
	w.Calls()[0].Unreachable()
	w.Tick()
	if n := len(w.Calls()); n != 0 {
		t.Errorf("at once: the sidecar was told %d times, want never", n)
	}
	k.clock.Advance(-time.Hour)
	w.Tick()
	if n := k.serve(); n != 1 {
		t.Errorf("once the clock was set back: the sidecar was told %d times, want once", n)
	}
	k.wantCounters(map[string]uint64{"pintle.responses.stored": 1, "pintle.responses.not_stored": 0})
}
