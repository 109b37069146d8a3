package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestSidecarKilled: a sidecar that dies under load and comes back costs no request, also when its samples go stale.
func TestSidecarKilled(t *testing.T) {
	const clients = 4
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		first := f.level(t)
		var stop atomic.Bool
		var served atomic.Int64
		failures := make(chan string, clients)
		var running sync.WaitGroup
		for range clients {
			client := harness.Client(t, false)
			running.Go(func() {
				for !stop.Load() {
					status, server, err := ask(client, f.URL("neutral", chatPath))
					if err != nil || status != 200 {
						failures <- fmt.Sprintf("%d from %q, %v", status, server, err)
						return
					}
					served.Add(1)
				}
			})
		}
		time.Sleep(300 * time.Millisecond)
		first.Kill()
		time.Sleep(2 * staleAfter)
		f.level(t)
		time.Sleep(300 * time.Millisecond)
		stop.Store(true)
		running.Wait()
		close(failures)
		for failure := range failures {
			t.Errorf("a request was lost: %s", failure)
		}
		if served.Load() == 0 {
			t.Error("no request was served at all")
		}
		t.Logf("%d requests served", served.Load())
		f.move(t, harness.Client(t, false), 2)
	})
}
