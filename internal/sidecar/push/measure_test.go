package push

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

// measured is the value of the one series of a metric.
func measured(t *testing.T, m *metrics.Metrics, name string) float64 {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name && len(f.Metric) == 1 {
			return f.Metric[0].GetGauge().GetValue() + f.Metric[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("got no or several series of %s, want one", name)
	return 0
}

// TestAges: for how long an Envoy has neither taken a snapshot nor told of its journal, which alerts go by, is counted
// from the start before the first time.
func TestAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := pool.New(slog.New(slog.DiscardHandler), engine.Known, nil)
		m := metrics.New(pl)
		p := &Pusher{Ingest: config.Ingest{Name: "envoy"}, Pool: pl, Metrics: m}
		p.Measure(time.Now())
		var followed follow.State
		m.Follows("envoy", func() follow.State { return followed })
		want := func(when string, seconds float64) {
			t.Helper()
			for _, name := range []string{"pintle_sidecar_push_age_seconds", "pintle_sidecar_journal_age_seconds"} {
				if got := measured(t, m, name); got != seconds {
					t.Errorf("%s: %s: got %v, want %v", when, name, got, seconds)
				}
			}
		}
		time.Sleep(7 * time.Second)
		want("before the first time", 7)
		p.state.Accepted, followed.Answered = time.Now(), time.Now()
		time.Sleep(2 * time.Second)
		want("after it", 2)
	})
}

// TestPushedBytes: all bytes that an Envoy got are counted.
func TestPushedBytes(t *testing.T) {
	var got atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.Add(int64(len(body)))
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	p := newPusher(t, server)
	for range 2 {
		if o := p.push(t.Context(), time.Now()); o.err != nil {
			t.Fatal(o.err)
		}
	}
	if told := measured(t, p.Metrics, "pintle_sidecar_push_bytes_total"); told == 0 || told != float64(got.Load()) {
		t.Errorf("got %v bytes, want %d", told, got.Load())
	}
}
