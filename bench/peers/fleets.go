package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

// fleet is before which servers a workload comes. The last odd ones differ.
type fleet struct {
	name, what string
	odd        int
	// slower is how many times as long the odd ones take.
	slower float64
	// dies has them end half through the first rate, fails has them answer 500 at once from its beginning on.
	dies, fails bool
}

const ladderServers = 8

var fleets = []fleet{
	{name: "equal", what: "8 servers that are equal"},
	{name: "slow", what: "8 servers, one of which takes three times as long", odd: 1, slower: 3},
	{name: "half", what: "8 servers, four of which have 0.35 of the speed", odd: 4, slower: 1 / 0.35},
	{name: "fails", what: "8 servers, one of which begins to answer 500 at once", odd: 1, fails: true},
	{name: "dies", what: "8 servers, one of which ends half through the first rate", odd: 1, dies: true},
}

func fleetNames() string {
	var list []string
	for _, f := range fleets {
		list = append(list, f.name)
	}
	return strings.Join(list, ", ")
}

// start starts the servers: those of llm-d's report "73-capacity", Qwen3-32B on two H100 each, as bench/routing has
// them. odd are the last ones, nil where all are equal.
func (f *fleet) start(ctx context.Context, st *stack.Stack, name string, first int,
	speed float64) (servers, odd *stack.Process, err error) {
	flags := func(slower float64) []string {
		return []string{"-speed", strconv.FormatFloat(speed/slower, 'g', -1, 64), "-max-num-seqs", "256",
			"-num-blocks", "19208", "-prefill-tokens-per-second", "12000", "-time-per-output-token", "11ms",
			"-batch-slowdown", "0.028", "-stream-interval", "50"}
	}
	servers, err = st.Sims(ctx, name+"-servers", serverPrefix, first, ladderServers-f.odd, flags(1)...)
	if err != nil || f.odd == 0 {
		return servers, nil, err
	}
	odd, err = st.Sims(ctx, name+"-odd", "odd", first+ladderServers-f.odd, f.odd, flags(max(f.slower, 1))...)
	return servers, odd, err
}

// befall has happen to the odd servers what is to happen, dies after half of a stage; cancel to have it not.
func (f *fleet) befall(ctx context.Context, odd *stack.Process, first int,
	stage time.Duration) (cancel func(), err error) {
	if f.fails {
		return func() {}, failAll(ctx, first+ladderServers-f.odd, f.odd)
	}
	if !f.dies {
		return func() {}, nil
	}
	timer := time.AfterFunc(stage/2, odd.Kill)
	return func() { timer.Stop() }, nil
}

// failAll has simulated servers answer 500 from now on.
func failAll(ctx context.Context, first, count int) error {
	for port := first; port < first+count; port++ {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+stack.Address(port)+"/sim/fail",
			bytes.NewReader([]byte(`{"mode":"500"}`)))
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusNoContent {
			return fmt.Errorf("server %d cannot be had to fail: %s", port, response.Status)
		}
	}
	return nil
}
