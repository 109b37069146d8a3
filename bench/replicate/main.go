// Command replicate measures what it costs that several gateways decide as one, on one machine: how long it takes until
// a decision of one gateway is known to another, and how much processor time the sidecars and the Envoys take for it,
// at a rate of requests that is spread over all gateways. Every request has a prompt of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/sim"
	"github.com/pintle-dev/pintle/internal/stack"
)

type options struct {
	gateways, rate, kilobytes int
	warmUp, duration          time.Duration
	// rounds is how many pairs of rounds are compared, of each so long, where clients that ask one after another have
	// so many connections; 0 measures delays and processor time instead.
	rounds, connections int
	each                time.Duration
	// sessions is how often conversations are compared instead.
	sessions int
	// alone leaves smg out of that.
	alone bool
	// fair is how often users' shares, bursts how often the spread of bursts is compared instead.
	fair, bursts int
}

// The bars.
const (
	mostDelay = 100 * time.Millisecond
	mostCores = 0.15
)

func main() { stack.Main("replicate", parseFlags, run) }

func parseFlags(args []string) (o options, err error) {
	f := flag.NewFlagSet("replicate", flag.ContinueOnError)
	f.IntVar(&o.gateways, "gateways", 4, "gateways, 2 or more")
	f.IntVar(&o.rate, "rate", 500, "requests per second, over all gateways")
	f.IntVar(&o.kilobytes, "kilobytes", 2, "length of a prompt")
	f.DurationVar(&o.warmUp, "warm-up", 3*time.Second, "time before a measurement")
	f.DurationVar(&o.duration, "duration", 15*time.Second, "length of a measurement")
	f.IntVar(&o.rounds, "rounds", 0, "compare requests/s with those of gateways that share nothing, in so many "+
		"pairs of rounds, in place of all else")
	f.DurationVar(&o.each, "each", 500*time.Millisecond, "with -rounds: length of a round")
	f.IntVar(&o.connections, "connections", 8, "with -rounds: connections of clients that ask as much as they can")
	f.IntVar(&o.sessions, "sessions", 0, "compare what conversations find cached, also with smg, so often, in place "+
		"of all else")
	f.BoolVar(&o.alone, "alone", false, "with -sessions: without smg")
	f.IntVar(&o.fair, "fair", 0, "compare users' shares by vtc-basic so often, in place of all else")
	f.IntVar(&o.bursts, "bursts", 0, "compare how evenly bursts are spread so often, in place of all else")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.gateways < 2 || min(o.rate, o.kilobytes, o.connections) < 1 || o.each <= 0 || o.duration < time.Second ||
		f.NArg() > 0 {
		return o, errors.New("want no arguments, -gateways of 2 or more, -rate, -kilobytes and -connections of 1 or " +
			"more, -each above 0, and -duration of 1s or more")
	}
	return o, nil
}

// usage is what a gateway's processes take, in cores.
type usage struct{ sidecar, envoy float64 }

func run(ctx context.Context, o options) error {
	folder, err := os.MkdirTemp("", "pintle-replicate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	valkey, err := harness.NewValkey(folder, "--appendonly", "no")
	if err != nil {
		return err
	}
	defer valkey.Kill()
	if o.sessions > 0 {
		return compareSessions(ctx, o, folder, valkey)
	}
	if o.fair > 0 {
		return compareFairness(ctx, o, folder, valkey)
	}
	if o.bursts > 0 {
		return compareBursts(ctx, o, folder, valkey)
	}
	if o.rounds > 0 {
		return comparePairs(ctx, o, folder, valkey)
	}
	fmt.Printf("%d gateways, %d requests/s over all of them, prompts of %d KB\n", o.gateways, o.rate, o.kilobytes)
	alone, _, err := measure(ctx, o, folder, "")
	if err != nil {
		return err
	}
	together, delays, err := measure(ctx, o, folder, valkey.Address)
	if err != nil {
		return err
	}
	fmt.Printf("cores a gateway    sidecar  Envoy\n  each for itself  %7.3f  %5.3f\n  as one           %7.3f  %5.3f\n",
		alone.sidecar, alone.envoy, together.sidecar, together.envoy)
	more := together.sidecar + together.envoy - alone.sidecar - alone.envoy
	fmt.Printf("  more             %.3f (bar: %.2f)\n", more, mostCores)
	slices.Sort(delays)
	at := func(percent int) time.Duration {
		return series.Percentile(delays, percent).Round(100 * time.Microsecond)
	}
	fmt.Printf("from a decision until another gateway has it, %d of them: p50 %v, p90 %v, p99 %v (bar: %v), most %v\n",
		len(delays), at(50), at(90), at(99), mostDelay, at(100))
	if series.Percentile(delays, 99) > mostDelay || more > mostCores {
		return errors.New("a bar is missed")
	}
	return nil
}

// measure loads gateways that share what they know over a server at redis; empty is nowhere.
func measure(ctx context.Context, o options, folder, redis string) (mean usage, delays []time.Duration, err error) {
	servers, err := startServers(sim.Config{})
	if err != nil {
		return mean, nil, err
	}
	defer closeAll(servers)
	gateways, err := startGateways(o.gateways, folder, redis, asShipped, servers)
	if err != nil {
		return mean, nil, err
	}
	defer stopAll(gateways)
	ctx, cancel := context.WithTimeout(ctx, o.warmUp+o.duration)
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- drive(ctx, o, gateways) }()
	time.Sleep(o.warmUp)
	before, began := processorTime(gateways), time.Now()
	watched := make(chan []time.Duration, 1)
	go func() { watched <- gateways[0].watch(ctx, gateways[1:]) }()
	if err := <-failed; err != nil {
		return mean, nil, err
	}
	delays = <-watched
	after, took := processorTime(gateways), time.Since(began)
	share := func(a, b time.Duration) float64 {
		return (b - a).Seconds() / took.Seconds() / float64(o.gateways)
	}
	mean = usage{share(before[0], after[0]), share(before[1], after[1])}
	if redis != "" && len(delays) == 0 {
		return mean, nil, errors.New("no gateway has heard of another's decision")
	}
	return mean, delays, nil
}

// processorTime is what all sidecars, and all Envoys, have used.
func processorTime(gateways []*gateway) (all [2]time.Duration) {
	for _, g := range gateways {
		for i, p := range []*stack.Process{g.sidecar, g.envoy.Process} {
			used, err := p.CPU()
			if err == nil { // it shows as missing
				all[i] += used
			}
		}
	}
	return all
}
