package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/e2e/harness"
	"github.com/pintle-dev/pintle/sim"
)

// TestMemoryPause: long prompts must not make Envoy grow: neither the module's memory, which never shrinks, nor Envoy's own.
func TestMemoryPause(t *testing.T) {
	soak(t, harness.Cell{Hold: "pause", Destination: "original-dst"}, time.Minute)
}

// TestMemoryBuffer is the same with Envoy's buffer filter.
func TestMemoryBuffer(t *testing.T) {
	soak(t, harness.Cell{Hold: "buffer", Destination: "original-dst"}, 30*time.Second)
}

// soak sends long bodies in a closed loop and compares the memory after a third of the time with that at the end.
func soak(t *testing.T, cell harness.Cell, duration time.Duration) {
	const (
		connections = 8
		bodyBytes   = 400_000
		maxGrowth   = 0.05
		// fillsJournal is how many requests with prompts of 256 blocks fill the journal.
		fillsJournal = 9000
		maxBytes     = 250 << 20
	)
	if testing.Short() {
		t.Skip("takes " + duration.String())
	}
	f := freshEnvoy(t, cell)
	if f.ResidentBytes() == 0 {
		t.Skip("this system does not tell how much memory a process has")
	}
	atStart := f.ResidentBytes()
	var stop atomic.Bool
	var served atomic.Int64
	failures := make(chan string, connections)
	var running sync.WaitGroup
	body := longChat(bodyBytes)
	for range connections {
		client := harness.Client(t, false)
		running.Go(func() {
			for !stop.Load() {
				response, err := client.Post(f.URL("requests", chatPath), "application/json", strings.NewReader(body))
				if err != nil || response.StatusCode != http.StatusOK {
					failures <- fmt.Sprintf("%v, %v", response, err)
					return
				}
				_ = response.Body.Close()
				served.Add(1)
			}
		})
	}
	time.Sleep(duration / 3)
	// A slow machine has not filled the journal by then, which takes a fixed amount of memory once it is full.
	for limit := time.Now().Add(2 * duration); served.Load() < fillsJournal && time.Now().Before(limit); {
		time.Sleep(time.Second)
	}
	early := f.ResidentBytes()
	time.Sleep(duration - duration/3)
	late := f.ResidentBytes()
	stop.Store(true)
	running.Wait()
	close(failures)
	for failure := range failures {
		t.Errorf("a request failed: %s", failure)
	}
	t.Logf("%d requests of %d KB in %v; MiB resident: %d at the start, %d after a third, %d at the end",
		served.Load(), bodyBytes/1000, duration, atStart>>20, early>>20, late>>20)
	if growth := float64(late-early) / float64(early); growth > maxGrowth {
		t.Errorf("memory grew by %.1f %% from %d MiB, want at most %.0f %%", 100*growth, early>>20, 100*maxGrowth)
	}
	if late > maxBytes {
		t.Errorf("%d MiB are resident at the end, want at most %d", late>>20, maxBytes>>20)
	}
}

// freshEnvoy starts an Envoy that nothing else has touched, and a server that answers at once.
func freshEnvoy(t *testing.T, cell harness.Cell) *harness.Envoy {
	t.Helper()
	server, err := harness.NewServer(sim.Config{Name: "instant", Instant: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	plugin := map[string]any{"stale": map[string]any{"after": "1h"}}
	envoy, err := harness.Start(cell, []string{server.Address},
		&harness.Listener{Name: "requests", Plugin: plugin}, &harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	envoy.LogOnFailure(t)
	envoy.Publish(t, harness.Endpoint{Name: server.Name, Address: server.Address})
	return envoy
}
