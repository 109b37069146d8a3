package main

import (
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
)

// workload is what clients ask.
type workload struct {
	name, what string
	// rates are those of its stages where none are given, in requests/s.
	rates []float64
	// requests come at each stage's rate, at random times, after a warm-up; asks at times of their own instead, which
	// are stretched to give the one rate, and the first third of which is the warm-up.
	requests func(count int, seed uint64) []load.Request
	asks     func(o *options) (all []ask, madeUp bool, err error)
}

// ask is a request with the time at which it is due, in seconds.
type ask struct {
	at      float64
	request load.Request
}

const (
	model = "sim-model"
	// stageRequests is how many requests a stage has: as many as there are users of the workload "shared".
	stageRequests = 750
	// warmUpRate fills the caches.
	warmUpRate = 15
	// defaultSpeed is how many times faster than real ones the servers are.
	defaultSpeed = 5
	// burst is how many equal prompts come one behind another.
	burst = 25
)

var workloads = []workload{
	{name: "shared", what: "150 groups of 5 users; a group shares 6,000 tokens, a user has 1,200 of their own",
		rates: []float64{10, 20}, requests: sharedPrefix},
	{name: "mixed", what: "half chats, a quarter questions about 8 documents, a quarter turns of 12 conversations",
		rates: []float64{20}, requests: func(count int, seed uint64) []load.Request {
			return load.Mixed{Model: model, Count: count, Seed: 1 + seed}.Requests()
		}},
	{name: "burst", what: "25 equal prompts of 7,200 tokens, one burst behind another", rates: []float64{20},
		requests: bursts},
	{name: "conversation", what: "Mooncake's trace of conversations", rates: []float64{5},
		asks: traced(600, "mooncake", "conversation")},
	{name: "conversation-spread", what: "the same, the requests of each three seconds one after the other",
		rates: []float64{5}, asks: spreadOut(traced(600, "mooncake", "conversation"))},
	{name: "synthetic", what: "Mooncake's synthetic trace", rates: []float64{5},
		asks: traced(600, "mooncake", "synthetic")},
	{name: "toolagent", what: "Mooncake's trace of tools and agents", rates: []float64{8},
		asks: traced(960, "mooncake", "toolagent")},
	{name: "azure-conv", what: "Azure's trace of conversations of 2023, whose prompts have nothing in common",
		rates: []float64{30}, asks: traced(2000, "azure", "conv")},
	{name: "azure-code", what: "Azure's trace of code completion of 2023, which comes in bursts",
		rates: []float64{20}, asks: traced(1500, "azure", "code")},
	{name: "turns", what: "30 conversations by the defaults of inference-perf's conversation_replay",
		rates: []float64{2}, asks: conversations.asks},
	{name: "agents", what: "40 agents with tools, by llm-d's agentic guide with an eighth of its first prompts",
		rates: []float64{2.2}, asks: agents.asks},
}

func workloadNames() string {
	var list []string
	for _, w := range workloads {
		list = append(list, w.name)
	}
	return strings.Join(list, ", ")
}

func sharedPrefix(count int, seed uint64) []load.Request {
	return load.SharedPrefix{Model: model, Groups: 150, Users: 5, SystemTokens: 6000, QuestionTokens: 1200,
		OutputTokens: 1000, Count: count, Seed: 1 + seed}.Requests()
}

func bursts(count int, seed uint64) (all []load.Request) {
	n := (count + burst - 1) / burst
	for _, one := range (load.SharedPrefix{Model: model, Groups: n, Users: 1, SystemTokens: 6000,
		QuestionTokens: 1200, OutputTokens: 200, Count: n, Seed: 1 + seed}).Requests() {
		for range burst {
			all = append(all, one)
		}
	}
	return all[:count]
}

// part is some of the traffic, at a rate.
type part struct {
	rate float64
	load load.Config
	// counted is from when on requests count; with warmsUp none does.
	counted time.Duration
	warmsUp bool
}

// parts are the traffic at the rates, for servers that are so many times faster than real ones.
func (w *workload) parts(o *options) (all []part, madeUp bool, err error) {
	base := load.Config{Drain: drainLimit, MaxInFlight: 1 << 20}
	if w.asks == nil {
		requests := w.requests(stageRequests*(len(o.rates)+1), o.seed)
		for n, rate := range append([]float64{warmUpRate}, o.rates...) {
			c := base
			c.Requests = requests[n*stageRequests : (n+1)*stageRequests]
			c.Rate, c.Count, c.Seed = rate*o.speed, stageRequests, o.seed<<32+uint64(n)
			all = append(all, part{rate: rate, load: c, warmsUp: n == 0})
		}
		return all, false, nil
	}
	asks, madeUp, err := w.asks(o)
	if err != nil {
		return nil, false, err
	}
	c := base
	stretch := float64(len(asks)) / max(asks[len(asks)-1].at, 1e-9) / o.rates[0] / o.speed
	for _, a := range asks {
		c.Requests = append(c.Requests, a.request)
		c.Due = append(c.Due, time.Duration(a.at*stretch*float64(time.Second)))
	}
	return []part{{rate: o.rates[0], load: c, counted: c.Due[len(c.Due)-1] / 3}}, madeUp, nil
}
