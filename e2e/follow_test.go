package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestFollow: with the real sidecar, requests follow the load when it moves, within the bar where bars are asked for.
func TestFollow(t *testing.T) {
	const (
		moves  = 7
		rounds = 3
		bar    = 200 * time.Millisecond
	)
	inCells(t, func(t *testing.T, f *fixture) {
		f.level(t)
		client := harness.Client(t, false)
		for round := 1; ; round++ {
			var latencies []time.Duration
			for move := range moves {
				latencies = append(latencies, f.move(t, client, (move+1)%len(f.servers)))
			}
			slices.Sort(latencies)
			median := latencies[moves/2]
			t.Logf("requests follow after %v in the median of %d moves, %v at most", median, moves, latencies[moves-1])
			if median <= bar || !harness.Bars() {
				return
			}
			if round == rounds {
				t.Fatalf("requests follow after %v in the median of %d moves, %d rounds long; want at most %v", median,
					moves, rounds, bar)
			}
		}
	})
}

// move makes one server the least loaded and returns how long it takes until requests go there. From then on they all
// do. The move is one change of one server, so that there is no moment of two equals.
func (f *fixture) move(t *testing.T, client *http.Client, to int) time.Duration {
	t.Helper()
	f.shortest--
	f.servers[to].PinWaiting(t, f.shortest)
	start := time.Now()
	f.untilServedBy(t, client, f.servers[to].Name, 20*time.Second)
	took := time.Since(start)
	for range 5 {
		if _, server, err := ask(client, f.URL("requests", chatPath)); err != nil || server != f.servers[to].Name {
			t.Fatalf("after the move to %s: got %q, %v", f.servers[to].Name, server, err)
		}
	}
	return took
}

// level gives all servers but the first the same queue, from which moves can start, and starts a sidecar to tell.
func (f *fixture) level(t *testing.T) *harness.Sidecar {
	t.Helper()
	const longest = 1000
	for _, s := range f.servers {
		s.PinWaiting(t, longest)
	}
	f.shortest = longest - 1
	f.servers[0].PinWaiting(t, f.shortest)
	f.Publish(t, f.pool()...)
	sidecar := harness.StartSidecar(t, f.URL("ingest", harness.IngestPath), f.servers...)
	client := harness.Client(t, false)
	harness.WaitFor(t, 10*time.Second, "twelve requests in a row at sim-0", func() (bool, string) {
		for i := range 12 {
			if _, server, err := ask(client, f.URL("requests", chatPath)); err != nil || server != "sim-0" {
				return false, fmt.Sprintf("number %d at %q, %v", i+1, server, err)
			}
		}
		return true, ""
	})
	return sidecar
}

func (f *fixture) untilServedBy(t *testing.T, client *http.Client, name string, limit time.Duration) {
	t.Helper()
	harness.WaitFor(t, limit, "a request to be served by "+name, func() (bool, string) {
		status, server, err := ask(client, f.URL("requests", chatPath))
		return err == nil && server == name, fmt.Sprintf("%d from %q, %v", status, server, err)
	})
}
