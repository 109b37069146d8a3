package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
)

// The load of the well-behaved: groups that share a long prompt, and every twentieth request one that no server has
// seen, so that the 99th percentile of the time to first token is that of a whole prefill and not of the machine's
// moods. It is a fifth of what the servers can do.
const (
	groups, users  = 24, 4
	systemTokens   = 2000
	questionTokens = 200
	outputTokens   = 8
	coldEvery      = 20
	rate           = 24.0
	// patience is how long they wait for an answer.
	patience = 10 * time.Second
)

// others are the well-behaved clients.
type others struct {
	requests []load.Request
	sent     int          // requests, so that none is sent twice: a prompt that no server has seen is one
	client   *http.Client // nil is the load client's own
}

// newOthers are those of a round: they have a third more requests than they send before, during and after the attack.
func newOthers(warmth int, duration time.Duration) *others {
	count := warmth*groups + int(4*rate*duration.Seconds())
	count += coldEvery - count%coldEvery
	shared := load.SharedPrefix{
		Model: "sim-model", Groups: groups, Users: users, SystemTokens: systemTokens, QuestionTokens: questionTokens,
		OutputTokens: outputTokens,
		Count:        4 * count, Seed: 1,
	}.Requests()
	// Some groups ask up to six times as often as others, as users do.
	random := rand.New(rand.NewPCG(1, 2))
	shared = slices.DeleteFunc(shared, func(r load.Request) bool { return random.IntN(1+r.Group%6) > 0 })[:count]
	cold := load.SharedPrefix{
		Model: "sim-model", Groups: count / coldEvery, Users: 1, SystemTokens: systemTokens,
		QuestionTokens: questionTokens, OutputTokens: outputTokens,
		Count: count / coldEvery, Seed: rand.Uint64(),
	}.Requests()
	for i := range cold {
		shared[i*coldEvery+coldEvery/2] = cold[i]
	}
	return &others{requests: shared}
}

// warm has the servers know the groups' prompts, some times over.
func (o *others) warm(ctx context.Context, t *target, times int) error {
	o.sent = times * groups
	_, err := load.Run(ctx, load.Config{URL: t.url(""), Requests: o.requests, Workers: 8, Count: o.sent,
		Timeout: patience, Client: o.client})
	return err
}

// figures are what the others notice.
type figures struct {
	sent, refused int
	p99           time.Duration
	// hits is the part of prompt tokens found in prefix caches, share the largest part of the answers that one server
	// gave.
	hits, share float64
	// memory is Envoy's, cores what the sidecar took.
	memory int64
	cores  float64
	errors string
}

// watch sends for a time and returns what was noticed. Requests come at the same moments each time, those that no
// server has seen among them: where two of these meet decides the 99th percentile.
func (o *others) watch(ctx context.Context, t *target, duration time.Duration) (f figures, err error) {
	o.sent += (coldEvery - o.sent%coldEvery) % coldEvery
	next := o.sent % len(o.requests)
	requests := slices.Concat(o.requests[next:], o.requests[:next])
	began, busy := time.Now(), t.sidecarCPU()
	result, err := load.Run(ctx, load.Config{
		URL: t.url(""), Requests: requests, Rate: rate, Duration: duration, Seed: 1, Timeout: patience,
		Drain: patience, Client: o.client,
	})
	if err != nil {
		return f, err
	}
	if err := ctx.Err(); err != nil {
		return f, err
	}
	o.sent += len(result.Samples)
	prompt, cached, _ := result.Tokens()
	f = figures{
		sent: len(result.Samples), refused: result.Failed(), p99: result.Percentiles(load.TTFT, 99)[0],
		hits:   float64(cached) / max(float64(prompt), 1),
		cores:  (t.sidecarCPU() - busy).Seconds() / time.Since(began).Seconds(),
		errors: list(result.Errors()),
	}
	for _, n := range result.Servers() {
		f.share = max(f.share, float64(n)/max(float64(result.Succeeded()), 1))
	}
	f.memory, err = t.memory()
	return f, err
}

func (t *target) sidecarCPU() time.Duration {
	if t.sidecar == nil {
		return 0
	}
	used, _ := t.sidecar.CPU() // where the system does not tell it is 0 each time
	return used
}

func list(counts map[string]int) string {
	var parts []string
	for what, n := range counts {
		parts = append(parts, fmt.Sprintf("%d of them %s", n, what))
	}
	return strings.Join(parts, ", ")
}
