package state

import (
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// mostBurst bounds the requests of a burst.
const mostBurst = 4096

// BurstOptions say what a burst is.
type BurstOptions struct {
	// Window is for how long a request belongs to the burst.
	Window time.Duration
	// Chain is the number of the chain that prompts are told apart by, see Chain.ID, Most how many of its blocks count.
	Chain uint64
	Most  int
	// PerEndpoint is how many equal prompts an endpoint gets in a burst; 0 is any number.
	PerEndpoint int
	// Shared is how many leading blocks make prompts alike that are not equal; 0 is none.
	Shared int
	// Size bounds the requests of a burst, of which the oldest then leave; 0 is mostBurst.
	Size int
	// ByTokens has the load of an endpoint count in blocks of prompts, each prompt once, in place of requests.
	ByTokens bool
}

// Bursts is where the requests of the last moments, the burst, went, so that those with equal prompts go together. Both
// apply and Share take a step for each request of the burst.
type Bursts struct {
	BurstOptions
	clock  clock
	newest int64       // time of the latest request
	placed []placement // the oldest first, but for what lies before head
	head   int
	usage  []burstUse // by index of endpoints, scratch of Share
}

// placement is one request of a burst.
type placement struct {
	time        int64
	key, shared uint64 // the hash of the whole prompt, and of its first blocks; 0 for none
	endpoint    int32  // -1 when it left
	cost        uint32 // of its load, what no later one counts
	unit        bool   // another request of the burst is like it
	blocks      uint16
}

// burstUse is what an endpoint has of a burst: prompts that are equal to one, that are like it, and its load.
type burstUse struct{ equal, alike, load int }

// NewBursts makes an empty one.
func NewBursts(o BurstOptions) *Bursts {
	o.Size = min(positive(o.Size, mostBurst), mostBurst)
	return &Bursts{BurstOptions: o}
}

// Resize implements part.
func (b *Bursts) Resize(n int) {
	for len(b.usage) < n {
		b.usage = append(b.usage, burstUse{})
	}
}

// Reset implements part.
func (b *Bursts) Reset(index int) {
	for i := range b.placed {
		if int(b.placed[i].endpoint) == index {
			b.placed[i].endpoint = -1
		}
	}
}

// Expire sets the clock. What is over is looked at no more.
func (b *Bursts) Expire(now int64) { b.clock.set(now) }

// MemoryBytes implements part.
func (b *Bursts) MemoryBytes() int { return 40 * cap(b.placed) }

// over reports whether a request of a time no longer belongs to the burst.
func (b *Bursts) over(time, now int64) bool { return now-time >= int64(b.Window) }

// drop forgets the oldest requests, those that are over and one for which there is no room.
func (b *Bursts) drop() {
	for b.head < len(b.placed) &&
		(b.over(b.placed[b.head].time, b.newest) || len(b.placed)-b.head >= b.Size) {
		b.head++
	}
	if b.head > 0 && b.head >= len(b.placed)/2 {
		b.placed = b.placed[:copy(b.placed, b.placed[b.head:])]
		b.head = 0
	}
}

// keys are the hashes of all blocks, which may be those of several prompts, and of the first ones.
func (b *Bursts) keys(blocks []uint64) (key, shared uint64) {
	if b.Shared > 0 && len(blocks) >= b.Shared {
		shared = blocks[b.Shared-1]
	}
	for _, block := range blocks {
		key = splitMix(key ^ block)
	}
	return key, shared
}

func (b *Bursts) cut(blocks []uint64) []uint64 { return blocks[:min(len(blocks), b.Most)] }

// apply implements part.
func (b *Bursts) apply(s *step) {
	if s.Kind != journal.Decision || s.primary < 0 {
		return
	}
	// Another gateway's clock may be ahead, and what it tells may come late: neither ends the burst of this one. Who
	// reads all of it later, as a new worker does, has the same burst.
	at := min(b.clock.at(s.Time), b.clock.now)
	if b.over(at, b.newest) {
		return
	}
	for i := range s.Chains {
		if blocks := b.cut(s.Chains[i].Blocks); s.Chains[i].ID == b.Chain && len(blocks) > 0 {
			b.place(blocks, int32(s.primary), at)
			return
		}
	}
}

func (b *Bursts) place(blocks []uint64, endpoint int32, at int64) {
	b.newest = max(b.newest, at)
	b.drop()
	key, shared := b.keys(blocks)
	p := placement{time: at, key: key, shared: shared, endpoint: endpoint, cost: 1, blocks: uint16(len(blocks))}
	if b.ByTokens {
		p.cost = uint32(len(blocks))
	}
	for i := b.head; i < len(b.placed); i++ {
		other := &b.placed[i]
		equal, alike := other.key == key, shared != 0 && other.shared == shared
		if !equal && !alike {
			continue
		}
		p.unit, other.unit = true, true
		if b.ByTokens && other.endpoint == endpoint {
			other.cost = min(other.cost, b.further(equal, int(other.blocks)))
		}
	}
	b.placed = append(b.placed, p)
}

// further is what a prompt costs where a later one is equal to it, or like it: the earlier one leaves the burst first,
// and what both have is there as long as one of them.
func (b *Bursts) further(equal bool, blocks int) uint32 {
	if equal {
		return 0
	}
	return uint32(blocks - b.Shared)
}

// Share sets matched[i] to how many of the prompt's blocks endpoints[i], an index, shall be taken to have at the time
// now, so that the request goes where the burst's equal ones went, or where there is room: all, some, or none. It
// reports whether the burst says anything. matched is at least as long as endpoints.
func (b *Bursts) Share(now int64, blocks []uint64, endpoints []uint16, matched []int32) bool {
	clear(matched[:len(endpoints)])
	blocks = b.cut(blocks)
	if len(blocks) == 0 || len(b.placed) == 0 {
		return false
	}
	key, shared := b.keys(blocks)
	equal, alike, total := b.count(b.clock.of(now), key, shared)
	best := -1
	switch {
	case equal > 0:
		best = b.fullest(endpoints, func(u *burstUse) int { return u.equal })
	case alike > 0:
		cost := 1
		if b.ByTokens {
			cost = len(blocks)
		}
		fair := (total + cost + len(endpoints) - 1) / max(len(endpoints), 1)
		best = b.fullest(endpoints, func(u *burstUse) int {
			if u.load >= fair {
				return 0
			}
			return u.alike
		})
	case total == 0:
		return false
	}
	if best >= 0 {
		matched[best] = int32(len(blocks))
		return true
	}
	b.spread(int32(len(blocks)), endpoints, matched)
	return true
}

// count finds out what each endpoint has of the burst.
func (b *Bursts) count(now int64, key, shared uint64) (equal, alike, total int) {
	clear(b.usage)
	for i := b.head; i < len(b.placed); i++ {
		p := &b.placed[i]
		if p.endpoint < 0 || b.over(p.time, now) {
			continue
		}
		u := &b.usage[p.endpoint]
		same, like := p.key == key, shared != 0 && p.shared == shared
		if same {
			u.equal++
			equal++
		}
		if like {
			u.alike++
			alike++
		}
		if same || like || p.unit {
			u.load += int(p.cost)
			total += int(p.cost)
		}
	}
	return equal, alike, total
}

// room reports whether an endpoint may get another equal prompt.
func (b *Bursts) room(u *burstUse) bool { return b.PerEndpoint == 0 || u.equal < b.PerEndpoint }

// fullest is the place of the endpoint with room that has most of something, of several the one with the least load; -1
// when none has any.
func (b *Bursts) fullest(endpoints []uint16, has func(u *burstUse) int) int {
	best, most, load := -1, 0, 0
	for i, e := range endpoints {
		if u := &b.usage[e]; b.room(u) {
			if n := has(u); n > most || n == most && n > 0 && u.load < load {
				best, most, load = i, n, u.load
			}
		}
	}
	return best
}

// spread has the endpoints with room count by their load, the least loaded ones for all blocks. Where none has room
// those with the fewest equal prompts do.
func (b *Bursts) spread(blocks int32, endpoints []uint16, matched []int32) {
	fewest := -1
	for _, e := range endpoints {
		if n := b.usage[e].equal; fewest < 0 || n < fewest {
			fewest = n
		}
	}
	open := func(u *burstUse) bool {
		return b.room(u) || u.equal == fewest && b.PerEndpoint <= fewest
	}
	least, most := -1, 0
	for _, e := range endpoints {
		if u := &b.usage[e]; open(u) {
			if least < 0 || u.load < least {
				least = u.load
			}
			most = max(most, u.load)
		}
	}
	for i, e := range endpoints {
		switch u := &b.usage[e]; {
		case !open(u):
		case u.load == least:
			matched[i] = blocks
		default:
			matched[i] = int32(int64(blocks) * int64(most-u.load) / int64(2*(most-least)))
		}
	}
}
