package main

import (
	"math/rand/v2"

	"github.com/pintle-dev/pintle/internal/load"
)

// workload is what both sides get: chats, questions about shared documents and sessions of several turns. One request
// in five has prompts and answers of more than twice the others' length, as those of real users differ more than any
// single mix does.
func workload(count int) []load.Request {
	short := load.Mixed{Model: "sim-model", Scale: 0.75, Count: count, Seed: seed}.Requests()
	long := load.Mixed{Model: "sim-model", Scale: 2, Count: count, Seed: seed + 1}.Requests()
	random := rand.New(rand.NewPCG(seed, 2))
	mixed := make([]load.Request, 0, count)
	for len(mixed) < count {
		from := &short
		if random.IntN(5) == 0 {
			from = &long
		}
		mixed = append(mixed, (*from)[0])
		*from = (*from)[1:]
	}
	return mixed
}
