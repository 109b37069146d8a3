package e2e

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
)

// followed follows an Envoy's journal from now on, all of its workers, until the test ends.
func followed(t *testing.T, envoy *harness.Envoy, sink follow.Sink) *follow.Follower {
	t.Helper()
	f, _ := followedBy(t, envoy, harness.Token, sink, 0)
	return f
}

// followedBy is followed by one with another token or that wants the steps of a share of the decisions, and ends with
// the test or before.
func followedBy(t *testing.T, envoy *harness.Envoy, token string, sink follow.Sink,
	sample float64) (f *follow.Follower, stop func()) {
	t.Helper()
	f = &follow.Follower{
		Ingest: config.Ingest{Name: "gateway", URL: "http://" + envoy.Address("ingest") + config.IngestPath},
		Token:  func() string { return token }, Interval: 20 * time.Millisecond, Sink: sink,
		Log: slog.New(slog.DiscardHandler), Sample: sample,
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return f, stop
}
