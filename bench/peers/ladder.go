package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/stack"
)

// drainLimit is how long a stage may go on after its last request, in wall time.
const drainLimit = 2 * time.Minute

// stage is what the clients of a peer saw at a rate, in the servers' time.
type stage struct {
	rate     float64
	p50, p90 float64 // of the time to the first token, seconds
	hits     float64 // of prompt tokens, 0 to 1
	tokens   float64 // of answers, a second
	failed   int
}

// climbed is a peer with its stages.
type climbed struct {
	what   string
	stages []stage
}

// runLadder has each peer, before servers of its own, serve the same clients at rising rates.
func runLadder(ctx context.Context, o options, st *stack.Stack, out io.Writer) error {
	requests := o.workload.requests(stageRequests * (len(o.ladder) + 1))
	fmt.Fprintf(out, "%d servers; %s; speed %g\n\n", ladderServers, o.workload.what, o.speed)
	fmt.Fprintf(out, "%-40s %8s %10s %10s %8s %10s %8s\n", "", "rate", "TTFT p50", "TTFT p90", "hits", "tokens/s",
		"failed")
	var all []climbed
	for i := range peers {
		p := &peers[i]
		if !slices.Contains(o.peers, p.name) {
			continue
		}
		stages, err := o.climb(ctx, st, p, requests)
		if errors.Is(err, errMissing) {
			fmt.Fprintf(out, "%-40s %v\n", p.what, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, s := range stages {
			s.write(out, p.what)
		}
		all = append(all, climbed{p.what, stages})
	}
	if len(all) == 0 {
		return errors.New("there is nothing to measure")
	}
	return o.writePlot(func() string { return ladderPlot(all) })
}

// climb runs one peer through all rates.
func (o options) climb(ctx context.Context, st *stack.Stack, p *peer,
	requests []load.Request) (stages []stage, err error) {
	first, err := stack.FreePorts(ladderServers)
	if err != nil {
		return nil, err
	}
	servers, odd, err := o.workload.fleet(ctx, st, p.name, first, o.speed)
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
	for n, rate := range append([]float64{warmUpRate}, o.ladder...) {
		fmt.Fprintf(os.Stderr, "%s at %g/s\n", p.what, rate)
		cancel := func() {}
		if n == 1 {
			cancel = o.workload.befall(odd, rate*o.speed)
		}
		result, err := load.Run(ctx, load.Config{URL: "http://" + stack.Address(r.port),
			Requests: requests[n*stageRequests : (n+1)*stageRequests], Rate: rate * o.speed, Count: stageRequests,
			Seed: uint64(n), Drain: drainLimit, MaxInFlight: 1 << 20, Header: r.header()})
		cancel()
		if err != nil {
			return nil, err
		}
		if n > 0 {
			stages = append(stages, stageOf(rate, o.speed, result))
		}
	}
	return stages, nil
}

// header is what requests to the peer have to carry.
func (r *running) header() http.Header {
	h := http.Header{}
	for key, value := range r.headers {
		h.Set(key, value)
	}
	return h
}

func stageOf(rate, speed float64, r *load.Result) stage {
	ttft := r.Percentiles(load.TTFT, 50, 90)
	prompt, cached, tokens := r.Tokens()
	return stage{rate: rate, p50: ttft[0].Seconds() * speed, p90: ttft[1].Seconds() * speed,
		hits:   float64(cached) / max(float64(prompt), 1),
		tokens: float64(tokens) / max(r.Elapsed.Seconds(), 1e-9) / speed, failed: r.Failed() + r.Dropped}
}

func (s stage) write(out io.Writer, what string) {
	fmt.Fprintf(out, "%-40s %8g %8.3f s %8.3f s %6.1f %% %10.0f %8d\n", what, s.rate, s.p50, s.p90, 100*s.hits,
		s.tokens, s.failed)
}
