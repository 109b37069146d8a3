package filters

import (
	"cmp"
	"math"
	"slices"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/rendezvous"
	"github.com/pintle-dev/pintle/state"
)

// loraPlacementFilter keeps requests for a LoRA adapter at the endpoints that have it loaded, so that servers which can
// have fewer adapters loaded than there are need not load them again and again. Where these are too busy, or there are
// none, one more endpoint loads it, the one that gives up least. The filter comes first in a profile; the scorers
// choose among what it keeps.
//
// Formula: an endpoint has loaded the adapters for which requests run there, by its metrics, and of the others those
// that it was asked for last, by the journal, as many as find room: max_lora of the metrics, or slots. Kept are those
// that have the adapter and are not too busy. If there are none, the one is kept that is not too busy and has most room
// left or, where none has any, whose adapter without requests was asked for longest ago; of equal ones the first in an
// order of the adapter's own, by rendezvous hashing. Where adapters with requests, running or waiting ones, have all
// places, those are kept that have the adapter, though too busy, else those at which a request for it waits. An adapter
// counts as one with requests, too, if it was asked for since the metrics were read; if nobody has this one, it is
// taken for one without. Too busy is an endpoint at which minRequests or more wait or run, and as many as loadFactor
// times the mean of all candidates or more, the request at hand included. So an adapter that much is asked for has more
// endpoints, and gives them up when others are asked for more.
//
// The adapter is the model that the request asks for. It is one when a candidate lists it, or a metric of any endpoint
// names it, and it is neither one of baseModels nor a base model in a candidate's list: what the server says is one,
// or the first model of a list that was written by hand.
//
// Missing data: all are kept for a request for a base model, or for a model that nobody lists. Of an endpoint without
// fresh metrics, or without metrics of adapters, it is known what it was asked for, and of its load what is in flight.
//
// Source: Pintle's own. When an endpoint is too busy is after consistent hashing with bounded loads (Mirrokni, Thorup,
// Zadimoghaddam, 2016).
type loraPlacementFilter struct {
	loadFactor, minRequests float64
	slots                   int
	baseModels              []string

	bases    []uint64 // hashes of all base models
	adapters []uint64 // hashes of Pool.Adapters
	places   []place  // scratch of Select
	idle     []int64  // scratch of placeAt
}

type loraPlacementFilterParameters struct {
	// LoadFactor is how many times the mean load an endpoint may have before another one loads the adapter, too.
	LoadFactor float64
	// MinRequests is with how many requests an endpoint may be too busy.
	MinRequests int
	// Slots is how many adapters a server has loaded at once where no metrics tell, neither its own nor those of
	// another candidate. vLLM's do, from the first request for an adapter on.
	Slots int
	// BaseModels are models that are no adapters, such as further names of a base model in lists that were written by
	// hand.
	BaseModels []string
}

// NewLoRAPlacementFilter builds a lora-placement-filter.
func NewLoRAPlacementFilter(b *scoring.Builder) scoring.Plugin {
	p := loraPlacementFilterParameters{LoadFactor: 2, MinRequests: 8, Slots: 8}
	b.Float("loadFactor", &p.LoadFactor, 1, math.MaxFloat64)
	b.Int("minRequests", &p.MinRequests, 1, math.MaxInt32)
	b.Int("slots", &p.Slots, 1, state.MaxAdapters)
	b.Strings("baseModels", &p.BaseModels)
	b.State().InFlight, b.State().Adapters = true, true
	return &loraPlacementFilter{
		loadFactor: p.LoadFactor, minRequests: float64(p.MinRequests), slots: p.Slots, baseModels: p.BaseModels,
	}
}

// Prefers implements scoring.Preference.
func (*loraPlacementFilter) Prefers() bool { return true }

// OnPool implements scoring.PoolHook.
func (f *loraPlacementFilter) OnPool(p *scoring.Pool) {
	f.bases, f.adapters = f.bases[:0], f.adapters[:0]
	for _, name := range f.baseModels {
		f.bases = append(f.bases, journal.HashName(name))
	}
	for i := range p.Endpoints {
		for _, name := range basesOf(&p.Endpoints[i]) {
			if base := journal.HashName(name); !slices.Contains(f.bases, base) {
				f.bases = append(f.bases, base)
			}
		}
	}
	for _, name := range p.Adapters {
		f.adapters = append(f.adapters, journal.HashName(name))
	}
	p.State.Adapters.SetBases(f.bases)
}

// place is how an endpoint stands to an adapter.
type place struct {
	// loaded and awaited say that it has it, and that a request for it waits there.
	loaded, awaited bool
	requests        float64 // that wait or run there
	busy            bool
	// cost is when the adapter was last asked for in whose place it would load this one; below 0 there is room, for as
	// many more, and noPlace is none at all. recent says that this was after the metrics were read, so that it may run.
	cost   int64
	recent bool
}

const noPlace = math.MaxInt64

// Select implements scoring.GroupFilter.
func (f *loraPlacementFilter) Select(c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	if !f.isAdapter(c, candidates) {
		return 0
	}
	adapter := journal.HashName(c.Request.Model)
	room := 0
	for _, e := range candidates {
		room = max(room, e.Metrics.MaxLoRA)
	}
	f.places = f.places[:0]
	sum := 1.0 // the request at hand
	for _, e := range candidates {
		p := f.placeAt(c, e, adapter, cmp.Or(e.Metrics.MaxLoRA, room, f.slots))
		p.requests = requestsAt(c, e)
		sum += p.requests
		f.places = append(f.places, p)
	}
	most := max(f.minRequests, f.loadFactor*sum/float64(len(candidates)))
	for i := range f.places {
		f.places[i].busy = f.places[i].requests >= most
	}
	if n := f.keep(candidates, func(p *place) bool { return p.loaded && !p.busy }); n > 0 {
		return n
	}
	if f.moveCheapest(c, candidates, adapter, false) {
		return 1
	}
	if n := f.keep(candidates, func(p *place) bool { return p.loaded }); n > 0 {
		return n
	}
	if n := f.keep(candidates, func(p *place) bool { return p.awaited }); n > 0 {
		return n
	}
	if f.moveCheapest(c, candidates, adapter, true) {
		return 1
	}
	return 0
}

// keep moves the candidates to the front whose place is as wanted, and returns how many they are.
func (f *loraPlacementFilter) keep(candidates []*scoring.Endpoint, wanted func(p *place) bool) (n int) {
	for i := range candidates {
		if wanted(&f.places[i]) {
			candidates[n], candidates[i] = candidates[i], candidates[n]
			f.places[n], f.places[i] = f.places[i], f.places[n]
			n++
		}
	}
	return n
}

// moveCheapest moves the candidate to the front that gives up least for an adapter, of those that have not got it and
// are not busy. ok is false where there is none.
func (f *loraPlacementFilter) moveCheapest(c *scoring.Cycle, candidates []*scoring.Endpoint, adapter uint64,
	recent bool) (ok bool) {
	best, weight := -1, uint64(0)
	for i, e := range candidates {
		p := &f.places[i]
		if p.loaded || p.busy || p.cost == noPlace || p.recent != recent || best >= 0 && p.cost > f.places[best].cost {
			continue
		}
		w := rendezvous.Weight(adapter, c.Pool.ID(e))
		if best < 0 || p.cost < f.places[best].cost || w > weight {
			best, weight = i, w
		}
	}
	if best < 0 {
		return false
	}
	candidates[0], candidates[best] = candidates[best], candidates[0]
	return true
}

// placeAt says how e, which has room for so many adapters, stands to one of them, but for whether it is busy.
func (f *loraPlacementFilter) placeAt(c *scoring.Cycle, e *scoring.Endpoint, adapter uint64, room int) place {
	p := place{cost: noPlace}
	m := &e.Metrics
	var running, waiting []uint16
	if c.Fresh(e) {
		running, waiting = m.RunningLoRA, m.WaitingLoRA
	}
	p.loaded, p.awaited = f.among(running, adapter), f.among(waiting, adapter)
	if c.Pool.State == nil {
		return p
	}
	coming := 0 // adapters for which requests wait, and that are not loaded
	for _, i := range waiting {
		if !slices.Contains(running, i) {
			coming++
		}
	}
	f.idle = f.idle[:0]
	room -= len(running)
	for _, u := range c.Pool.State.Adapters.Used(e.StateIndex) {
		if room <= 0 {
			break
		}
		if f.among(running, u.Model) {
			continue
		}
		room--
		p.loaded = p.loaded || u.Model == adapter
		if f.among(waiting, u.Model) {
			coming--
		} else {
			f.idle = append(f.idle, u.At)
		}
	}
	// Those that come take what is free first, then the places of those that were asked for longest ago.
	if free := room - coming; free > 0 {
		p.cost = -int64(free)
	} else if last := len(f.idle) - 1 + free; last >= 0 {
		p.cost, p.recent = f.idle[last], f.idle[last] > m.SampledAt
	}
	return p
}

// among reports whether a list of a server's metrics has an adapter.
func (f *loraPlacementFilter) among(list []uint16, adapter uint64) bool {
	for _, i := range list {
		if int(i) < len(f.adapters) && f.adapters[i] == adapter {
			return true
		}
	}
	return false
}

// isAdapter reports whether the request asks for a LoRA adapter.
func (f *loraPlacementFilter) isAdapter(c *scoring.Cycle, candidates []*scoring.Endpoint) bool {
	model := c.Request.Model
	if model == "" || slices.Contains(f.baseModels, model) {
		return false
	}
	listed := false
	for _, e := range candidates { // which list it, if they list any
		if slices.Contains(basesOf(e), model) {
			return false
		}
		listed = listed || len(e.Models) > 0
	}
	return listed || slices.Contains(c.Pool.Adapters, model)
}

// basesOf are the base models that an endpoint lists: one at least, if it lists any.
func basesOf(e *scoring.Endpoint) []string {
	return e.Models[:min(max(e.BaseModels, 1), len(e.Models))]
}

// requestsAt is how many requests wait or run at e.
func requestsAt(c *scoring.Cycle, e *scoring.Endpoint) float64 {
	if !c.Fresh(e) {
		return float64(c.InFlight(e))
	}
	return float64(c.Waiting(e)) + float64(c.Running(e))
}
