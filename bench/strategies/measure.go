package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/stack"
)

// The users: each light one has a request or two at a time, the heavy one many. A user's prompts begin with one of a
// few texts.
const (
	lightUsers    = 5
	lightWorkers  = 4
	heavyWorkers  = 40
	prefixes      = 3
	prefixTokens  = 600
	promptTokens  = 60
	outputTokens  = 32
	mostPerSecond = 200 // requests of one user: the servers answer some hundred of all
	warmUp        = 2 * time.Second
	tokenWindow   = 4 // seconds
	outputWeight  = 2
	fullLoad      = 32
	drain         = 20 * time.Second
	lightQuantile = 90
)

// outcome is what one strategy came to in one round.
type outcome struct {
	jain, hitRate float64
	// lightTTFT is the 90th percentile over the light users.
	lightTTFT time.Duration
	requests  float64 // per second
	failed    int
}

// prompts are those of a user in a round, each a new one: as many as the servers cannot answer in that time.
func prompts(seed uint64, user int, duration time.Duration) []load.Request {
	questions := int(math.Ceil(duration.Seconds() * mostPerSecond / prefixes))
	return load.SharedPrefix{
		Model: "sim-model", Groups: prefixes, Users: questions, SystemTokens: prefixTokens,
		QuestionTokens: promptTokens,
		OutputTokens:   outputTokens, Count: prefixes * questions, Seed: seed*100 + uint64(user),
	}.Requests()
}

// measure sends the load of all users by one strategy. seed makes prompts that no server has seen.
func measure(ctx context.Context, st *stack.Stack, p ports, strategy string, seed uint64,
	duration time.Duration) (outcome, error) {
	results := make([]*load.Result, 1+lightUsers)
	errs := make([]error, len(results))
	var users sync.WaitGroup
	for user := range results {
		workers := lightWorkers
		if user == 0 {
			workers = heavyWorkers
		}
		requests := prompts(seed, user, duration)
		header := http.Header{"Routing-Strategy": {strategy}, "User": {fmt.Sprintf("user-%d", user)}}
		users.Go(func() {
			results[user], errs[user] = load.Run(ctx, load.Config{
				URL: "http://" + stack.Address(p.requests), Requests: requests, Workers: workers, Duration: duration,
				Drain: drain, Header: header,
			})
			if errs[user] == nil && len(results[user].Samples) > len(requests) {
				errs[user] = fmt.Errorf("%s: user %d asked %d times and has %d prompts; %d failed: %v", strategy, user,
					len(results[user].Samples), len(requests), results[user].Failed(), results[user].Errors())
			}
		})
	}
	users.Wait()
	if err := errors.Join(append(errs, st.Check(), ctx.Err())...); err != nil {
		return outcome{}, err
	}
	return evaluate(results, duration), nil
}

// evaluate sums a round up, without its warm-up. The first user is the heavy one.
func evaluate(results []*load.Result, duration time.Duration) outcome {
	var o outcome
	light := &load.Result{}
	served := make([]float64, len(results))
	prompt, cached, answers := 0, 0, 0
	for user, whole := range results {
		o.failed += whole.Failed() // in the warm-up, too: what follows is not the same work
		r := whole.After(warmUp)
		p, c, output := r.Tokens()
		served[user] = float64(p + outputWeight*output)
		prompt, cached = prompt+p, cached+c
		answers += r.Succeeded()
		if user > 0 {
			light.Samples = append(light.Samples, r.Samples...)
		}
	}
	o.jain = jain(served)
	o.hitRate = float64(cached) / float64(max(prompt, 1))
	o.lightTTFT = light.Percentiles(load.TTFT, lightQuantile)[0]
	o.requests = float64(answers) / (duration - warmUp).Seconds()
	return o
}

// jain is Jain's fairness index, 0 when nobody got anything.
func jain(shares []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range shares {
		sum += x
		squares += x * x
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// median is the median of each number over the rounds of a strategy; failures are added up.
func median(rounds []outcome) outcome {
	of := func(number func(outcome) float64) float64 { return series.Of(rounds, number).Median() }
	m := outcome{
		jain:      of(func(o outcome) float64 { return o.jain }),
		hitRate:   of(func(o outcome) float64 { return o.hitRate }),
		lightTTFT: time.Duration(of(func(o outcome) float64 { return float64(o.lightTTFT) })),
		requests:  of(func(o outcome) float64 { return o.requests }),
	}
	for _, r := range rounds {
		m.failed += r.failed
	}
	return m
}
