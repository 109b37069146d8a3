package push

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

// TestReconnects: pushes go over one connection, and over another one after a heartbeat: the process that took the
// first may have handed its port over to another one.
func TestReconnects(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	p := newPusher(t, server)
	start := time.Now()
	for _, step := range []struct {
		name string
		at   time.Duration
		want int32
	}{
		{"the first push", 0, 1},
		{"a moment before a heartbeat has passed", heartbeat - 1, 1},
		{"after a heartbeat", heartbeat, 2},
		{"soon after that", heartbeat + 1, 2},
	} {
		if o := p.push(t.Context(), start.Add(step.at)); o.err != nil {
			t.Fatalf("%s: got %v, want it accepted", step.name, o.err)
		}
		if got := connections.Load(); got != step.want {
			t.Errorf("%s: got %d connections so far, want %d", step.name, got, step.want)
		}
	}
}

// newPusher pushes to a server. It has something to push.
func newPusher(t *testing.T, server *httptest.Server) *Pusher {
	t.Helper()
	pl := pool.New(slog.New(slog.DiscardHandler), engine.Known, nil)
	pl.Learned(t.Context()) // of no sources, which is something to push
	token, err := NewToken(&config.Config{Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	return &Pusher{Ingest: config.Ingest{Name: "envoy", URL: server.URL}, Token: token, Pool: pl,
		Metrics: metrics.New(pl), client: server.Client()}
}
