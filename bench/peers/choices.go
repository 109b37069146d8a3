package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/replay"
	"github.com/pintle-dev/pintle/internal/stack"
)

const (
	// drainLimit is how long a stage may go on after its last request, in wall time.
	drainLimit = 30 * time.Second
	// goodTTFT and goodTPOT are what a good answer keeps, in seconds.
	goodTTFT, goodTPOT = 2, 0.05
)

// runChoices has each peer, before servers of its own, serve the same clients; each run has others, and another order.
func runChoices(ctx context.Context, o options, st *stack.Stack, out io.Writer) ([]record, error) {
	var all []record
	for n := range o.runs {
		o.seed = uint64(n)
		traffic, madeUp, err := o.workload.parts(&o)
		if err != nil {
			return nil, err
		}
		for i := range peers {
			p := &peers[(i+n)%len(peers)]
			if !slices.Contains(o.peers, p.name) {
				continue
			}
			records, err := o.choose(ctx, st, p, traffic, madeUp)
			if errors.Is(err, errMissing) {
				fmt.Fprintf(out, "%s is not among them: %v\n", p.what, err)
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			all = append(all, records...)
			if err := appendRaw(o.raw, records); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// choose runs one peer through all of the traffic.
func (o *options) choose(ctx context.Context, st *stack.Stack, p *peer, traffic []part,
	madeUp bool) (all []record, err error) {
	first, err := stack.FreePorts(ladderServers)
	if err != nil {
		return nil, err
	}
	servers, odd, err := o.fleet.start(ctx, st, p.name, first, o.speed)
	if err != nil {
		return nil, err
	}
	defer servers.Stop()
	defer odd.Stop()
	r, err := (&bench{stack: st, first: first, servers: ladderServers}).launch(ctx, p)
	if err != nil {
		return nil, err
	}
	defer r.stop()
	befallen := false
	for _, t := range traffic {
		fmt.Fprintf(os.Stderr, "%s, %s, %s at %g/s\n", p.what, o.workload.name, o.fleet.name, t.rate)
		cancel := func() {}
		if !t.warmsUp && !befallen {
			befallen = true
			stage := time.Duration(float64(len(t.load.Requests)) / t.rate / o.speed * float64(time.Second))
			if cancel, err = o.fleet.befall(ctx, odd, first, stage); err != nil {
				return nil, err
			}
		}
		t.load.URL, t.load.Header = "http://"+stack.Address(r.port), r.header()
		result, err := load.Run(ctx, t.load)
		cancel()
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		if failed := result.Errors(); len(failed) > 0 {
			fmt.Fprintf(os.Stderr, "  what failed: %v\n", failed)
		}
		if !t.warmsUp {
			where := occasion{o.workload.name, madeUp, o.fleet.name, t.rate, o.speed}
			found := choiceOf(where, result.After(t.counted))
			found.Seed = o.seed
			all = append(all, record{Go: o.began, Peer: p.name, Choice: found})
		}
	}
	return all, nil
}

// header is what requests to the peer have to carry.
func (r *running) header() http.Header {
	h := http.Header{}
	for key, value := range r.headers {
		h.Set(key, value)
	}
	return h
}

// choiceOf sums up what clients saw, in the servers' seconds.
func choiceOf(where occasion, r *load.Result) *choice {
	names := map[string]int{}
	samples := make([]replay.Sample, 0, len(r.Samples))
	for i := range r.Samples {
		s := &r.Samples[i]
		if _, ok := names[s.Server]; !ok && s.OK() {
			names[s.Server] = len(names)
		}
		one := replay.Sample{TTFT: s.TTFT.Seconds() * where.Speed, TPOT: s.TPOT.Seconds() * where.Speed,
			Whole: s.Latency.Seconds() * where.Speed, Input: s.PromptTokens, Cached: s.CachedTokens,
			Output: s.OutputTokens, Server: -1}
		if s.OK() {
			one.Server = names[s.Server]
		}
		samples = append(samples, one)
	}
	// Without an answer they are as long as the run took, the least that clients waited in vain.
	waited := func(v float64) float64 {
		if math.IsNaN(v) {
			return r.Elapsed.Seconds() * where.Speed
		}
		return v
	}
	of := func(q replay.Quantiles) quantiles { return quantiles{waited(q.P50), waited(q.P90), waited(q.P99)} }
	// Answers that lack their server's name are taken for those of one more.
	servers := max(len(names), ladderServers)
	sum := replay.Summarise("", samples, servers, replay.Limits{TTFT: goodTTFT, TPOT: goodTPOT})
	_, _, tokens := r.Tokens()
	return &choice{occasion: where, Requests: len(samples), TTFT: of(sum.TTFT), Whole: of(sum.Whole),
		Hits: known(sum.Hits),
		Good: known(sum.Good), Imbalance: known(sum.Imbalance), Failed: r.Failed() + r.Dropped,
		Tokens: float64(tokens) / max(r.Elapsed.Seconds(), 1e-9) / where.Speed}
}

// known is a number that JSON can have.
func known(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}
