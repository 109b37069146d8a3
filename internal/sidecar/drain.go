package sidecar

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
)

const (
	// quietFor is for how long nothing may be in flight before the sidecar takes its Envoys for done. It is as long as
	// Istio's agent waits before it looks for connections: one that a client keeps may bring another request.
	quietFor = 5 * time.Second
	// goneFor is for how long all Envoys have to refuse connections to be taken for ended.
	goneFor = time.Second
	// drainLook is the time between two looks at how things stand.
	drainLook = 100 * time.Millisecond
)

// drain has the sidecar end after its Envoys' requests, as both are told to end at once when a pod is.
//
// While requests are in flight all goes on. Then what keeps connections to the Envoys ends, so that whoever waits until
// an Envoy has none left, as Istio's agent does, sees that; and what the Envoys ask on a request's way is answered
// until they are gone, as clients may hold connections on which another request comes.
type drain struct {
	// limit is the longest that all of it may take.
	limit time.Duration
	// inFlight counts the requests that are known to be in flight.
	inFlight func() int
	// pushed reports whether some Envoy could be connected to at the last push.
	pushed func() bool
	// ingests are connected to, to see whether an Envoy is still there.
	ingests []config.Ingest
	// asked is set when the Envoys ask the sidecar.
	asked bool
	log   *slog.Logger
}

// run ends work and returns when the sidecar may end, at once when ctx ends.
func (d *drain) run(ctx context.Context, work context.CancelFunc) {
	if d.limit == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	d.log.Info("ending when nothing is in flight", "inFlight", d.inFlight(), "limit", d.limit)
	watch := &drainWatch{since: time.Now()}
	gone := false
	for ctx.Err() == nil && !gone && !watch.quiet(time.Now(), d.inFlight()) {
		gone = watch.gone(time.Now(), d.pushed())
		pace.Sleep(ctx, drainLook)
	}
	work()
	if gone || !d.asked {
		return
	}
	d.log.Info("nothing is in flight; answering until the Envoys have ended")
	watch.since = time.Now()
	for ctx.Err() == nil && !watch.gone(time.Now(), d.reachable(ctx)) {
		// A look is a connection, of which those that count connections may not see many.
		pace.Sleep(ctx, goneFor)
	}
}

// reachable reports whether an Envoy takes connections.
func (d *drain) reachable(ctx context.Context) bool {
	return slices.ContainsFunc(d.ingests, func(i config.Ingest) bool { return i.Reachable(ctx) })
}

// drainWatch knows since when things have stood as they do.
type drainWatch struct {
	// since is when it began to look.
	since time.Time
	// busyAt and reachedAt are when something was last in flight, and when an Envoy was last reached.
	busyAt, reachedAt time.Time
}

// quiet reports whether nothing has been in flight for long enough.
func (w *drainWatch) quiet(now time.Time, inFlight int) bool {
	if inFlight > 0 {
		w.busyAt = now
	}
	return now.Sub(later(w.since, w.busyAt)) >= quietFor
}

// gone reports whether no Envoy has been reached for long enough.
func (w *drainWatch) gone(now time.Time, reached bool) bool {
	if reached {
		w.reachedAt = now
	}
	return now.Sub(later(w.since, w.reachedAt)) >= goneFor
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
