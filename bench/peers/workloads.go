package main

import (
	"context"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/stack"
)

// workload is what clients ask at rising rates, and what befalls the servers meanwhile.
type workload struct {
	name, what string
	// requests are those of the warm-up and of all stages.
	requests func(count int) []load.Request
	// slow has the last server take three times as long as the others, dies has it end in the middle of the first
	// stage.
	slow, dies bool
}

const (
	ladderServers = 8
	// stageRequests is how many requests a stage has: as many as there are users.
	stageRequests = 750
	// warmUpRate fills the caches.
	warmUpRate = 15
	// burst is how many equal prompts come one behind another.
	burst = 25
)

var workloads = []workload{
	{name: "shared", what: "150 groups of 5 users; a group shares 6,000 tokens, a user has 1,200 of their own",
		requests: sharedPrefix},
	{name: "mixed", what: "half chats, a quarter questions about 8 documents, a quarter turns of 12 conversations",
		requests: func(count int) []load.Request {
			return load.Mixed{Model: "sim-model", Count: count, Seed: 1}.Requests()
		}},
	{name: "burst", what: "25 equal prompts of 7,200 tokens, one burst behind another", requests: bursts},
	{name: "slow", what: "as shared; one server of 8 takes three times as long", requests: sharedPrefix, slow: true},
	{name: "dies", what: "as shared; one server of 8 ends half through the first rate", requests: sharedPrefix,
		dies: true},
}

func sharedPrefix(count int) []load.Request {
	return load.SharedPrefix{Model: "sim-model", Groups: 150, Users: 5, SystemTokens: 6000, QuestionTokens: 1200,
		OutputTokens: 1000, Count: count, Seed: 1}.Requests()
}

func bursts(count int) (all []load.Request) {
	n := (count + burst - 1) / burst
	for _, one := range (load.SharedPrefix{Model: "sim-model", Groups: n, Users: 1, SystemTokens: 6000,
		QuestionTokens: 1200, OutputTokens: 200, Count: n, Seed: 1}).Requests() {
		for range burst {
			all = append(all, one)
		}
	}
	return all[:count]
}

// fleet starts the servers of a workload: those of llm-d's report "73-capacity", Qwen3-32B on two H100 each, as
// bench/routing has them. odd is the last one.
func (w *workload) fleet(ctx context.Context, st *stack.Stack, name string, first int,
	speed float64) (servers, odd *stack.Process, err error) {
	flags := func(slower float64) []string {
		return []string{"-speed", strconv.FormatFloat(speed/slower, 'g', -1, 64), "-max-num-seqs", "256",
			"-num-blocks", "19208", "-prefill-tokens-per-second", "12000", "-time-per-output-token", "11ms",
			"-batch-slowdown", "0.028", "-stream-interval", "50"}
	}
	servers, err = st.Sims(ctx, name+"-servers", serverPrefix, first, ladderServers-1, flags(1)...)
	if err != nil {
		return nil, nil, err
	}
	slower := 1.0
	if w.slow {
		slower = 3
	}
	odd, err = st.Sims(ctx, name+"-odd", "odd", first+ladderServers-1, 1, flags(slower)...)
	return servers, odd, err
}

// befall has the odd server end, if it is to, half through a stage at a rate; cancel to have it not.
func (w *workload) befall(odd *stack.Process, rate float64) (cancel func()) {
	if !w.dies {
		return func() {}
	}
	half := time.Duration(stageRequests / 2 / rate * float64(time.Second))
	timer := time.AfterFunc(half, odd.Kill)
	return func() { timer.Stop() }
}
