package sidecar

import (
	"strings"
	"testing"
	"time"
)

func TestDrainIsOver(t *testing.T) {
	type look struct {
		after    time.Duration
		inFlight int
		connects bool
		over     bool // what is to be said
	}
	tests := []struct {
		name  string
		asked bool
		looks []look
	}{
		{"the Envoy is there", false, []look{{0, 0, true, false}, {time.Hour, 0, true, false}}},
		{"the Envoy ends", false, []look{{0, 3, true, false}, {1, 3, false, false}, {goneFor - 1, 3, false, false},
			{goneFor, 3, false, true}}},
		{"the Envoy was never there", false, []look{{0, 0, false, false}, {goneFor, 0, false, true}}},
		{"the Envoy restarts", false, []look{{0, 1, false, false}, {goneFor - 1, 1, true, false},
			{goneFor, 1, false, false}, {2*goneFor - 1, 1, false, true}}},
		{"an answer may yet be stored", true, []look{{0, 1, true, false}, {time.Minute, 1, false, false},
			{time.Minute + 1, 0, false, true}}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var l look
			start := time.Unix(1, 0)
			d := &drain{asked: tc.asked, inFlight: func() int { return l.inFlight },
				connects: func() bool { return l.connects }, lastAt: start}
			for _, l = range tc.looks {
				if over := d.over(start.Add(l.after)); over != l.over {
					t.Errorf("after %v: got %v, want %v", l.after, over, l.over)
				}
			}
		})
	}
}

// TestEndsAtOnce: without a time to drain, and when there is no Envoy, the sidecar ends when it is told to.
func TestEndsAtOnce(t *testing.T) {
	t.Parallel()
	unread := "dns: [{name: a.example, port: 1, server: '" + freeAddress(t) + "'}]"
	for _, tc := range []struct{ name, drain, discovery, log string }{
		{"no time", "", "static: []", "push failed"},
		{"no Envoy", ", drain: 1h", "static: []", "push failed"},
		{"no Envoy, and nothing to push", ", drain: 1h", unread, "discovery failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			gone := "http://" + freeAddress(t)
			r := startWith(t, func(admin string) string {
				return "envoy: {ingest: '" + gone + "', token: " + testToken + tc.drain + "}\n" +
					"admin: {address: '" + admin + "'}\ndiscovery: {" + tc.discovery + "}\n"
			})
			eventually(t, tc.log, func() bool { return strings.Contains(r.log.String(), tc.log) })
			if code := r.stop(); code != 0 {
				t.Errorf("exit code: got %d, want 0", code)
			}
		})
	}
}
