package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/replay"
	"github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/scoring"
)

type options struct {
	gateways      int
	seconds, warm float64
	part          float64
	seed          uint64
	config        string
	lags          []time.Duration
}

func main() { stack.Main("scale", parseFlags, run) }

func parseFlags(args []string) (o options, err error) {
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	f.IntVar(&o.gateways, "gateways", 8, "gateways, 2 or more")
	f.Float64Var(&o.seconds, "seconds", 90, "for how long sessions begin")
	f.Float64Var(&o.warm, "warm", 60, "for how many seconds from the beginning requests do not count")
	f.Float64Var(&o.part, "part", 0.25, "part of the published servers and sessions")
	f.Uint64Var(&o.seed, "seed", 1, "seed of random choices")
	lags := f.String("lags", "0,50ms,100ms,250ms,1s", "how late gateways know of each other, separated by commas")
	f.StringVar(&o.config, "c", "", "a filter configuration as JSON (default: the shipped one)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for text := range strings.SplitSeq(*lags, ",") {
		lag, err := time.ParseDuration(text)
		if err != nil {
			return o, fmt.Errorf("-lags: %w", err)
		}
		o.lags = append(o.lags, lag)
	}
	if o.gateways < 2 || o.warm < 0 || o.seconds <= o.warm || o.part < 0.01 || f.NArg() > 0 {
		return o, errors.New("want no arguments, -gateways of 2 or more, -part of 0.01 or more, and -seconds above " +
			"-warm")
	}
	return o, nil
}

// way is how gateways decide; lag is in seconds, below 0 they know nothing of each other.
type way struct {
	name     string
	gateways int
	lag      float64
}

func run(ctx context.Context, o options) error {
	ways := []way{{"1 gateway", 1, 0}}
	for _, lag := range o.lags {
		ways = append(ways, way{fmt.Sprintf("%d gateways, %v", o.gateways, lag), o.gateways, lag.Seconds()})
	}
	ways = append(ways, way{fmt.Sprintf("%d gateways, apart", o.gateways), o.gateways, -1})
	requests, follows := sessions(o.seconds, o.part, o.seed)
	fmt.Printf("%d requests in %.0f s, %d servers\n%-22s %17s %12s %18s %6s %9s %9s\n", len(requests), o.seconds,
		servers(o.part).Count, "", "follow-ups cached", "of 1 gateway", "at the same server", "CoV", "TTFT p50", "p99")
	results := make([]result, len(ways))
	errs := make([]chan error, len(ways))
	for i := range ways {
		errs[i] = make(chan error, 1)
	}
	var next atomic.Int32
	for range 2 { // each has all states in memory
		go func() {
			for i := int(next.Add(1)) - 1; i < len(ways); i = int(next.Add(1)) - 1 {
				var err error
				results[i], err = ways[i].decide(ctx, o, requests, follows)
				errs[i] <- err
			}
		}()
	}
	for i, w := range ways {
		if err := <-errs[i]; err != nil {
			return err
		}
		r := results[i]
		fmt.Printf("%-22s %17.3f %12.3f %18.3f %6.3f %6.0f ms %6.0f ms\n", w.name, r.cached,
			r.cached/results[0].cached, r.same, r.variation, r.p50*1000, r.p99*1000)
	}
	return nil
}

// result is what came of a way: the share of the follow-ups' tokens that were found cached, the share of follow-ups
// that went to the server of the turn before, the coefficient of variation of the servers' requests, and times to first
// tokens in seconds.
type result struct{ cached, same, variation, p50, p99 float64 }

func (w way) decide(ctx context.Context, o options, requests []replay.Request, follows []bool) (r result, err error) {
	text := []byte(shipped.JSON())
	if o.config != "" {
		if text, err = os.ReadFile(o.config); err != nil {
			return r, err
		}
	}
	var plans []*scoring.Plan
	for range w.gateways {
		c, err := pluginconfig.Parse(text)
		if err != nil {
			return r, err
		}
		plans = append(plans, c.Plan)
	}
	samples, err := replay.Run(ctx, plans[0], requests, replay.Options{Servers: servers(o.part), Seed: o.seed,
		Others: plans[1:], Lag: w.lag})
	if err != nil {
		return r, err
	}
	return sum(samples, requests, follows, o), nil
}

// sum sums samples up, which are in the order of requests.
func sum(samples []replay.Sample, requests []replay.Request, follows []bool, o options) (r result) {
	var input, cached, same, turns int
	counts := make([]float64, servers(o.part).Count)
	first := map[uint64]int{} // the server of a session's first turn, by its first block that is no other's
	var counted []replay.Sample
	for i, s := range samples {
		session := requests[i].Prompt.Blocks[sharedTokens/unit]
		if s.Server < 0 {
			continue
		}
		if !follows[i] {
			first[session] = s.Server
		}
		if s.At < o.warm {
			continue
		}
		counted = append(counted, s)
		counts[s.Server]++
		if !follows[i] {
			continue
		}
		turns++
		input, cached = input+s.Input, cached+s.Cached
		if first[session] == s.Server {
			same++
		}
	}
	times := replay.Summarise("", counted, len(counts), replay.Limits{}).TTFT
	return result{float64(cached) / float64(input), float64(same) / float64(turns), variation(counts), times.P50,
		times.P99}
}

// variation is the standard deviation over the mean.
func variation(of []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range of {
		mean += v / float64(len(of))
	}
	for _, v := range of {
		squares += (v - mean) * (v - mean) / float64(len(of))
	}
	return math.Sqrt(squares) / mean
}
