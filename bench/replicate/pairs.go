package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/stack"
)

// least is the bar: the requests per second of Envoys that replicate, over those of Envoys that do not.
const least = 0.97

// round is what one fleet did in a round.
type round struct {
	perSecond, p50, p99 float64 // milliseconds
	// envoy, sidecar, valkey and rest are microseconds of processor time for a request; the rest is the servers and the
	// client.
	envoy, sidecar, valkey, rest float64
}

// shape is a way to load a fleet.
type shape struct {
	name string
	// rate is in requests per second over all gateways; 0 has clients ask one after another.
	rate int
	// gateways is how many of them are asked.
	gateways int
	// meanwhile, when set, goes on while gateways are loaded, such that those hear of it that share what they know.
	// What it takes of the machine is taken from all.
	meanwhile func(ctx context.Context, heard bool)
}

// comparePairs loads gateways that share what they know, and others that do not, in turns.
func comparePairs(ctx context.Context, o options, folder string, valkey *harness.Valkey) error {
	servers, err := startServers(instant)
	if err != nil {
		return err
	}
	defer closeAll(servers)
	missed, err := compareOne(ctx, o, folder, valkey, servers)
	if err != nil {
		return err
	}
	var fleets [2][]*gateway
	for i, redis := range []string{"", valkey.Address} {
		gateways, err := startGateways(o.gateways, folder, redis, asShipped, servers)
		if err != nil {
			return err
		}
		defer stopAll(gateways)
		fleets[i] = gateways
	}
	for _, s := range []shape{
		{name: fmt.Sprintf("%d Envoys on one machine, %d requests/s", o.gateways, o.rate), rate: o.rate,
			gateways: o.gateways},
		{name: fmt.Sprintf("%d Envoys on one machine, as much as they can", o.gateways), gateways: o.gateways},
	} {
		rounds, err := s.measure(ctx, o, fleets, valkey.PID())
		if err != nil {
			return err
		}
		s.write(o, rounds) // they share the processors with what they tell each other
	}
	if missed {
		return fmt.Errorf("requests/s are below %.2f of those without", least)
	}
	return nil
}

// measure returns the rounds of both fleets.
func (s shape) measure(ctx context.Context, o options, fleets [2][]*gateway, valkey int) (all [2][]round, err error) {
	for n := range o.rounds + 1 {
		for _, i := range rand.Perm(len(fleets)) {
			r, err := s.round(ctx, o, fleets[i], i == 1, valkey)
			if err != nil {
				return all, err
			}
			if n > 0 { // the first warms up
				all[i] = append(all[i], r)
			}
		}
	}
	return all, nil
}

// write writes what became of the rounds, and returns the ratio of the requests.
func (s shape) write(o options, rounds [2][]round) float64 {
	fmt.Printf("\n%s, %d pairs of %v\n%28s %10s %10s  ratio (%s)\n", s.name, o.rounds, o.each, "", "without", "with",
		series.Bounds(o.rounds))
	requests := 0.0
	for _, line := range []struct {
		name, format string
		of           func(round) float64
	}{
		{"requests/s", "%.1f", func(r round) float64 { return r.perSecond }},
		{"p50, ms", "%.2f", func(r round) float64 { return r.p50 }},
		{"p99, ms", "%.2f", func(r round) float64 { return r.p99 }},
		{"Envoys, us a request", "%.0f", func(r round) float64 { return r.envoy }},
		{"sidecars, us a request", "%.0f", func(r round) float64 { return r.sidecar }},
		{"Valkey, us a request", "%.0f", func(r round) float64 { return r.valkey }},
		{"client and servers, us", "%.0f", func(r round) float64 { return r.rest }},
	} {
		without, with := series.Of(rounds[0], line.of), series.Of(rounds[1], line.of)
		ratios := with.Over(without)
		low, high := ratios.Between()
		fmt.Printf("%28s %10s %10s  %.3f (%.3f-%.3f)\n", line.name, fmt.Sprintf(line.format, without.Median()),
			fmt.Sprintf(line.format, with.Median()), ratios.Median(), low, high)
		if requests == 0 {
			requests = ratios.Median()
		}
	}
	return requests
}

// round loads a fleet for a while.
func (s shape) round(ctx context.Context, o options, fleet []*gateway, shares bool, valkey int) (r round, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.each)
	defer cancel()
	before, err := used(fleet, valkey)
	if err != nil {
		return r, err
	}
	began := time.Now()
	var others sync.WaitGroup
	if s.meanwhile != nil {
		others.Go(func() { s.meanwhile(ctx, shares) })
	}
	times, err := s.load(ctx, o, fleet[:s.gateways])
	others.Wait()
	if err == nil && len(times) == 0 {
		err = context.Cause(ctx)
	}
	if err != nil {
		return r, err
	}
	took := time.Since(began)
	after, err := used(fleet, valkey)
	if err != nil {
		return r, err
	}
	slices.Sort(times)
	n := float64(len(times))
	at := func(percent int) float64 { return series.Percentile(times, percent).Seconds() * 1000 }
	micros := func(i int) float64 { return float64((after[i] - before[i]).Microseconds()) / n }
	return round{n / took.Seconds(), at(50), at(99), micros(0), micros(1), micros(2), micros(3)}, nil
}

// used is the processor time of all Envoys, all sidecars, Valkey, and this process.
func used(fleet []*gateway, valkey int) (all [4]time.Duration, err error) {
	both := processorTime(fleet)
	all[0], all[1] = both[1], both[0]
	for i, pid := range []int{valkey, os.Getpid()} {
		if all[2+i], err = stack.CPUOf(pid); err != nil {
			return all, err
		}
	}
	return all, nil
}

// load asks gateways until ctx ends, and returns how long each answer took from when its request was due.
func (s shape) load(ctx context.Context, o options, gateways []*gateway) (times []time.Duration, err error) {
	var mu sync.Mutex
	var sent atomic.Int64
	client := newClient(o)
	defer client.CloseIdleConnections()
	ask := func(due time.Time) {
		n := sent.Add(1)
		failure := client.ask(gateways[int(n)%len(gateways)], fmt.Sprint(os.Getpid(), " ", time.Now().UnixNano()))
		took := time.Since(due)
		mu.Lock()
		defer mu.Unlock()
		times = append(times, took)
		if failure != nil {
			err = failure
		}
	}
	var running sync.WaitGroup
	if s.rate == 0 {
		for range o.connections {
			running.Go(func() {
				for ctx.Err() == nil {
					ask(time.Now())
				}
			})
		}
	} else {
		pace(ctx, s.rate, func(_ int, due time.Time) { running.Go(func() { ask(due) }) })
	}
	running.Wait()
	return times, err
}
