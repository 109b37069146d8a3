package scoring

import (
	"math"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// A request that was just sent waits or runs, as the server will have it.
func TestLoadCorrection(t *testing.T) {
	const sampled = int64(1_700_000_000_000_000_000)
	tests := []struct {
		name                     string
		waiting, running         int
		before, since            int
		uncorrected              bool
		wantWaiting, wantRunning int
	}{
		{name: "nothing sent", waiting: 3, running: 5, before: 8, wantWaiting: 3, wantRunning: 5},
		{name: "one, idle", since: 1, wantRunning: 1},
		{name: "one, batch has room", running: 5, before: 5, since: 1, wantRunning: 6},
		{name: "one, batch is full", waiting: 2, running: 5, before: 7, since: 1, wantWaiting: 3, wantRunning: 5},
		{name: "as many as there is room for", since: batchRoom, wantRunning: batchRoom},
		{name: "more than there is room for", since: batchRoom + 3, wantWaiting: 3, wantRunning: batchRoom},
		{name: "beside others' requests", waiting: 2, running: 20, since: 4, wantWaiting: 6, wantRunning: 20},
		{name: "metrics lag", before: 3, since: 1, wantRunning: 4},
		{name: "metrics lag behind a queue", waiting: 1, running: 1, before: 4, wantWaiting: 1, wantRunning: 3},
		{name: "uncorrected", waiting: 1, running: 1, before: 4, since: 2, uncorrected: true, wantWaiting: 1,
			wantRunning: 1},
		{name: "as large as a server likes", waiting: math.MaxInt32, running: math.MaxInt32, since: 2,
			wantWaiting: math.MaxInt32, wantRunning: math.MaxInt32},
		{name: "as many running as a server likes", running: math.MaxInt32, since: 2, wantRunning: math.MaxInt32},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pool := &Pool{Endpoints: []Endpoint{{Name: "a"}}, State: state.New(state.Options{InFlight: true})}
			pool.Enter()
			e := &pool.Endpoints[0]
			e.Metrics = Metrics{SampledAt: sampled, WaitingRequests: tt.waiting, RunningRequests: tt.running}
			for i := range tt.before + tt.since {
				at := sampled + 1
				if i < tt.before {
					at = sampled
				}
				pool.State.Apply(&journal.Event{Kind: journal.Decision, Time: at, Instance: 1, Lease: uint32(i + 1),
					Primary: pool.ID(e)})
			}
			c := &Cycle{Pool: pool, plan: &Plan{correctLoad: !tt.uncorrected}}
			if waiting, running := c.Waiting(e), c.Running(e); waiting != tt.wantWaiting || running != tt.wantRunning {
				t.Errorf("%d wait and %d run, want %d and %d", waiting, running, tt.wantWaiting, tt.wantRunning)
			}
		})
	}
}
