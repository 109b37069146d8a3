package kvindex

import (
	"context"
	"slices"
)

// search is one lookup under way, kept for the next one.
type search struct {
	runs []run
	// ids says for each publisher where its endpoint's runs begin and how many there are.
	ids     []span
	known   []uint32 // the ids that are set
	touched []int
}

type span struct{ first, n int32 }

// run is what a rank holds of the keys so far.
type run struct {
	hit  Hit
	best Tier
	// seen is the number of the key that it has been found for, from 1 on.
	seen int
}

// Lookup implements Index.
func (m *memory) Lookup(_ context.Context, dst []Hit, keys []Key, endpoints []string) ([]Hit, error) {
	m.expire()
	s := m.scratch.Get().(*search)
	defer m.scratch.Put(s)
	m.begin(s, endpoints)
	for i, key := range keys {
		if !m.step(s, i, key) {
			break
		}
	}
	for _, id := range s.known {
		s.ids[id] = span{}
	}
	return s.best(dst), nil
}

// begin makes a run for each rank of the endpoints, and one for an endpoint without any.
func (m *memory) begin(s *search, endpoints []string) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s.runs, s.known = s.runs[:0], s.known[:0]
	s.ids = slices.Grow(s.ids, max(len(m.byID)-len(s.ids), 0))[:max(len(m.byID), len(s.ids))]
	for _, name := range endpoints {
		e := m.endpoints[name]
		if e == nil {
			continue
		}
		first := int32(len(s.runs))
		for _, p := range e.ranks {
			s.know(p, span{int32(len(s.runs)), 1})
			s.runs = append(s.runs, run{hit: Hit{Endpoint: name, Rank: p.Rank}})
		}
		if e.expected == nil {
			continue
		}
		if len(e.ranks) == 0 {
			s.runs = append(s.runs, run{hit: Hit{Endpoint: name}})
		}
		s.know(e.expected, span{first, int32(len(s.runs)) - first})
	}
}

func (s *search) know(p *publisher, where span) {
	id := p.id.Load()
	s.ids[id] = where
	s.known = append(s.known, id)
}

// step finds who holds a key, the i-th, and all before it. It reports whether anybody does.
func (m *memory) step(s *search, i int, key Key) bool {
	sh := m.shard(key)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	h := sh.keys.find(uint64(key))
	if h == nil {
		return false
	}
	s.touched = s.touched[:0]
	var single [1]holder
	for _, held := range sh.holders(h, &single) {
		if int(held.id()) >= len(s.ids) {
			continue
		}
		tier := m.heaviest(held)
		where := s.ids[held.id()]
		for at := int(where.first); at < int(where.first+where.n); at++ {
			r := &s.runs[at]
			switch {
			case r.seen == i+1:
				if m.weights[tier] > m.weights[r.best] {
					r.best = tier
				}
			case r.seen == i:
				r.seen, r.best = i+1, tier
				s.touched = append(s.touched, at)
			}
		}
	}
	for _, at := range s.touched {
		r := &s.runs[at]
		r.hit.Blocks++
		r.hit.ByTier[r.best]++
		r.hit.Score += m.weights[r.best]
	}
	return len(s.touched) > 0
}

// heaviest returns the tier of h that is worth most.
func (m *memory) heaviest(h holder) Tier {
	best, found := Tier(0), false
	for t := range Tier(Tiers) {
		if h.count(t) > 0 && (!found || m.weights[t] > m.weights[best]) {
			best, found = t, true
		}
	}
	return best
}

// best appends the best run of each endpoint that has one.
func (s *search) best(dst []Hit) []Hit {
	for i := 0; i < len(s.runs); {
		best := i
		j := i + 1
		for ; j < len(s.runs) && s.runs[j].hit.Endpoint == s.runs[i].hit.Endpoint; j++ {
			a, b := &s.runs[j].hit, &s.runs[best].hit
			if a.Score > b.Score || a.Score == b.Score && a.Rank < b.Rank {
				best = j
			}
		}
		if s.runs[best].hit.Blocks > 0 {
			dst = append(dst, s.runs[best].hit)
		}
		i = j
	}
	return dst
}
