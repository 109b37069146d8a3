package main

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/internal/replay"
	"github.com/pintle-dev/pintle/scoring"
)

// servers are the ones of bench/routing. They process one prompt at a time, and then decode at half the pace.
func servers(count int) replay.Servers {
	s := replay.DefaultServers()
	s.Count, s.MaxPrefills, s.WhilePrefill = count, 1, 0.5
	return s
}

// adapterSlots is how many LoRA adapters a server has loaded at once, as vLLM's users set max-loras; adapterLoad how
// long it takes to load one.
const (
	adapterSlots = 4
	adapterLoad  = 500 * time.Millisecond
)

// servers are those that a workload comes before.
func (l *workload) servers(count int) replay.Servers {
	s := servers(count)
	for i := range l.adapters {
		s.Adapters = append(s.Adapters, adapterName(i))
	}
	s.MaxAdapters, s.AdapterLoad = adapterSlots, adapterLoad
	return s
}

// run sends requests, of which those before warm do not count.
func run(plan *scoring.Plan, like replay.Servers, requests []replay.Request, warm float64) (*replay.Report, error) {
	samples, err := replay.Run(context.Background(), plan, requests, replay.Options{Servers: like, Seed: 1, Warm: warm})
	return replay.Summarise("", samples, like.Count, replay.Limits{}), err
}

const blockTokens = 16

// blocksOf chains the identities of a prompt's blocks.
func blocksOf(prompt string) []uint64 {
	const size = blockTokens * bytesPerToken
	var blocks []uint64
	previous := uint64(0)
	for ; len(prompt) >= size; prompt = prompt[size:] {
		previous = xxhash.Sum64String(prompt[:size]) + previous*0x9e3779b97f4a7c15
		blocks = append(blocks, previous)
	}
	return blocks
}

// requestsOf are those of a workload, the same for everyone who asks.
func requestsOf(l *workload, rate, seconds float64, seed uint64) (all []replay.Request) {
	for _, a := range l.make(rand.New(rand.NewPCG(seed, 7)), rate, seconds) {
		all = append(all, replay.Request{
			At: a.at, Model: cmp.Or(a.model, "m"), Input: len(a.prompt) / bytesPerToken, Output: a.output,
			Prompt: replay.Prompt{Bytes: len(a.prompt), UnitBytes: blockTokens * bytesPerToken,
				Blocks: blocksOf(a.prompt)},
		})
	}
	return all
}
