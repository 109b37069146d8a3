package scoring

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// However many endpoints are silent, a tenth of the pool is left out, one at the least, and those that have been silent
// for longest.
func TestSuspectsAreBounded(t *testing.T) {
	for _, tt := range []struct {
		endpoints, silent, want int
		// first is the endpoint that has been silent for longest; the others follow it, by step.
		first, step int
	}{{4, 0, 0, 0, 1}, {4, 1, 1, 0, 1}, {4, 3, 1, 0, 1}, {10, 9, 1, 0, 1}, {40, 1, 1, 0, 1}, {40, 3, 3, 0, 1},
		{40, 30, 4, 0, 1}, {4, 3, 1, 2, -1}, {40, 3, 3, 2, -1}, {40, 30, 4, 29, -1}, {40, 29, 4, 11, 7}} {
		const now = int64(time.Hour)
		silent := func(nth int) int { return (tt.first + nth*tt.step) % max(tt.silent, 1) }
		pool := &Pool{State: state.New(state.Options{Failures: true})}
		for i := range tt.endpoints {
			pool.Endpoints = append(pool.Endpoints,
				Endpoint{Index: i, Name: string(rune('A' + i)), Metrics: Metrics{SampledAt: now}})
		}
		pool.Enter()
		pool.State.Expire(now)
		for i := range tt.silent {
			for lease := range uint32(8) {
				pool.State.Apply(&journal.Event{
					Kind: journal.Decision, Time: now - int64(10+tt.silent-i)*int64(time.Second),
					Lease:   uint32(i)<<8 | lease,
					Primary: pool.ID(&pool.Endpoints[silent(i)]), Client: uint64(lease),
				})
			}
		}
		pool.State.Apply(&journal.Event{Kind: journal.Completion, Time: now, Status: 200, TTFTMicros: 1000,
			DurationMicros: 1000,
			Primary:        pool.ID(&pool.Endpoints[tt.endpoints-1])})
		c := &Cycle{Pool: pool, plan: &Plan{failing: Failing{Exclude: true, Above: 0.5}}, Request: Request{Now: now}}
		c.begin()
		if len(c.suspects) != tt.want {
			t.Fatalf("%d of %d endpoints are silent: %d are suspected, want %d", tt.silent, tt.endpoints,
				len(c.suspects), tt.want)
		}
		for i, e := range c.suspects {
			if e.Index != silent(i) || !c.Fails(e) {
				t.Errorf("%d of %d endpoints are silent: suspect %d is %d, want %d, which is silent for longest",
					tt.silent, tt.endpoints, i, e.Index, silent(i))
			}
		}
		for i := range pool.Endpoints {
			pool.State.Apply(&journal.Event{Kind: journal.Completion, Time: now + 1, Status: 200, TTFTMicros: 1000,
				DurationMicros: 1000, Primary: pool.ID(&pool.Endpoints[i])})
		}
		c.Request.Now++
		if c.begin(); len(c.suspects) != 0 {
			t.Errorf("%d of %d endpoints were silent: %d are suspected when all have answered, want none", tt.silent,
				tt.endpoints, len(c.suspects))
		}
	}
}
