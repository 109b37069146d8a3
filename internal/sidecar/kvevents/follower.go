package kvevents

import (
	"context"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/pace"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

// follower is what follows one endpoint.
type follower struct {
	target *pool.Target
	stop   context.CancelFunc
	done   chan struct{}
	// vain is how often in a row it has answered and could not be listened to.
	vain int

	mu    sync.Mutex
	ranks map[int]*subscription
}

// settledPeriod is how often an endpoint is asked again while all is well, unsettledPeriod how often otherwise, at
// first: one that answers may publish nothing.
const settledPeriod, unsettledPeriod = 30 * time.Second, time.Second

// period is after what time the endpoint is asked again.
func (f *follower) period(answered bool) time.Duration {
	switch {
	case f.settled():
		f.vain = 0
		return settledPeriod
	case !answered:
		f.vain = 0
		return unsettledPeriod
	}
	f.vain++
	return pace.Backoff(unsettledPeriod, f.vain, settledPeriod)
}

// settled reports whether all ranks are listened to.
func (f *follower) settled() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, sub := range f.ranks {
		if !sub.now().Connected {
			return false
		}
	}
	return len(f.ranks) > 0
}

// cut ends the looking for ranks that the engine, which says some, has no more: it was started anew with fewer. One
// that is still heard stays.
func (f *follower) cut(ctx context.Context, said map[int]source) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for rank, sub := range f.ranks {
		if _, there := said[rank]; there || len(said) == 0 || sub.now().Connected {
			continue
		}
		sub.end(ctx)
		sub.log.Info("the engine has no such rank any more")
		delete(f.ranks, rank)
	}
}
