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
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/internal/wrk"
)

// idlePause is for how long the peers are watched while nobody asks.
const idlePause = 5 * time.Second

// runCosts compares what the peers cost before servers that answer at once.
func runCosts(ctx context.Context, o options, st *stack.Stack, out io.Writer) ([]record, error) {
	first, err := stack.FreePorts(o.servers)
	if err != nil {
		return nil, err
	}
	pace := "0s"
	if o.events > 0 {
		pace = "2ms"
	}
	if _, err := st.Sims(ctx, "servers", serverPrefix, first, o.servers, "-time-per-output-token", pace,
		"-prefill-tokens-per-second", "1e12", "-num-blocks", "1000000", "-metrics-padding",
		strconv.Itoa(o.page)); err != nil {
		return nil, err
	}
	b := &bench{stack: st, first: first, servers: o.servers}
	groups := [][]string{o.peers}
	if o.alone {
		groups = nil
		for _, name := range o.peers {
			groups = append(groups, []string{name})
		}
	}
	var found []record
	for _, group := range groups {
		records, err := costsOf(ctx, o, b, group, out)
		found = append(found, records...)
		if err := errors.Join(err, appendRaw(o.raw, records)); err != nil {
			return found, err
		}
	}
	return found, nil
}

// costsOf runs some peers beside each other, which work in turns.
func costsOf(ctx context.Context, o options, b *bench, group []string, out io.Writer) (found []record, err error) {
	all, err := launchAll(ctx, group, b, out)
	defer func() {
		for _, r := range all {
			r.stop()
		}
	}()
	if err != nil {
		return nil, err
	}
	if found, err = o.watchIdle(ctx, all); err != nil {
		return nil, err
	}
	rates := o.rates
	if len(rates) == 0 {
		rates = []float64{0}
	}
	for _, size := range o.sizes {
		for _, rate := range rates {
			where := setting{Servers: o.servers, PageKB: o.page, KB: size, Events: o.events, New: o.fresh,
				Rate: rate}
			if rate == 0 {
				where.Connections = o.connections
			}
			records, err := o.measureAll(ctx, b.stack, all, where)
			if err != nil {
				return found, err
			}
			found = append(found, records...)
		}
	}
	return found, allUp(all)
}

// allUp is an error where a peer's process has ended by itself.
func allUp(all []*running) error {
	for _, r := range all {
		for _, p := range r.processes {
			if p.Ended() {
				return fmt.Errorf("%s has ended:\n%s", r.name, p.Log())
			}
		}
	}
	return nil
}

// launchAll starts the peers that can be had, and names the others.
func launchAll(ctx context.Context, group []string, b *bench, out io.Writer) (all []*running, err error) {
	for i := range peers {
		p := &peers[i]
		if !slices.Contains(group, p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "starting %s\n", p.what)
		r, err := b.launch(ctx, p)
		if errors.Is(err, errMissing) {
			fmt.Fprintf(out, "%s is not among them: %v\n", p.what, err)
			continue
		}
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

// watchIdle tells what the peers need while nobody asks.
func (o *options) watchIdle(ctx context.Context, all []*running) (found []record, err error) {
	before := make([]time.Duration, len(all))
	for i, r := range all {
		if before[i], _, err = r.usage(); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(idlePause):
	}
	for i, r := range all {
		used, memory, err := r.usage()
		if err != nil {
			return nil, err
		}
		found = append(found, record{Go: o.began, Peer: r.name, Idle: &idle{Servers: o.servers, PageKB: o.page,
			Cores: (used - before[i]).Seconds() / time.Since(began).Seconds(), MB: float64(memory >> 20)}})
	}
	return found, nil
}

// measureAll measures peers in turns, each round in another order.
func (o *options) measureAll(ctx context.Context, st *stack.Stack, all []*running, where setting) ([]record, error) {
	var found []record
	random := rand.New(rand.NewPCG(1, uint64(where.KB)))
	body, err := o.body(where.KB)
	if err != nil {
		return nil, err
	}
	for n := range o.rounds + 1 {
		fmt.Fprintf(os.Stderr, "%d KB, %g/s, round %d of %d\n", where.KB, where.Rate, n, o.rounds)
		for _, i := range random.Perm(len(all)) {
			c, err := o.measure(ctx, st, all[i], body, where)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", all[i].name, err)
			}
			if c.Round = n; n > 0 { // the first one warms up
				found = append(found, record{Go: o.began, Peer: all[i].name, Cost: c})
			}
		}
	}
	return found, nil
}

// word is what prompts repeat.
const word = "abc "

// body is a chat request of so many KB.
func (o *options) body(size int) ([]byte, error) {
	text := strings.Repeat(word, max(size<<10-200, 0)/len(word))
	return json.Marshal(map[string]any{"model": model, "max_tokens": max(o.events, 16), "stream": o.events > 0,
		"messages": []map[string]string{{"role": "user", "content": text}}})
}

// measure measures one peer for a round.
func (o *options) measure(ctx context.Context, st *stack.Stack, r *running, body []byte,
	where setting) (*cost, error) {
	before, _, err := r.usage()
	if err != nil {
		return nil, err
	}
	var measured wrk.Result
	if where.Rate > 0 {
		measured, err = o.atRate(ctx, r, body, where.Rate)
	} else {
		measured, err = o.inALoop(ctx, st, r, body, where.KB)
	}
	if err != nil {
		return nil, err
	}
	after, _, err := r.usage()
	return &cost{setting: where, PerSecond: measured.PerSecond(), P50: measured.P50Millis(), P99: measured.P99Millis(),
		CPU:    float64((after - before).Microseconds()) / 1000 / max(float64(measured.Requests), 1),
		Failed: measured.Failures + measured.Statuses}, err
}

// inALoop sends one request after another on each connection.
func (o *options) inALoop(ctx context.Context, st *stack.Stack, r *running, body []byte, size int) (wrk.Result, error) {
	path, err := o.script(st.Dir, fmt.Sprintf("%s-%d", r.name, size), body, r.headers)
	if err != nil {
		return wrk.Result{}, err
	}
	result, err := wrk.Run(ctx, path, stack.Address(r.port), o.connections, o.duration)
	if errors.Is(err, wrk.ErrNone) {
		return o.unanswered(int64(o.connections)), nil
	}
	if result != nil && (err == nil || errors.Is(err, wrk.ErrFailed)) {
		if result.Requests == 0 {
			return o.unanswered(result.Failures + result.Statuses), nil
		}
		return *result, nil // the table tells what failed
	}
	return wrk.Result{}, err
}

// unanswered is a round in which so many requests had no answer, and none had one: its length is the least that they
// waited.
func (o *options) unanswered(requests int64) wrk.Result {
	waited := o.duration.Microseconds()
	return wrk.Result{Micros: waited, P50: waited, P99: waited, Failures: requests}
}

func (o *options) script(dir, name string, body []byte, headers map[string]string) (path string, err error) {
	if o.fresh {
		return wrk.FreshScript(dir, name, body, headers, strings.Repeat(word, 4))
	}
	return wrk.Script(dir, name, body, headers)
}

// atRate sends requests at a rate, whether or not earlier ones have been answered.
func (o *options) atRate(ctx context.Context, r *running, body []byte, rate float64) (wrk.Result, error) {
	found, err := load.Run(ctx, load.Config{URL: "http://" + stack.Address(r.port), Rate: rate,
		Requests: []load.Request{{Body: body, Header: r.header()}}, Duration: o.duration, Seed: 1})
	if err != nil {
		return wrk.Result{}, err
	}
	if found.Succeeded() == 0 {
		fmt.Fprintf(os.Stderr, "%s answered no request: %v\n", r.name, found.Errors())
		return o.unanswered(int64(found.Failed() + found.Dropped)), nil
	}
	latency := found.Percentiles(load.Latency, 50, 99)
	return wrk.Result{Requests: int64(found.Succeeded()), Micros: found.Elapsed.Microseconds(),
		P50: latency[0].Microseconds(), P99: latency[1].Microseconds(),
		Failures: int64(found.Failed() + found.Dropped)}, nil
}
