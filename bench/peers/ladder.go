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

// runLadder has each peer, before servers of its own, serve the same users at rising rates.
func runLadder(ctx context.Context, o options, st *stack.Stack, out io.Writer) error {
	requests := load.SharedPrefix{Model: "sim-model", Groups: ladderGroups, Users: ladderUsers, SystemTokens: 6000,
		QuestionTokens: 1200, OutputTokens: 1000, Count: ladderGroups * ladderUsers * (len(o.ladder) + 1),
		Seed: 1}.Requests()
	fmt.Fprintf(out, "%d servers, %d groups of %d users; 6000 + 1200 tokens in, 1000 out; speed %g\n\n", ladderServers,
		ladderGroups, ladderUsers, o.speed)
	fmt.Fprintf(out, "%-40s %8s %10s %10s %8s %10s %8s\n", "", "rate", "TTFT p50", "TTFT p90", "hits", "tokens/s",
		"failed")
	for i := range peers {
		p := &peers[i]
		if !slices.Contains(o.peers, p.name) {
			continue
		}
		err := o.climb(ctx, st, p, requests, out)
		if errors.Is(err, errMissing) {
			fmt.Fprintf(out, "%-40s %v\n", p.what, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// climb runs one peer through all rates.
func (o options) climb(ctx context.Context, st *stack.Stack, p *peer, requests []load.Request, out io.Writer) error {
	first, err := stack.FreePorts(ladderServers)
	if err != nil {
		return err
	}
	servers, err := st.Sims(ctx, p.name+"-servers", serverPrefix, first, ladderServers, ladderFlags(o.speed)...)
	if err != nil {
		return err
	}
	defer servers.Stop()
	r, err := (&bench{stack: st, first: first, servers: ladderServers}).launch(ctx, p)
	if err != nil {
		return err
	}
	defer r.stop()
	users := ladderGroups * ladderUsers
	for n, rate := range append([]float64{warmUpRate}, o.ladder...) {
		fmt.Fprintf(os.Stderr, "%s at %g/s\n", p.what, rate)
		result, err := load.Run(ctx, load.Config{URL: "http://" + stack.Address(r.port),
			Requests: requests[n*users : (n+1)*users], Rate: rate * o.speed, Count: users, Seed: uint64(n),
			Drain: drainLimit, MaxInFlight: 1 << 20, Header: r.header()})
		if err != nil {
			return err
		}
		if n > 0 {
			writeStage(out, p.what, rate, o.speed, result)
		}
	}
	return nil
}

// header is what requests to the peer have to carry.
func (r *running) header() http.Header {
	h := http.Header{}
	for key, value := range r.headers {
		h.Set(key, value)
	}
	return h
}

// writeStage tells what the clients saw, in the servers' time.
func writeStage(out io.Writer, what string, rate, speed float64, r *load.Result) {
	ttft := r.Percentiles(load.TTFT, 50, 90)
	prompt, cached, tokens := r.Tokens()
	fmt.Fprintf(out, "%-40s %8g %8.3f s %8.3f s %6.1f %% %10.0f %8d\n", what, rate, ttft[0].Seconds()*speed,
		ttft[1].Seconds()*speed, 100*float64(cached)/max(float64(prompt), 1),
		float64(tokens)/max(r.Elapsed.Seconds(), 1e-9)/speed, r.Failed()+r.Dropped)
}
