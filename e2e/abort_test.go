package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestAbandonedBodies: clients that leave before their body is complete leave nothing behind.
func TestAbandonedBodies(t *testing.T) {
	const (
		clients    = 60
		allowance  = 60 << 20 // of memory, for pages that the allocator keeps
		bodyPrefix = 100_000
	)
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		before := f.ResidentBytes()
		for _, framing := range []string{"content-length: 1000000\r\n\r\n",
			"transfer-encoding: chunked\r\n\r\nfffff\r\n"} {
			for range clients {
				c := harness.Dial(t, f.Address("requests"))
				c.Say(t, "POST "+chatPath+" HTTP/1.1\r\nhost: e2e\r\n"+framing+longChat(bodyPrefix))
				_ = c.Close()
			}
		}
		f.resetStreams(t, clients)
		f.wantIdle(t)
		for range 4 {
			wantServer(t, f.chat(t, "requests", false), "sim-0")
			wantServer(t, f.chat(t, "requests", true), "sim-0")
		}
		if grown := f.ResidentBytes() - before; before > 0 && grown > allowance {
			t.Errorf("memory grew from %d by %d MiB, want at most %d", before>>20, grown>>20, allowance>>20)
		}
	})
}

// resetStreams begins requests with HTTP/2 on one connection and resets them in the middle of their bodies.
func (f *fixture) resetStreams(t *testing.T, n int) {
	t.Helper()
	client := harness.Client(t, true)
	var running sync.WaitGroup
	for range n {
		ctx, cancel := context.WithCancel(context.Background())
		reader, writer := io.Pipe()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL("requests", chatPath), reader)
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if response, err := client.Do(request); err == nil {
				_ = response.Body.Close()
			}
		})
		running.Go(func() {
			_, _ = io.WriteString(writer, longChat(20_000)[:20_000]) // fails once the request is cancelled
			cancel()
			_ = writer.Close()
		})
	}
	running.Wait()
}

// wantIdle waits until Envoy has no request under way.
func (f *fixture) wantIdle(t testing.TB) {
	t.Helper()
	harness.WaitFor(t, 10*time.Second, "all requests to have ended", func() (bool, string) {
		stats := f.Stats(t,
			"(http.requests.downstream_rq_active|cluster.model-servers.upstream_rq_(active|pending_active))$")
		for _, n := range stats {
			if n != 0 {
				return false, fmt.Sprint(stats)
			}
		}
		return true, ""
	})
}
