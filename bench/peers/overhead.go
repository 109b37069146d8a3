package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/internal/wrk"
)

// round is what a peer did in one round.
type round struct {
	wrk.Result
	cpu time.Duration // of all its processes
}

func (r *round) cpuPerThousand() float64 { return r.cpu.Seconds() / float64(r.Requests) * 1000 }

// idlePause is for how long the peers are watched while nobody asks.
const idlePause = 5 * time.Second

// runOverhead compares what the peers cost before servers that answer at once.
func runOverhead(ctx context.Context, o options, st *stack.Stack, out io.Writer) error {
	first, err := stack.FreePorts(o.servers)
	if err != nil {
		return err
	}
	flags := []string{"-time-per-output-token", "0s", "-prefill-tokens-per-second", "1e12", "-num-blocks", "1000000"}
	if o.events > 0 {
		flags[1] = "2ms"
	}
	if _, err := st.Sims(ctx, "servers", serverPrefix, first, o.servers, flags...); err != nil {
		return err
	}
	b := &bench{stack: st, first: first, servers: o.servers}
	all, err := launchAll(ctx, o, b, out)
	if err != nil {
		return err
	}
	how := fmt.Sprintf("%d connections, one request after the other", o.connections)
	if o.rate > 0 {
		how = fmt.Sprintf("%g requests/s", o.rate)
	}
	fmt.Fprintf(out, "%d servers; %s; %d rounds of %v in turns: medians, min-max of the rounds\n\n", o.servers, how,
		o.rounds, o.duration)
	if err := writeIdle(ctx, out, all); err != nil {
		return err
	}
	var found [][][]*round
	for _, size := range o.sizes {
		rounds, err := measureAll(ctx, o, st, all, size)
		if err != nil {
			return err
		}
		writeOverhead(out, size, all, rounds)
		found = append(found, rounds)
	}
	fmt.Fprintf(out, "ratio: requests/s of the peer over those of %s in the same round. CPU: seconds of processor\n"+
		"time of all its processes for 1,000 requests, and that over the same.\n", all[0].what)
	if err := o.writePlot(func() string { return overheadPlot(o.sizes, all, found) }); err != nil {
		return err
	}
	return st.Check()
}

// launchAll starts the peers that can be had, and names the others.
func launchAll(ctx context.Context, o options, b *bench, out io.Writer) (all []*running, err error) {
	for i := range peers {
		p := &peers[i]
		if !slices.Contains(o.peers, p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "starting %s\n", p.what)
		r, err := b.launch(ctx, p)
		if errors.Is(err, errMissing) {
			fmt.Fprintf(out, "%s is not among them: %v\n", p.what, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, errors.New("there is nothing to measure")
	}
	return all, nil
}

// writeIdle tells what the peers need while nobody asks.
func writeIdle(ctx context.Context, out io.Writer, all []*running) error {
	before := make([]time.Duration, len(all))
	for i, r := range all {
		var err error
		if before[i], _, err = r.usage(); err != nil {
			return err
		}
	}
	began := time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(idlePause):
	}
	fmt.Fprintf(out, "%-40s %12s %12s\n", "while nobody asks", "cores", "memory")
	for i, r := range all {
		used, memory, err := r.usage()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-40s %12.3f %9d MB\n", r.what, (used-before[i]).Seconds()/time.Since(began).Seconds(),
			memory>>20)
	}
	fmt.Fprintln(out)
	return nil
}

// measureAll measures all peers in turns, each round in another order.
func measureAll(ctx context.Context, o options, st *stack.Stack, all []*running, size int) ([][]*round, error) {
	found := make([][]*round, len(all))
	random := rand.New(rand.NewPCG(1, uint64(size)))
	body, err := o.body(size)
	if err != nil {
		return nil, err
	}
	for n := range o.rounds + 1 {
		fmt.Fprintf(os.Stderr, "%d KB, round %d of %d\n", size, n, o.rounds)
		for _, i := range random.Perm(len(all)) {
			r, err := o.measure(ctx, st, all[i], body, size)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", all[i].name, err)
			}
			if n > 0 { // the first one warms up
				found[i] = append(found[i], r)
			}
		}
	}
	return found, nil
}

// body is a chat request of so many KB.
func (o options) body(size int) ([]byte, error) {
	text := strings.Repeat("abc ", max(size<<10-200, 0)/4)
	return json.Marshal(map[string]any{"model": "sim-model", "max_tokens": max(o.events, 16), "stream": o.events > 0,
		"messages": []map[string]string{{"role": "user", "content": text}}})
}

// measure measures one peer for a round.
func (o options) measure(ctx context.Context, st *stack.Stack, r *running, body []byte, size int) (*round, error) {
	before, _, err := r.usage()
	if err != nil {
		return nil, err
	}
	measured := &round{}
	if o.rate > 0 {
		measured.Result, err = o.atRate(ctx, r, body)
	} else {
		var path string
		if path, err = wrk.Script(st.Dir, fmt.Sprintf("%s-%d", r.name, size), body, r.headers); err != nil {
			return nil, err
		}
		var result *wrk.Result
		if result, err = wrk.Run(ctx, path, stack.Address(r.port), o.connections, o.duration); result != nil {
			measured.Result = *result
		}
		if errors.Is(err, wrk.ErrFailed) {
			err = nil // the table tells
		}
	}
	if err != nil {
		return nil, err
	}
	after, _, err := r.usage()
	measured.cpu = after - before
	return measured, err
}

// atRate sends requests at a rate, whether or not earlier ones have been answered.
func (o options) atRate(ctx context.Context, r *running, body []byte) (wrk.Result, error) {
	found, err := load.Run(ctx, load.Config{URL: "http://" + stack.Address(r.port), Rate: o.rate,
		Requests: []load.Request{{Body: body, Header: r.header()}}, Duration: o.duration, Seed: 1})
	if err != nil {
		return wrk.Result{}, err
	}
	if found.Succeeded() == 0 {
		return wrk.Result{}, fmt.Errorf("no request was answered: %v", found.Errors())
	}
	latency := found.Percentiles(load.Latency, 50, 99)
	return wrk.Result{Requests: int64(found.Succeeded()), Micros: found.Elapsed.Microseconds(),
		P50: latency[0].Microseconds(), P99: latency[1].Microseconds(),
		Failures: int64(found.Failed() + found.Dropped)}, nil
}

func writeOverhead(out io.Writer, size int, all []*running, found [][]*round) {
	fmt.Fprintf(out, "%-40s %8s %15s %11s %11s   %-17s %8s %6s %7s\n", fmt.Sprintf("%d KB", size), "req/s", "min-max",
		"p50", "p99", "ratio", "CPU", "ratio", "failed")
	for i, r := range all {
		rates, cpu := series.Of(found[i], (*round).PerSecond), series.Of(found[i], (*round).cpuPerThousand)
		ratio, cpuRatio, failed := "", "", int64(0)
		for _, one := range found[i] {
			failed += one.Failures + one.Statuses
		}
		if i > 0 {
			over := rates.Over(series.Of(found[0], (*round).PerSecond))
			ratio = fmt.Sprintf("%.2f (%s)", over.Median(), over.Spread("%.2f"))
			cpuRatio = fmt.Sprintf("%.2f", cpu.Over(series.Of(found[0], (*round).cpuPerThousand)).Median())
		}
		fmt.Fprintf(out, "%-40s %8.0f %15s %8.2f ms %8.2f ms   %-17s %8.3f %6s %7d\n", r.what, rates.Median(),
			rates.Spread("%.0f"), series.Of(found[i], (*round).P50Millis).Median(),
			series.Of(found[i], (*round).P99Millis).Median(), ratio, cpu.Median(), cpuRatio,
			failed)
	}
	fmt.Fprintln(out)
}
