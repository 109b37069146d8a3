package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/sim"
)

// Six users send as much as they can, as in bench/strategies: one floods through all gateways, with 40 requests at a
// time, and each of the others has 4 under way through one gateway.
const (
	lightUsers   = 5
	lightWorkers = 4
	heavyWorkers = 40
	outputWeight = 2
	// prefixes are what a user's prompts begin with, mostPerSecond is more than the servers answer of one.
	prefixes, mostPerSecond = 3, 200
)

// crowded are servers that a crowd keeps full.
var crowded = sim.Config{MaxRunning: 4, PrefillTokensPerSecond: 8000, TimePerOutputToken: 20 * time.Millisecond,
	Speed: 4, StreamInterval: 8}

var (
	byFairness = plan(map[string]any{"type": "vtc-basic", "parameters": map[string]any{"timeUnit": "seconds",
		"windowSize": 4, "maxPodLoad": 32}}, map[string]any{"type": "max-score-picker"})
	byChance = plan(map[string]any{"type": "random-picker"})
	byWork   = plan(map[string]any{"type": "active-request-scorer"}, map[string]any{"type": "max-score-picker"})
)

// crowd is how many gateways a crowd of users, or bursts, come through, and what they decide by.
type crowd struct {
	name     string
	gateways int
	plan     any
	redis    string
}

// compareFairness has users come through one gateway, and through several that share what they know or do not.
func compareFairness(ctx context.Context, o options, folder string, valkey *harness.Valkey) error {
	crowds := []crowd{
		{"1 gateway, random-picker", 1, byChance, ""},
		{"1 gateway, vtc-basic", 1, byFairness, ""},
		{fmt.Sprintf("%d as one, vtc-basic", o.gateways), o.gateways, byFairness, valkey.Address},
		{fmt.Sprintf("%d apart, vtc-basic", o.gateways), o.gateways, byFairness, ""},
	}
	figures, err := compare(ctx, crowds, o.fair, folder, func(all []*gateway) ([2]float64, error) {
		return fairness(ctx, o, all)
	})
	if err == nil {
		write(crowds, figures, "Jain's index of users", "p90 of the five, ms", "%.0f")
	}
	return err
}

// compareBursts has bursts come in the same ways.
func compareBursts(ctx context.Context, o options, folder string, valkey *harness.Valkey) error {
	crowds := []crowd{
		{"1 gateway", 1, byWork, ""},
		{fmt.Sprintf("%d as one", o.gateways), o.gateways, byWork, valkey.Address},
		{fmt.Sprintf("%d apart", o.gateways), o.gateways, byWork, ""},
	}
	figures, err := compare(ctx, crowds, o.bursts, folder, herding)
	if err == nil {
		write(crowds, figures, "busiest over mean, at once", "within 500 ms", "%.2f")
	}
	return err
}

// compare measures crowds in turns, so often each.
func compare(ctx context.Context, crowds []crowd, often int, folder string,
	measure func(all []*gateway) ([2]float64, error)) (figures [][][2]float64, err error) {
	figures = make([][][2]float64, len(crowds))
	for range often {
		for i, c := range crowds {
			figure, err := c.before(ctx, folder, measure)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			figures[i] = append(figures[i], figure)
		}
	}
	return figures, nil
}

// write writes two figures of each crowd, with their spreads.
func write(crowds []crowd, figures [][][2]float64, first, second, format string) {
	fmt.Printf("%-26s  %-28s  %s\n", "", first, second)
	for i, c := range crowds {
		a := series.Of(figures[i], func(f [2]float64) float64 { return f[0] })
		b := series.Of(figures[i], func(f [2]float64) float64 { return f[1] })
		fmt.Printf("%-26s  %-28s  %s\n", c.name, fmt.Sprintf("%.2f (%s)", a.Median(), a.Spread("%.2f")),
			fmt.Sprintf(format+" (%s)", b.Median(), b.Spread(format)))
	}
}

// before measures gateways before servers that have nothing cached yet.
func (c crowd) before(ctx context.Context, folder string, measure func(all []*gateway) ([2]float64, error)) (
	figure [2]float64, err error) {
	servers, err := startServers(crowded)
	if err != nil {
		return figure, err
	}
	defer closeAll(servers)
	all, err := startGateways(c.gateways, folder, c.redis, c.plan, servers)
	if err != nil {
		return figure, err
	}
	defer stopAll(all)
	for _, g := range all {
		if err := awaitAnswer(ctx, g.envoy.URL("requests", "")); err != nil {
			return figure, err
		}
	}
	return measure(all)
}

// fairness returns Jain's index of the tokens that users were served, outputs counting twice, and the 90th percentile
// of the light users' times to first tokens in milliseconds.
func fairness(ctx context.Context, o options, all []*gateway) (figure [2]float64, err error) {
	var mu sync.Mutex
	var running sync.WaitGroup
	served := make([]float64, 1+lightUsers)
	light := &load.Result{}
	questions := int(math.Ceil((o.warmUp + o.duration).Seconds() * mostPerSecond / prefixes))
	send := func(user, workers int, g *gateway, seed uint64) {
		requests := load.SharedPrefix{Model: "sim-model", Groups: prefixes, Users: questions, SystemTokens: 600,
			QuestionTokens: 60, OutputTokens: 32, Count: prefixes * questions, Seed: seed}.Requests()
		running.Go(func() {
			result, failure := load.Run(ctx, load.Config{URL: g.envoy.URL("requests", ""), Requests: requests,
				Workers: workers, Duration: o.warmUp + o.duration, Drain: 20 * time.Second,
				Header: http.Header{"User": {fmt.Sprint("user-", user)}}})
			mu.Lock()
			defer mu.Unlock()
			if failure == nil && result.Failed() > 0 {
				failure = fmt.Errorf("%d requests failed: %v", result.Failed(), result.Errors())
			}
			if failure == nil && len(result.Samples) > len(requests) {
				failure = fmt.Errorf("user %d asked %d times and has %d prompts", user, len(result.Samples),
					len(requests))
			}
			if failure != nil {
				err = failure
				return
			}
			counted := result.After(o.warmUp)
			prompt, _, output := counted.Tokens()
			served[user] += float64(prompt + outputWeight*output)
			if user > 0 {
				light.Samples = append(light.Samples, counted.Samples...)
			}
		})
	}
	for i, g := range all {
		send(0, heavyWorkers/len(all), g, uint64(i))
	}
	for user := 1; user <= lightUsers; user++ {
		send(user, lightWorkers, all[user%len(all)], uint64(100*user))
	}
	running.Wait()
	if err != nil {
		return figure, err
	}
	sum, squares := 0.0, 0.0
	for _, x := range served {
		sum, squares = sum+x, squares+x*x
	}
	p90 := light.Percentiles(load.TTFT, 90)[0]
	return [2]float64{sum * sum / (float64(len(served)) * squares), p90.Seconds() * 1000}, nil
}
