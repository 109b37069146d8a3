package main

import (
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/scoring"
)

// listsGrace is for how long an endpoint keeps its list of models when a new topology has none for it. A sidecar that
// was started anew reads the lists only once it has been told, in the answer to its first snapshot, that they are gone
// by.
const listsGrace = 30 * time.Second

// keptLists are lists of models that the topology does not have.
type keptLists struct {
	// endpoints are the places of those that have them, until is for how long, nanoseconds since 1970, 0 for none.
	endpoints []int
	until     int64
}

// keep gives endpoints without a list the one that they had among the former ones, of the same name and address.
func (k *keptLists) keep(former, endpoints []scoring.Endpoint) {
	now := hostcalls.Now()
	k.endpoints = k.endpoints[:0]
	if k.until != 0 && !lasts(k.until, now, int64(listsGrace)) {
		k.until = 0
		return
	}
	places := make(map[string]int, len(former))
	for i := range former {
		if len(former[i].Models) > 0 {
			places[former[i].Name] = i
		}
	}
	for i := range endpoints {
		to := &endpoints[i]
		if at, ok := places[to.Name]; ok && len(to.Models) == 0 && former[at].Address == to.Address {
			to.Models, to.BaseModels = former[at].Models, former[at].BaseModels
			k.endpoints = append(k.endpoints, i)
		}
	}
	switch {
	case len(k.endpoints) == 0:
		k.until = 0
	case k.until == 0:
		k.until = now + int64(listsGrace)
	}
}

// dropLists takes the topology at its word that it has no lists of some endpoints, once that has lasted.
func (p *pool) dropLists(plan *scoring.Plan, now int64) {
	k := &p.lists
	if k.until == 0 || lasts(k.until, now, int64(listsGrace)) {
		return
	}
	for _, i := range k.endpoints {
		p.Endpoints[i].Models, p.Endpoints[i].BaseModels = nil, 0
	}
	*k = keptLists{endpoints: k.endpoints[:0]}
	p.Enter()
	plan.Prepare(&p.Pool)
	if p.shadow != nil {
		p.shadow.take(&p.Pool, true)
	}
}
