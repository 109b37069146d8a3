package e2e

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// load sends requests, each on a connection of its own, until stopped. It returns how many were answered and which were
// not.
func (l *lab) load(t *testing.T, clients int) (stop func() (served int64, lost []exchange)) {
	var ended atomic.Bool
	var served atomic.Int64
	var mu sync.Mutex
	var lost []exchange
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for !ended.Load() {
				if x := l.exchange(t, "requests", chatBody); x.status == 200 && !x.cut {
					served.Add(1)
				} else {
					mu.Lock()
					lost = append(lost, x)
					mu.Unlock()
				}
			}
		})
	}
	return func() (int64, []exchange) {
		ended.Store(true)
		running.Wait()
		return served.Load(), lost
	}
}

// wantNothingLost checks that all requests of a load were answered.
func wantNothingLost(t *testing.T, served int64, lost []exchange) {
	t.Helper()
	t.Logf("%d requests were answered, %d were lost", served, len(lost))
	if served == 0 || len(lost) > 0 {
		t.Errorf("lost %d requests, the first: %v", len(lost), append(lost, exchange{})[0])
	}
}

// TestHotRestart: a new process takes the place of the old one under load, with the sidecar running on or starting anew
// at the same time. No request is lost, though the new process gets its traffic and its first snapshot at the same
// time.
func TestHotRestart(t *testing.T) {
	harness.Long(t)
	for _, cell := range recoveryCells {
		for _, name := range []string{"sidecar stays", "sidecar restarts"} {
			t.Run(cell.String()+", "+name, func(t *testing.T) {
				l := newLab(t, harness.Options{Hot: true}, cell, alone("active-request-scorer"))
				l.LogOnFailure(t)
				sidecar := harness.StartSidecar(t, l.URL("ingest", harness.IngestPath), l.servers...)
				harness.WaitFor(t, 10*time.Second, "the first snapshot", func() (bool, string) {
					x := l.exchange(t, "requests", chatBody)
					return x.status == 200, x.String()
				})
				stop := l.load(t, 4)
				time.Sleep(300 * time.Millisecond)
				if name == "sidecar restarts" {
					sidecar.Kill()
				}
				next, err := l.HotRestart()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(next.Stop)
				if name == "sidecar restarts" {
					harness.StartSidecar(t, l.URL("ingest", harness.IngestPath), l.servers...)
				}
				select {
				case <-l.Done():
				case <-time.After(30 * time.Second):
					t.Error("the old process does not end")
				}
				time.Sleep(500 * time.Millisecond)
				served, lost := stop()
				wantNothingLost(t, served, lost)
			})
		}
	}
}

// TestSidecarComesLate: an Envoy that starts with its traffic before the sidecar, as it does with a new module, answers
// all of it.
func TestSidecarComesLate(t *testing.T) {
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, harness.Options{}, cell, alone("active-request-scorer"))
			l.LogOnFailure(t)
			stop := l.load(t, 4)
			time.Sleep(time.Second)
			harness.StartSidecar(t, l.URL("ingest", harness.IngestPath), l.servers...)
			time.Sleep(2 * time.Second)
			served, lost := stop()
			wantNothingLost(t, served, lost)
		})
	}
}
