package sidecar

import (
	"strings"
	"testing"
	"time"
)

func TestDrainWatch(t *testing.T) {
	type look struct {
		after    time.Duration
		inFlight int
		reached  bool
		// quiet and gone are what is to be said.
		quiet, gone bool
	}
	tests := []struct {
		name  string
		looks []look
	}{
		{"nothing in flight", []look{
			{0, 0, true, false, false}, {quietFor - 1, 0, true, false, false}, {quietFor, 0, true, true, false}}},
		{"something in flight for long", []look{
			{0, 1, true, false, false}, {time.Hour, 1, true, false, false},
			{time.Hour + quietFor - 1, 0, true, false, false}, {time.Hour + quietFor, 0, true, true, false}}},
		{"another request begins in between", []look{
			{0, 0, true, false, false}, {quietFor - 1, 2, true, false, false}, {quietFor, 0, true, false, false},
			{2*quietFor - 2, 0, true, false, false}, {2*quietFor - 1, 0, true, true, false}}},
		{"the Envoy is gone, whatever was in flight", []look{
			{0, 3, true, false, false}, {1, 3, false, false, false}, {goneFor - 1, 3, false, false, false},
			{goneFor, 3, false, false, true}}},
		{"the Envoy was never there", []look{{0, 0, false, false, false}, {goneFor, 0, false, false, true}}},
		{"the Envoy restarts", []look{
			{0, 1, false, false, false}, {goneFor - 1, 1, true, false, false}, {goneFor, 1, false, false, false},
			{2*goneFor - 1, 1, false, false, true}}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			start := time.Unix(1, 0)
			w := &drainWatch{since: start}
			for _, l := range tc.looks {
				now := start.Add(l.after)
				quiet, gone := w.quiet(now, l.inFlight), w.gone(now, l.reached)
				if quiet != l.quiet || gone != l.gone {
					t.Errorf("after %v: got quiet %v, gone %v, want %v, %v", l.after, quiet, gone, l.quiet, l.gone)
				}
			}
		})
	}
}

// TestEndsAtOnce: without a time to drain, and when there is no Envoy, the sidecar ends when it is told to.
func TestEndsAtOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, drain string }{{"no time", ""}, {"no Envoy", ", drain: 1h"}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			gone := "http://" + freeAddress(t)
			r := startWith(t, func(admin string) string {
				return "envoy: {ingest: '" + gone + "', token: " + testToken + tc.drain + "}\n" +
					"admin: {address: '" + admin + "'}\ndiscovery: {static: []}\n"
			})
			eventually(t, "a push", func() bool { return strings.Contains(r.log.String(), "push failed") })
			if code := r.stop(); code != 0 {
				t.Errorf("exit code: got %d, want 0", code)
			}
		})
	}
}
