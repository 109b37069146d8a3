package cases

import (
	"strings"

	"github.com/pintle-dev/pintle/journal"
)

// busy times decisions over 64 servers at work: each has answered another part of the prompt, which is so many bytes,
// and has four requests in flight that its sample does not show.
func busy(configuration string, promptBytes int) func() {
	const servers, inFlight = 64, 4
	b := newBench(configuration, servers)
	endpoints := b.cycle.Pool.Endpoints
	text, now := strings.Repeat("lorem ipsum dolor sit amet. ", promptBytes), int64(1)
	for i := range endpoints {
		b.send(now, i, text[:promptBytes*(i+1)/servers], true)
		now += 1e8
	}
	for i := range endpoints {
		endpoints[i].Metrics.SampledAt = now
	}
	for i := range inFlight * servers {
		now += 1e6
		b.send(now, i%servers, "another prompt", false)
	}
	b.read(completion(text[:promptBytes]))
	b.cycle.Request.Now = now
	return b.decide
}

// send has the state know of a request that was sent to endpoint i, and of its end where it was answered.
func (b *bench) send(now int64, i int, prompt string, answered bool) {
	pool := b.cycle.Pool
	b.read(completion(prompt))
	b.cycle.Request.Now = now
	b.decide()
	b.lease++
	var e journal.Event
	b.plan.Record(b.cycle, &e)
	e.Time, e.Instance, e.Lease, e.Primary, e.Streamed = now, 1, b.lease, pool.ID(&pool.Endpoints[i]), true
	pool.State.Apply(&e)
	if answered {
		pool.State.Apply(&journal.Event{Kind: journal.Completion, Time: now + 5e7, Instance: 1, Lease: b.lease,
			Primary: e.Primary, Status: 200, TTFTMicros: 20_000, DurationMicros: 50_000, OutputTokens: 10})
	}
}

func completion(prompt string) []byte { return []byte(`{"model":"m","prompt":"` + prompt + `"}`) }
