package e2e

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestStaleMetrics: what becomes of an endpoint whose samples are old follows the configured policy, and no policy
// stops traffic.
func TestStaleMetrics(t *testing.T) {
	const old = time.Minute
	allOld := func(f *fixture) []harness.Endpoint {
		endpoints := f.pool("sim-0")
		for i := range endpoints {
			endpoints[i].Age = old
		}
		return endpoints
	}
	bestOld := func(f *fixture) []harness.Endpoint {
		endpoints := f.pool("sim-0", "sim-1")
		endpoints[0].Age = old
		endpoints[0].Waiting, endpoints[1].Waiting = 0, 5
		return endpoints
	}
	tests := []struct {
		name, listener string
		endpoints      func(*fixture) []harness.Endpoint
		want           []string
	}{
		{"all old, neutral", "neutral", allOld, []string{"sim-0", "sim-1", "sim-2", "sim-3"}},
		{"all old, exclude", "exclude", allOld, []string{"sim-0", "sim-1", "sim-2", "sim-3"}},
		{"all old, last", "last", allOld, []string{"sim-0"}},
		{"all old, zero", "zero", allOld, []string{"sim-0"}},
		{"best old, zero", "zero", bestOld, []string{"sim-0"}},
		{"best old, neutral", "neutral", bestOld, []string{"sim-1"}},
		{"best old, exclude", "exclude", bestOld, []string{"sim-1"}},
		{"best old, last", "last", bestOld, []string{"sim-0"}},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				f.wantSpread(t, test.listener, test.want, func() { f.Publish(t, test.endpoints(f)...) })
			})
		}
	})
}

// TestSilentSidecar: samples that were fresh when they came grow old.
func TestSilentSidecar(t *testing.T) {
	silence := func() {}
	inCells(t, func(t *testing.T, f *fixture) {
		f.wantSpread(t, "neutral", []string{"sim-0"}, func() { f.prefer(t, "sim-0") })
		time.Sleep(staleAfter + 50*time.Millisecond)
		all := []string{"sim-0", "sim-1", "sim-2", "sim-3"}
		f.wantSpread(t, "neutral", all, silence)
		f.wantSpread(t, "exclude", all, silence)
		f.wantSpread(t, "last", []string{"sim-0"}, silence)
		f.wantSpread(t, "requests", []string{"sim-0"}, silence)
	})
}

// wantSpread checks that requests are served by just these servers, whichever worker takes them. Chance alone leaves
// one of four out of 80 requests less than once in a billion times. before runs for each connection, and whenever its
// samples might be stale before the next request is decided.
func (f *fixture) wantSpread(t *testing.T, listener string, want []string, before func()) {
	t.Helper()
	const connections, requests = 8, 10
	wanted := map[string]bool{}
	for _, name := range want {
		wanted[name] = true
	}
	seen := map[string]int{}
	for range connections {
		client := harness.Client(t, false)
		fresh := time.Now()
		before()
		for range requests {
			if time.Since(fresh) > staleAfter/5 {
				fresh = time.Now()
				before()
			}
			status, server, err := ask(client, f.URL(listener, chatPath))
			if err != nil || status != 200 || !wanted[server] {
				t.Fatalf("listener %s: got %d from %q (%v), want one of %v", listener, status, server, err, want)
			}
			seen[server]++
		}
	}
	if len(seen) != len(want) {
		t.Errorf("listener %s: served by %v, want all of %v", listener, seen, want)
	}
}
