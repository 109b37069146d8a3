// Package pace says how long to wait between two tries.
package pace

import (
	"context"
	"math/rand/v2"
	"time"
)

// Jitter spreads d by 5 % both ways, so that scrapers do not fall into step.
func Jitter(d time.Duration) time.Duration { return jitter(d, rand.Int64N) }

// jitter is Jitter by the numbers of random, from 0 to below its argument.
func jitter(d time.Duration, random func(int64) int64) time.Duration {
	spread := d / 10
	if spread <= 0 {
		return d
	}
	return d - spread/2 + time.Duration(random(int64(spread)))
}

// Backoff doubles first with each failure after the first, up to most.
func Backoff(first time.Duration, failures int, most time.Duration) time.Duration {
	d := first
	for i := 1; i < failures && d < most; i++ {
		d *= 2
	}
	return min(d, most)
}

// Sleep waits for d or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
