package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// arrival is a request that a client sends.
type arrival struct {
	at     float64
	prompt string
	output int
	// model is a LoRA adapter, empty for the base model.
	model string
}

// workload makes the arrivals of so many seconds at a rate.
type workload struct {
	name string
	rate float64 // requests a second over all servers
	make func(r *rand.Rand, rate, seconds float64) []arrival
	// adapters is how many LoRA adapters there are.
	adapters int
}

const bytesPerToken = 4

// text is so many tokens that nothing else begins with.
func text(id string, tokens int) string {
	unit := fmt.Sprintf("%08x", xxhash.Sum64String(id)&math.MaxUint32)
	return strings.Repeat(unit, tokens*bytesPerToken/len(unit))
}

// poisson calls each at the times of a Poisson process.
func poisson(r *rand.Rand, rate, seconds float64, each func(at float64)) {
	for at := r.ExpFloat64() / rate; at < seconds; at += r.ExpFloat64() / rate {
		each(at)
	}
}

func between(r *rand.Rand, least, most int) int { return least + r.IntN(most-least+1) }

// workloads are what servers are asked.
var workloads = []workload{
	{name: "nothing in common", rate: 40, make: func(r *rand.Rand, rate, seconds float64) (all []arrival) {
		poisson(r, rate, seconds, func(at float64) {
			prompt := text(fmt.Sprint("u", at), between(r, 200, 3000))
			all = append(all, arrival{at: at, prompt: prompt, output: between(r, 50, 400)})
		})
		return all
	}},
	{name: "150 system prompts", rate: 17, make: func(r *rand.Rand, rate, seconds float64) (all []arrival) {
		poisson(r, rate, seconds, func(at float64) {
			group, user := r.IntN(150), r.IntN(5)
			prompt := text(fmt.Sprint("g", group), 6000) + text(fmt.Sprint("g", group, "u", user), 1200)
			all = append(all, arrival{at: at, prompt: prompt, output: between(r, 200, 1000)})
		})
		return all
	}},
	{name: "3 system prompts", rate: 60, make: func(r *rand.Rand, rate, seconds float64) (all []arrival) {
		poisson(r, rate, seconds, func(at float64) {
			prompt := text(fmt.Sprint("s", r.IntN(6)/3+r.IntN(2)), 3000) +
				text(fmt.Sprint("q", at), between(r, 50, 400))
			all = append(all, arrival{at: at, prompt: prompt, output: between(r, 50, 300)})
		})
		return all
	}},
	{name: "conversations", rate: 25, make: conversations},
	{name: "24 adapters", rate: 30, make: adapted(24), adapters: 24},
	{name: "96 adapters", rate: 20, make: adapted(96), adapters: 96},
	{name: "bursts of equal prompts", rate: 30, make: func(r *rand.Rand, rate, seconds float64) (all []arrival) {
		poisson(r, rate/2, seconds, func(at float64) {
			prompt := text(fmt.Sprint("b", at), between(r, 200, 2000))
			all = append(all, arrival{at: at, prompt: prompt, output: between(r, 50, 300)})
		})
		const size = 48
		poisson(r, rate/2/size, seconds, func(at float64) {
			for range size {
				all = append(all, arrival{at: at + r.Float64()*0.05, prompt: text(fmt.Sprint("e", at), 4000),
					output: between(r, 50, 300)})
			}
		})
		return all
	}},
	{name: "light, 4,000 tokens again", rate: 4, make: func(r *rand.Rand, rate, seconds float64) (all []arrival) {
		poisson(r, rate, seconds, func(at float64) {
			all = append(all, arrival{at: at, prompt: text(fmt.Sprint("l", r.IntN(16)), 4000),
				output: between(r, 50, 300)})
		})
		return all
	}},
}

func workloadNames() (names []string) {
	for _, l := range workloads {
		names = append(names, l.name)
	}
	return names
}

// conversations grow by each turn; a user thinks for some seconds.
func conversations(r *rand.Rand, rate, seconds float64) (all []arrival) {
	const turns = 8
	poisson(r, rate/turns, seconds, func(at float64) {
		id, prompt := fmt.Sprint("c", at), ""
		prompt = text(id, between(r, 500, 2000))
		for turn := range turns {
			all = append(all, arrival{at: at, prompt: prompt, output: between(r, 50, 400)})
			prompt += text(fmt.Sprint(id, "t", turn), between(r, 200, 800))
			at += 5 + r.ExpFloat64()*8
		}
	})
	return all
}

// adapterName is that of the adapter that is asked for in the i-th place.
func adapterName(i int) string { return fmt.Sprint("adapter-", i) }

// adapted are requests for LoRA adapters, each of which has a prompt of its own that all of its users share. The n-th
// one is asked for 1/n as often as the first (Zipf), and one request in ten is for the base model.
func adapted(count int) func(r *rand.Rand, rate, seconds float64) []arrival {
	total := 0.0
	for i := range count {
		total += 1 / float64(i+1)
	}
	return func(r *rand.Rand, rate, seconds float64) (all []arrival) {
		poisson(r, rate, seconds, func(at float64) {
			a := arrival{at: at, prompt: text(fmt.Sprint("u", at), between(r, 200, 2000)), output: between(r, 50, 400)}
			if r.IntN(10) > 0 {
				i, left := 0, r.Float64()*total
				for ; i < count-1 && left > 1/float64(i+1); i++ {
					left -= 1 / float64(i+1)
				}
				a.model = adapterName(i)
				a.prompt = text(a.model, 500) + a.prompt
			}
			all = append(all, a)
		})
		return all
	}
}
