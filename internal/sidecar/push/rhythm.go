package push

import (
	"context"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/pace"
)

// The filter judges by pushes whether samples are stale: the age of a sample as Envoy sees it is at most an interval
// between scrapes, a scrape, the longer of the heartbeat and the interval between pushes, and the time of gathering.
const (
	// heartbeat is how long a sample may wait, though it says nothing new, unless the interval is longer.
	heartbeat = config.Heartbeat
	// gathering is how long a change waits for others: endpoints are scraped at the same moments and do not answer at
	// one.
	gathering = 3 * time.Millisecond
	// settling is how long a sample that says nothing new waits for others, after a heartbeat of silence. It is more
	// than half of the usual interval between scrapes, as beyond 32 endpoints the next ones' moments are halfway.
	settling = 30 * time.Millisecond
	// silence is how long an Envoy hears nothing at most while there are no samples. An Envoy that has been restarted
	// hot waits for a push.
	silence = 3 * heartbeat
)

// Run pushes until ctx ends: soon after a change, though not twice within the interval, and within a heartbeat of what
// is no change, but newer.
func (p *Pusher) Run(ctx context.Context) {
	p.wake, p.sampled = p.Pool.Watch(), p.Pool.WatchSamples()
	p.position.Epoch = uint64(time.Now().UnixNano())
	transport := p.Ingest.Transport()
	defer transport.CloseIdleConnections()
	p.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	p.run(ctx, p.push)
}

// run is Run with what sends a message.
func (p *Pusher) run(ctx context.Context, push func(ctx context.Context, now time.Time) outcome) {
	failures, start := 0, time.Time{}
	for p.waitForNews(ctx, failures, start) {
		start = time.Now()
		o := push(ctx, start)
		if ctx.Err() != nil {
			return
		}
		p.record(o, time.Since(start))
		if o.err == nil {
			failures = 0
			pace.Sleep(ctx, time.Until(start.Add(p.Interval)))
			continue
		}
		failures++
		p.topology = 0
		pace.Sleep(ctx, pace.Jitter(o.wait(failures)))
	}
}

// wait is how long to wait after the latest of so many failures on end.
func (o *outcome) wait(failures int) time.Duration {
	switch {
	case o.again && failures == 1:
		return 0
	case o.pause > 0:
		return o.pause
	case o.result == connectFailed:
		return pace.Backoff(firstPushBackoff, failures, connectBackoff)
	}
	return pace.Backoff(firstPushBackoff, failures, maxPushBackoff)
}

// waitForNews waits until there is something to push, or it is due, and says no when ctx has ended. The last push began
// at last.
func (p *Pusher) waitForNews(ctx context.Context, failures int, last time.Time) bool {
	for failures == 0 && p.listen(ctx, last) && p.Pool.Generation() == nil {
		last = time.Now()
	}
	select { // what has been sampled until now is pushed now
	case <-p.sampled:
	default:
	}
	return ctx.Err() == nil
}

// listen waits for a change, a heartbeat for a sample, and at most for the silence. It says no when ctx has ended.
func (p *Pusher) listen(ctx context.Context, last time.Time) bool {
	if changed, _ := p.until(ctx, last.Add(heartbeat), nil); changed {
		return p.gather(ctx)
	}
	changed, sampled := p.until(ctx, last.Add(silence), p.sampled)
	if !changed && !sampled.IsZero() {
		changed, _ = p.until(ctx, sampled.Add(settling), nil)
	}
	if changed {
		return p.gather(ctx)
	}
	return ctx.Err() == nil
}

// until waits for a change, for a sample of those that it is given, for a moment, or for the end of ctx. It returns
// whether it was a change, or when the sample came.
func (p *Pusher) until(ctx context.Context, due time.Time, samples <-chan time.Time) (changed bool, sampled time.Time) {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-p.wake:
		return true, time.Time{}
	case sampled = <-samples:
	case <-timer.C:
	}
	return false, sampled
}

// gather waits for changes that come right behind one. It says no when ctx has ended.
func (p *Pusher) gather(ctx context.Context) bool {
	pace.Sleep(ctx, min(gathering, p.Interval))
	select {
	case <-p.wake:
	default:
	}
	return ctx.Err() == nil
}
