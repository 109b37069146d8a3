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
}

// workload makes the arrivals of so many seconds at a rate.
type workload struct {
	name string
	rate float64 // requests a second over all servers
	make func(r *rand.Rand, rate, seconds float64) []arrival
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
	{"nothing in common", 40, func(r *rand.Rand, rate, seconds float64) (all []arrival) {
		poisson(r, rate, seconds, func(at float64) {
			all = append(all, arrival{at, text(fmt.Sprint("u", at), between(r, 200, 3000)), between(r, 50, 400)})
		})
		return all
	}},
	{"150 system prompts", 17, func(r *rand.Rand, rate, seconds float64) (all []arrival) {
		poisson(r, rate, seconds, func(at float64) {
			group, user := r.IntN(150), r.IntN(5)
			prompt := text(fmt.Sprint("g", group), 6000) + text(fmt.Sprint("g", group, "u", user), 1200)
			all = append(all, arrival{at, prompt, between(r, 200, 1000)})
		})
		return all
	}},
	{"3 system prompts", 60, func(r *rand.Rand, rate, seconds float64) (all []arrival) {
		poisson(r, rate, seconds, func(at float64) {
			prompt := text(fmt.Sprint("s", r.IntN(6)/3+r.IntN(2)), 3000) +
				text(fmt.Sprint("q", at), between(r, 50, 400))
			all = append(all, arrival{at, prompt, between(r, 50, 300)})
		})
		return all
	}},
	{"conversations", 25, conversations},
	{"bursts of equal prompts", 30, func(r *rand.Rand, rate, seconds float64) (all []arrival) {
		poisson(r, rate/2, seconds, func(at float64) {
			all = append(all, arrival{at, text(fmt.Sprint("b", at), between(r, 200, 2000)), between(r, 50, 300)})
		})
		const size = 48
		poisson(r, rate/2/size, seconds, func(at float64) {
			for range size {
				all = append(all, arrival{at + r.Float64()*0.05, text(fmt.Sprint("e", at), 4000), between(r, 50, 300)})
			}
		})
		return all
	}},
	{"light, 4,000 tokens again", 4, func(r *rand.Rand, rate, seconds float64) (all []arrival) {
		poisson(r, rate, seconds, func(at float64) {
			all = append(all, arrival{at, text(fmt.Sprint("l", r.IntN(16)), 4000), between(r, 50, 300)})
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
			all = append(all, arrival{at, prompt, between(r, 50, 400)})
			prompt += text(fmt.Sprint(id, "t", turn), between(r, 200, 800))
			at += 5 + r.ExpFloat64()*8
		}
	})
	return all
}
