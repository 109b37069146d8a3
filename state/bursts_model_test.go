package state

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// listedBursts is what Bursts is to be, by a list of all requests that there ever were.
type listedBursts struct {
	BurstOptions
	placed []listedPlacement
}

type listedPlacement struct {
	prompt   []uint64
	time     int64
	endpoint int // -1 when it left
	unit     bool
}

func (l *listedBursts) alike(a, b []uint64) bool {
	return l.Shared > 0 && len(a) >= l.Shared && len(b) >= l.Shared && slices.Equal(a[:l.Shared], b[:l.Shared])
}

// burst are the requests that belong to it at a time, the oldest first.
func (l *listedBursts) burst(now int64) (all []*listedPlacement) {
	for i := max(len(l.placed)-l.Size, 0); i < len(l.placed); i++ {
		if now-l.placed[i].time < int64(l.Window) {
			all = append(all, &l.placed[i])
		}
	}
	return all
}

func (l *listedBursts) place(prompt []uint64, endpoint int, now int64) {
	l.placed = append(l.placed, listedPlacement{prompt, now, endpoint, false})
	all := l.burst(now)
	last := all[len(all)-1]
	for _, p := range all[:len(all)-1] {
		if slices.Equal(p.prompt, prompt) || l.alike(p.prompt, prompt) {
			p.unit, last.unit = true, true
		}
	}
}

// load is what an endpoint has of a burst, at the time of a prompt.
func (l *listedBursts) load(all []*listedPlacement, prompt []uint64, endpoint int) (load int) {
	var counted [][]uint64
	for _, p := range all {
		if p.endpoint != endpoint || !p.unit && !slices.Equal(p.prompt, prompt) && !l.alike(p.prompt, prompt) {
			continue
		}
		cost := 1
		if l.ByTokens {
			cost = len(p.prompt)
			for _, other := range counted {
				if slices.Equal(other, p.prompt) {
					cost = 0
				} else if l.alike(other, p.prompt) {
					cost = min(cost, len(p.prompt)-l.Shared)
				}
			}
		}
		counted = append(counted, p.prompt)
		load += cost
	}
	return load
}

func (l *listedBursts) share(now int64, prompt []uint64, endpoints int, of []uint16) (matched []int32, says bool) {
	all, matched := l.burst(now), make([]int32, len(of))
	equal, alike, load, total := make([]int, endpoints), make([]int, endpoints), make([]int, endpoints), 0
	equals, alikes := 0, 0
	for e := range endpoints {
		for _, p := range all {
			if p.endpoint == e && slices.Equal(p.prompt, prompt) {
				equal[e]++
				equals++
			}
			if p.endpoint == e && l.alike(p.prompt, prompt) {
				alike[e]++
				alikes++
			}
		}
		load[e] = l.load(all, prompt, e)
		total += load[e]
	}
	if total == 0 {
		return matched, false
	}
	room := func(e uint16) bool { return l.PerEndpoint == 0 || equal[e] < l.PerEndpoint }
	best := func(of []uint16, count []int, open func(e uint16) bool) (at int) {
		at = -1
		for i, e := range of {
			if !room(e) || count[e] == 0 || !open(e) {
				continue
			}
			if at < 0 || count[e] > count[of[at]] || count[e] == count[of[at]] && load[e] < load[of[at]] {
				at = i
			}
		}
		return at
	}
	at := -1
	if equals > 0 {
		at = best(of, equal, func(uint16) bool { return true })
	} else if alikes > 0 {
		own := 1
		if l.ByTokens {
			own = len(prompt)
		}
		at = best(of, alike, func(e uint16) bool { return load[e]*len(of) < total+own })
	}
	if at >= 0 {
		matched[at] = int32(len(prompt))
		return matched, true
	}
	l.spread(prompt, of, equal, load, room, matched)
	return matched, true
}

// spread goes by the load of those with room, else of those with the fewest equal prompts.
func (l *listedBursts) spread(prompt []uint64, of []uint16, equal, load []int, room func(uint16) bool,
	matched []int32) {
	open := slices.DeleteFunc(slices.Clone(of), func(e uint16) bool { return !room(e) })
	if len(open) == 0 {
		fewest := equal[slices.MinFunc(of, func(a, b uint16) int { return equal[a] - equal[b] })]
		open = slices.DeleteFunc(slices.Clone(of), func(e uint16) bool { return equal[e] != fewest })
	}
	byLoad := func(a, b uint16) int { return load[a] - load[b] }
	least, most := load[slices.MinFunc(open, byLoad)], load[slices.MaxFunc(open, byLoad)]
	for i, e := range of {
		switch {
		case !slices.Contains(open, e):
		case load[e] == least:
			matched[i] = int32(len(prompt))
		default:
			matched[i] = int32(len(prompt) * (most - load[e]) / (2 * (most - least)))
		}
	}
}

// TestBurstsLikeAList plays requests of few prompts, so that many are equal or alike, to few endpoints, of which some
// leave and come back, and of which not all may have each request.
func TestBurstsLikeAList(t *testing.T) {
	const endpoints, millisecond = 4, int64(time.Millisecond)
	prompts := burstPrompts("xyab|xyab|xyac|xyd|xya|zabcdefgh|zabc|p|q|xy|z")
	for _, tc := range []struct {
		name    string
		options BurstOptions
	}{
		{"equal ones", BurstOptions{}},
		{"alike ones", BurstOptions{Shared: 2}},
		{"a few each", BurstOptions{PerEndpoint: 2}},
		{"a few each, and alike ones", BurstOptions{PerEndpoint: 3, Shared: 2}},
		{"tokens", BurstOptions{ByTokens: true}},
		{"tokens of alike ones", BurstOptions{ByTokens: true, Shared: 2, PerEndpoint: 3}},
		{"few requests", BurstOptions{ByTokens: true, Shared: 2, Size: 7}},
		{"one request", BurstOptions{Size: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(1, 2))
			b := newBurst(endpoints, tc.options)
			model := &listedBursts{BurstOptions: b.state.Bursts.BurstOptions}
			for step := range 2000 {
				b.now += int64(dice.IntN(20)) * millisecond * int64(step/250%2) // and all at once
				prompt := prompts[dice.IntN(len(prompts))]
				of := []uint16{0, 1, 2, 3}
				if dice.IntN(4) == 0 {
					of = slices.Delete(of, 0, 1+dice.IntN(3))
				}
				got := slices.Repeat([]int32{9}, len(of))
				says := b.state.Bursts.Share(b.now, prompt, of, got)
				want, wantSays := model.share(b.now, prompt, endpoints, of)
				if says != wantSays || !slices.Equal(got, want) {
					t.Fatalf("step %d: got %v %v, want %v %v", step, got, says, want, wantSays)
				}
				at := dice.IntN(endpoints)
				if most := slices.Max(got); most > 0 && dice.IntN(3) > 0 {
					at = int(of[slices.Index(got, most)])
				}
				b.state.Apply(&journal.Event{Kind: journal.Decision, Time: b.now, Instance: 1,
					Primary: uint64(at + 1), Chains: []journal.Chain{{ID: burstChain + 1, Blocks: prompts[0]},
						{ID: burstChain, Blocks: prompt}}})
				model.place(prompt, at, b.now)
				if dice.IntN(200) == 0 {
					b.state.Bursts.Reset(at)
					for i := range model.placed {
						if model.placed[i].endpoint == at {
							model.placed[i].endpoint = -1
						}
					}
				}
			}
		})
	}
}
