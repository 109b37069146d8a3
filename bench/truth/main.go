package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/replay"
	"github.com/pintle-dev/pintle/internal/replay/live"
	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/internal/stack"
)

// The bars.
const (
	mostPoints = 2
	mostPart   = 0.15
)

type options struct {
	trace                string
	from, seconds, speed float64
	scale                float64
	seeds                int
	servers              replay.Servers
}

func main() { stack.Main("truth", parseFlags, run) }

func parseFlags(args []string) (options, error) {
	o := options{servers: replay.DefaultServers()}
	f := flag.NewFlagSet("truth", flag.ContinueOnError)
	f.StringVar(&o.trace, "trace", "", "a trace that pintle replay reads; without one a made-up one")
	f.Float64Var(&o.from, "from", 0, "where the piece begins, in the trace's seconds")
	f.Float64Var(&o.seconds, "seconds", 120, "how long it is, in the trace's seconds")
	f.Float64Var(&o.speed, "speed", 1.5,
		"how many times faster than real ones the servers are; lower it on a slower machine")
	f.Float64Var(&o.scale, "scale", 1, "multiplies the rate of requests")
	f.IntVar(&o.seeds, "seeds", 21, "how many times it is replayed, each with other choices among equals")
	f.IntVar(&o.servers.Count, "servers", 4, "servers")
	f.IntVar(&o.servers.Blocks, "num-blocks", 60_000, "blocks of a server's KV cache")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 || o.speed < 0.1 || o.speed > 1000 || o.seconds <= 0 || o.scale <= 0 || o.servers.Count < 1 ||
		o.seeds < 1 {
		return o, errors.New("want no arguments, a -speed of 0.1 to 1000, and the others above 0")
	}
	return o, nil
}

func run(ctx context.Context, o options) error {
	requests, err := o.requests()
	if err != nil {
		return err
	}
	st, err := stack.New()
	if err != nil {
		return err
	}
	defer st.Close()
	url, err := o.start(ctx, st)
	if err != nil {
		return err
	}
	fmt.Printf("%d requests in %.0f s to %d servers, %g times as fast\n\n", len(requests), requests[len(requests)-1].At,
		o.servers.Count, o.speed)
	real, err := o.send(ctx, url, requests)
	if err := errors.Join(err, st.Check()); err != nil {
		return err
	}
	replays, err := o.replay(ctx, requests)
	if err != nil {
		return err
	}
	return compare(replay.Summarise("Envoy", real, o.servers.Count, replay.Limits{}), replays)
}

// replay replays the requests with every seed.
func (o *options) replay(ctx context.Context, requests []replay.Request) (all []*replay.Report, err error) {
	for seed := range uint64(o.seeds) {
		config, err := pluginconfig.Parse([]byte(`{"config": ` + shipped.JSON() + `}`))
		if err != nil {
			return nil, err
		}
		samples, err := replay.Run(ctx, config.Plan, requests,
			replay.Options{Servers: o.servers, Seed: seed, SampleEvery: scrapeEvery * o.speed})
		if err != nil {
			return nil, err
		}
		all = append(all, replay.Summarise("", samples, o.servers.Count, replay.Limits{}))
	}
	return all, nil
}

// scrapeEvery is how often the sidecar reads metrics, in seconds.
const scrapeEvery = 0.05

// requests are those of the piece, from 0 on. All are streams, as they are asked for, of which servers tell all tokens,
// whatever a recording's told.
func (o *options) requests() ([]replay.Request, error) {
	all := live.MadeUp(o.seconds)
	if o.trace != "" {
		file, err := os.Open(o.trace)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		trace, err := replay.Read(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.trace, err)
		}
		all = trace.Requests
	}
	var piece []replay.Request
	for _, r := range all {
		if r.At < o.from || r.At >= o.from+o.seconds || r.Input == 0 {
			continue
		}
		r.At = (r.At - o.from) / o.scale
		r.Model, r.Output, r.Stream = model, max(r.Output, 1), true
		r.Recorded = nil
		piece = append(piece, r)
	}
	slices.SortStableFunc(piece, func(a, b replay.Request) int { return cmp.Compare(a.At, b.At) })
	if len(piece) == 0 {
		return nil, errors.New("the piece has no requests")
	}
	o.spread(piece)
	return piece, nil
}

// apart is how far apart requests of the same moment are sent, in the client's seconds: a gateway has decided the one
// before by then, unless its prompt is among the longest.
const apart = 0.01

// spread has requests of the same moment keep their order on the way to Envoy. Where all requests of seconds have one
// time, as in Mooncake's traces, their order decides much: the median TTFT is half with short prompts first and half as
// much again with long ones first.
func (o *options) spread(piece []replay.Request) {
	for i := 1; i < len(piece); i++ {
		piece[i].At = max(piece[i].At, piece[i-1].At+apart*o.speed)
	}
}

// send sends the requests through Envoy and returns what the client saw, in the servers' seconds.
func (o *options) send(ctx context.Context, url string, requests []replay.Request) ([]replay.Sample, error) {
	c := load.Config{URL: url, Path: "/v1/completions", Drain: 5 * time.Minute, MaxInFlight: 1 << 20}
	for i := range requests {
		r := &requests[i]
		c.Requests = append(c.Requests, load.Request{Body: body(r)})
		c.Due = append(c.Due, time.Duration(r.At/o.speed*float64(time.Second)))
	}
	result, err := load.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	if failed := result.Failed() + result.Dropped; failed > 0 {
		return nil, fmt.Errorf("%d of %d requests failed", failed, len(requests))
	}
	names := map[string]int{}
	var samples []replay.Sample
	for _, s := range result.Samples {
		if _, ok := names[s.Server]; !ok {
			names[s.Server] = len(names)
		}
		samples = append(samples, replay.Sample{
			At: s.Start.Seconds() * o.speed, TTFT: s.TTFT.Seconds() * o.speed, TPOT: s.TPOT.Seconds() * o.speed,
			Whole: s.Latency.Seconds() * o.speed,
			Input: s.PromptTokens, Cached: s.CachedTokens, Output: s.OutputTokens, Server: names[s.Server],
		})
	}
	return samples, nil
}

// column is one that is compared.
type column struct {
	name, format string
	of           func(*replay.Report) float64
}

var (
	hits    = column{"hits %", "%.1f", func(r *replay.Report) float64 { return 100 * r.Hits }}
	half    = column{"TTFT p50 s", "%.3f", func(r *replay.Report) float64 { return r.TTFT.P50 }}
	ninety  = column{"TTFT p90 s", "%.3f", func(r *replay.Report) float64 { return r.TTFT.P90 }}
	columns = []column{
		half, ninety,
		{"p99", "%.3f", func(r *replay.Report) float64 { return r.TTFT.P99 }},
		{"TPOT p50 ms", "%.2f", func(r *replay.Report) float64 { return 1e3 * r.TPOT.P50 }},
		{"p90", "%.2f", func(r *replay.Report) float64 { return 1e3 * r.TPOT.P90 }},
		{"whole p50 s", "%.2f", func(r *replay.Report) float64 { return r.Whole.P50 }},
		{"p90", "%.2f", func(r *replay.Report) float64 { return r.Whole.P90 }},
		hits,
		{"busiest", "%.2f", func(r *replay.Report) float64 { return r.Imbalance }},
	}
)

// compare prints both, the median of the replays and their bounds, and says what differs by more than it may.
func compare(real *replay.Report, replays []*replay.Report) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	row := func(name string, cell func(column) string) {
		fmt.Fprint(out, name)
		for _, c := range columns {
			fmt.Fprint(out, "\t", cell(c))
		}
		fmt.Fprintln(out)
	}
	row("", func(c column) string { return c.name })
	row("Envoy", func(c column) string { return fmt.Sprintf(c.format, c.of(real)) })
	for _, of := range []struct {
		name string
		all  func(series.Series) float64
	}{
		{"replay", series.Series.Median},
		{"least", slices.Min[series.Series]},
		{"most", slices.Max[series.Series]},
	} {
		row(of.name, func(c column) string { return fmt.Sprintf(c.format, of.all(series.Of(replays, c.of))) })
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return wrong(real, replays)
}

// wrong says what differs by more than it may, or cannot be compared.
func wrong(real *replay.Report, replays []*replay.Report) error {
	var all []error
	if d := math.Abs(series.Of(replays, hits.of).Median() - hits.of(real)); !(d <= mostPoints) {
		all = append(all, fmt.Errorf("the parts found in caches differ by %.1f points, more than %d", d, mostPoints))
	}
	for _, c := range []column{half, ninety} {
		if d := math.Abs(series.Of(replays, c.of).Median()/c.of(real) - 1); !(d <= mostPart) {
			all = append(all, fmt.Errorf("%s differs by %.0f %%, more than %.0f", c.name, 100*d, 100*mostPart))
		}
	}
	return errors.Join(all...)
}
