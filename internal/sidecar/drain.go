package sidecar

import (
	"context"
	"log/slog"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/pace"
)

const (
	// goneFor is for how long all Envoys have to refuse connections to be taken for ended.
	goneFor = time.Second
	// drainLook is the time between two looks at how things stand.
	drainLook = 100 * time.Millisecond
)

// drain has the sidecar end after its Envoys, as the containers of a pod are told to end at the same moment, and an
// Envoy goes on for as long as its answers do. All goes on as before meanwhile: clients may hold connections on which
// another request comes. An Envoy that drains closes the sidecar's connections with each answer, so that whoever waits
// until it has none left does not wait for those.
type drain struct {
	// limit is the longest that it may take.
	limit time.Duration
	// inFlight counts the requests that are known to be in flight.
	inFlight func() int
	// connects reports whether some Envoy could be connected to at the last push.
	connects func() bool
	// asked is set when the Envoys ask the sidecar, which they may still do when they take no connections any more.
	asked bool
	log   *slog.Logger

	// lastAt is when an Envoy was last connected to, or when it began to look.
	lastAt time.Time
}

// run returns when the sidecar may end, at once when ctx ends.
func (d *drain) run(ctx context.Context) {
	if d.limit == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	d.log.Info("draining: goes on until the Envoys have ended", "inFlight", d.inFlight(), "limit", d.limit)
	for d.lastAt = time.Now(); ctx.Err() == nil && !d.over(time.Now()); {
		pace.Sleep(ctx, drainLook)
	}
}

// over reports whether there is nothing left to do. An Envoy whose time to drain is over takes no connections, but ends
// its answers, and hands over what is to be stored of them.
func (d *drain) over(now time.Time) bool {
	if d.connects() {
		d.lastAt = now
	}
	return now.Sub(d.lastAt) >= goneFor && (!d.asked || d.inFlight() == 0)
}
