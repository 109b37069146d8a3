package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/stack"
)

// The setup of llm-d's report "73-capacity": Qwen3-32B on 8 servers of two H100 each, 150 groups of 5 users, as
// bench/routing has it.
const (
	ladderServers = 8
	ladderGroups  = 150
	ladderUsers   = 5
	// warmUpRate fills the caches, with one request of each user.
	warmUpRate = 15
	drainLimit = 2 * time.Minute
)

func ladderFlags(speed float64) []string {
	return []string{"-speed", strconv.FormatFloat(speed, 'g', -1, 64), "-max-num-seqs", "256", "-num-blocks", "19208",
		"-prefill-tokens-per-second", "12000", "-time-per-output-token", "11ms", "-batch-slowdown", "0.028",
		"-stream-interval", "50"}
}

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

// runLadder has each peer, before servers of its own, serve the same users at rising rates.
func runLadder(ctx context.Context, o options, st *stack.Stack, out io.Writer) error {
	requests := load.SharedPrefix{Model: "sim-model", Groups: ladderGroups, Users: ladderUsers, SystemTokens: 6000,
		QuestionTokens: 1200, OutputTokens: 1000, Count: ladderGroups * ladderUsers * (len(o.ladder) + 1),
		Seed: 1}.Requests()
	fmt.Fprintf(out, "%d servers, %d groups of %d users; 6000 + 1200 tokens in, 1000 out; speed %g\n\n", ladderServers,
		ladderGroups, ladderUsers, o.speed)
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
	servers, err := st.Sims(ctx, p.name+"-servers", serverPrefix, first, ladderServers, ladderFlags(o.speed)...)
	if err != nil {
		return nil, err
	}
	defer servers.Stop()
	r, err := (&bench{stack: st, first: first, servers: ladderServers}).launch(ctx, p)
	if err != nil {
		return nil, err
	}
	defer r.stop()
	users := ladderGroups * ladderUsers
	for n, rate := range append([]float64{warmUpRate}, o.ladder...) {
		fmt.Fprintf(os.Stderr, "%s at %g/s\n", p.what, rate)
		result, err := load.Run(ctx, load.Config{URL: "http://" + stack.Address(r.port),
			Requests: requests[n*users : (n+1)*users], Rate: rate * o.speed, Count: users, Seed: uint64(n),
			Drain: drainLimit, MaxInFlight: 1 << 20, Header: r.header()})
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
