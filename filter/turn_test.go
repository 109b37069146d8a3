package main_test

import (
	"fmt"
	"strings"
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

// TestTheLogIsNotFilled: why the sidecar answers nothing is said once a minute, however many requests ask for it.
func TestTheLogIsNotFilled(t *testing.T) {
	for _, tc := range []struct {
		name, text, extra string
		ask               func(k *keeper)
	}{
		{"no such cluster", "cannot be asked", `"sidecar":{"cluster":"nowhere"},`, func(k *keeper) {
			wantError(t, k.fetch("GET", "/v1/responses/r"), 503, "store_unavailable")
		}},
		{"another token", "refuses the token", "", func(k *keeper) {
			w := k.workers[0]
			s := w.requests.Request(wazerohost.Headers{{":path", "/v1/responses/r"}}, true)
			w.Calls()[0].Respond(wazerohost.Headers{{":status", "401"}}, nil, nil)
			wantError(t, s, 503, "store_unavailable")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := modes[0]
			k := newKeeperWith(t, m, m.configuration(fmt.Sprintf(storing, ""), tc.extra))
			for _, step := range []struct {
				after time.Duration
				lines int
			}{{0, 1}, {0, 1}, {59 * time.Second, 1}, {time.Second, 2}, {-time.Hour, 3}} {
				k.clock.Advance(step.after)
				tc.ask(k)
				lines := 0
				for _, line := range k.host.Logs(wazerohost.Warn) {
					if strings.Contains(line.Text, tc.text) {
						lines++
					}
				}
				if lines != step.lines {
					t.Errorf("%v later: got %d lines, want %d", step.after, lines, step.lines)
				}
			}
		})
	}
}
