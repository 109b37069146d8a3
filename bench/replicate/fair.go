package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/sim"
)

// Six users send as much as they can, as in bench/strategies: one floods through all gateways, with 40 requests at a
// time, and each of the others has 4 under way through a gateway of its own.
const (
	lightUsers   = 5
	lightWorkers = 4
	heavyWorkers = 40
	fairWarmUp   = 4 * time.Second
	outputWeight = 2

	bursts    = 12
	burstSize = 40
)

var (
	byFairness = plan(map[string]any{"type": "vtc-basic", "parameters": map[string]any{"timeUnit": "seconds",
		"windowSize": 4, "maxPodLoad": 32}}, map[string]any{"type": "max-score-picker"})
	byChance = plan(map[string]any{"type": "random-picker"})
	byWork   = plan(map[string]any{"type": "active-request-scorer"}, map[string]any{"type": "max-score-picker"})
)

// compareFairness has users, and bursts, come through one gateway, and through several that share what they know or do
// not.
func compareFairness(ctx context.Context, o options, folder string, valkey *harness.Valkey) error {
	fmt.Printf("%-34s %13s %16s\n", "", "Jain's index", "p90 of the five")
	for _, way := range []struct {
		name     string
		plan     any
		gateways int
		redis    string
	}{
		{"1 gateway, by chance", byChance, 1, ""},
		{"1 gateway, vtc-basic", byFairness, 1, ""},
		{fmt.Sprintf("%d as one, vtc-basic", o.gateways), byFairness, o.gateways, valkey.Address},
		{fmt.Sprintf("%d apart, vtc-basic", o.gateways), byFairness, o.gateways, ""},
	} {
		err := withFleet(folder, way.redis, way.gateways, way.plan, func(all []*gateway) error {
			jain, p90, err := fairness(ctx, all, o.fair)
			fmt.Printf("%-34s %13.2f %16v\n", way.name, jain, p90.Round(time.Millisecond))
			return err
		})
		if err != nil {
			return err
		}
	}
	fmt.Printf("\n%-34s %13s %16s\n", "the busiest server over the mean", "at once", "within 500ms")
	for _, way := range []struct {
		name     string
		gateways int
		redis    string
	}{{"1 gateway", 1, ""}, {fmt.Sprintf("%d as one", o.gateways), o.gateways, valkey.Address},
		{fmt.Sprintf("%d apart", o.gateways), o.gateways, ""}} {
		err := withFleet(folder, way.redis, way.gateways, byWork, func(all []*gateway) error {
			var most [2]float64
			for i, within := range []time.Duration{0, 500 * time.Millisecond} {
				var err error
				if most[i], err = herding(all, within); err != nil {
					return err
				}
			}
			fmt.Printf("%-34s %13.2f %16.2f\n", way.name, most[0], most[1])
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// withFleet runs something with gateways before four servers of four slots.
func withFleet(folder, redis string, count int, plan any, do func(all []*gateway) error) error {
	servers, err := startServers(sim.Config{MaxRunning: 4, Speed: 4, StreamInterval: 8})
	if err != nil {
		return err
	}
	defer closeAll(servers)
	all, err := startGateways(count, folder, redis, plan, servers)
	if err != nil {
		return err
	}
	defer stopAll(all)
	time.Sleep(time.Second) // until each knows all servers' load
	return do(all)
}

// fairness returns Jain's index of the tokens that users were served, outputs counting twice, and the 90th percentile
// of the light users' times to first tokens.
func fairness(ctx context.Context, all []*gateway, duration time.Duration) (jain float64, p90 time.Duration, err error) {
	var mu sync.Mutex
	var running sync.WaitGroup
	var served [1 + lightUsers]float64
	light := &load.Result{}
	send := func(user, workers int, g *gateway, seed uint64) {
		running.Go(func() {
			r, failure := load.Run(ctx, load.Config{URL: "http://" + g.envoy.Address("requests"),
				Requests: load.SharedPrefix{Model: "sim-model", Groups: 3, Users: 150, SystemTokens: 600,
					QuestionTokens: 60, OutputTokens: 32, Count: 450, Seed: seed}.Requests(),
				Workers: workers, Duration: duration + fairWarmUp, Drain: 20 * time.Second,
				Header: http.Header{"User": {fmt.Sprint("user-", user)}}})
			mu.Lock()
			defer mu.Unlock()
			if failure != nil {
				err = failure
				return
			}
			counted := r.After(fairWarmUp)
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
		return 0, 0, err
	}
	sum, squares := 0.0, 0.0
	for _, x := range served {
		sum, squares = sum+x, squares+x*x
	}
	return sum * sum / (float64(len(served)) * squares), light.Percentiles(load.TTFT, 90)[0], nil
}

// herding sends bursts of equal requests through all gateways in turn, and returns how many of one the busiest server
// got beside the mean over all servers; the mean over the bursts.
func herding(all []*gateway, within time.Duration) (most float64, err error) {
	const servers = 4
	for range bursts {
		var mu sync.Mutex
		var running sync.WaitGroup
		got := map[string]int{}
		for n := range burstSize {
			running.Go(func() {
				time.Sleep(within * time.Duration(n) / burstSize)
				response, failure := http.Post(all[n%len(all)].envoy.URL("requests", "/v1/completions"),
					"application/json", strings.NewReader(`{"model":"sim-model","prompt":"hello","max_tokens":64}`))
				mu.Lock()
				defer mu.Unlock()
				if failure != nil {
					err = failure
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				got[response.Header.Get("X-Sim-Server")]++
			})
		}
		running.Wait()
		if err != nil {
			return 0, err
		}
		busiest := 0
		for _, n := range got {
			busiest = max(busiest, n)
		}
		most += float64(busiest*servers) / burstSize / bursts
		time.Sleep(200 * time.Millisecond) // until all gateways know that it is over
	}
	return most, nil
}
