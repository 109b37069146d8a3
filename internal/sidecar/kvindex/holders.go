package kvindex

import "sync"

// holder is a publisher's id with, for each tier, by how many of its hashes it has the block there. That is more than
// one when an adapter has been loaded anew under its old name, for instance: other hashes, same keys.
type holder uint32

const (
	tierBits = 4
	tierMost = 1<<tierBits - 1
	idShift  = tierBits * Tiers
	maxID    = 1<<(32-idShift) - 1
)

func (h holder) id() uint32          { return uint32(h) >> idShift }
func (h holder) count(t Tier) uint32 { return uint32(h) >> (tierBits * uint(t)) & tierMost }
func one(t Tier) holder              { return 1 << (tierBits * uint(t)) }

// holding is a key's list of holders: the holder itself when there is one, else a list of the class's arena.
type holding struct {
	ref   uint32
	n     uint16
	class uint16
}

// shard is a part of all keys.
type shard struct {
	mu    sync.RWMutex
	keys  *table[holding]
	lists [16]arena // the last one's have 1<<15 holders, the most that a key can have
	// over is by how many hashes more than its bits can say a holder has a block.
	over map[copies]uint32
}

// copies are those of a block that a holder has in a tier.
type copies struct {
	key Key
	id  uint32
	t   Tier
}

// arena holds lists of one size, without a pointer for each.
type arena struct {
	chunks [][]holder
	used   uint32
	// free is the first free list and one, whose first element says the next one.
	free uint32
}

const chunkHolders = 4096

func (a *arena) list(class uint16, ref uint32) []holder {
	size := uint32(1) << class
	each := max(chunkHolders/size, 1)
	from := ref % each * size
	return a.chunks[ref/each][from : from+size : from+size]
}

func (a *arena) take(class uint16) uint32 {
	if a.free != 0 {
		ref := a.free - 1
		a.free = uint32(a.list(class, ref)[0])
		return ref
	}
	if size := uint32(1) << class; a.used%max(chunkHolders/size, 1) == 0 {
		a.chunks = append(a.chunks, make([]holder, max(chunkHolders, size)))
	}
	a.used++
	return a.used - 1
}

func (a *arena) give(class uint16, ref uint32) {
	a.list(class, ref)[0] = holder(a.free)
	a.free = ref + 1
}

// holders returns who holds what has that holding. It is good while the shard is locked.
func (s *shard) holders(h *holding, single *[1]holder) []holder {
	if h.n == 1 {
		single[0] = holder(h.ref)
		return single[:]
	}
	return s.lists[h.class].list(h.class, h.ref)[:h.n]
}

// added is what has changed by an add: whether there is a new key, or a new tier of a holder. Neither is when there was
// no room, and then refused is set.
type added struct{ key, tier, refused bool }

// add takes it that id holds key in a tier.
func (s *shard) add(key Key, id uint32, t Tier) added {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, isNew := s.keys.put(uint64(key))
	if h == nil {
		return added{refused: true}
	}
	whole := holder(id)<<idShift | one(t)
	if isNew {
		*h = holding{ref: uint32(whole), n: 1}
		return added{key: true, tier: true}
	}
	var single [1]holder
	list := s.holders(h, &single)
	for i, old := range list {
		if old.id() != id {
			continue
		}
		if old.count(t) < tierMost {
			list[i] += one(t)
			if h.n == 1 {
				h.ref = uint32(list[0])
			}
		} else {
			s.more(copies{key, id, t})
		}
		return added{tier: old.count(t) == 0}
	}
	if !s.append(h, whole) {
		return added{refused: true}
	}
	return added{tier: true}
}

func (s *shard) more(c copies) {
	if s.over == nil {
		s.over = map[copies]uint32{}
	}
	s.over[c]++
}

// fewer takes one back of those that are over, if there is one.
func (s *shard) fewer(c copies) bool {
	switch s.over[c] {
	case 0:
		return false
	case 1:
		delete(s.over, c)
	default:
		s.over[c]--
	}
	return true
}

func (s *shard) append(h *holding, whole holder) bool {
	switch {
	case h.n == 1:
		first := holder(h.ref)
		h.class = 1
		h.ref = s.lists[1].take(1)
		s.lists[1].list(1, h.ref)[0] = first
	case int(h.n) == 1<<h.class:
		if int(h.class)+1 == len(s.lists) {
			return false
		}
		old := s.lists[h.class].list(h.class, h.ref)
		larger := s.lists[h.class+1].take(h.class + 1)
		copy(s.lists[h.class+1].list(h.class+1, larger), old)
		s.lists[h.class].give(h.class, h.ref)
		h.class, h.ref = h.class+1, larger
	}
	s.lists[h.class].list(h.class, h.ref)[h.n] = whole
	h.n++
	return true
}

// remove takes back one add. What has changed is what is not there any more.
func (s *shard) remove(key Key, id uint32, t Tier) (gone added) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.keys.find(uint64(key))
	if h == nil {
		return added{}
	}
	var single [1]holder
	list := s.holders(h, &single)
	for i, old := range list {
		if old.id() != id || old.count(t) == 0 {
			continue
		}
		if old.count(t) == tierMost && s.fewer(copies{key, id, t}) {
			return added{}
		}
		list[i] -= one(t)
		if uint32(list[i])&(1<<idShift-1) != 0 {
			if h.n == 1 {
				h.ref = uint32(list[0])
			}
			return added{tier: old.count(t) == 1}
		}
		return added{key: s.cut(key, h, list, i), tier: true}
	}
	return added{}
}

// cut takes the holder at i out of the list.
func (s *shard) cut(key Key, h *holding, list []holder, i int) (lastOfKey bool) {
	last := len(list) - 1
	list[i] = list[last]
	switch {
	case last == 0:
		s.keys.remove(uint64(key))
		return true
	case last == 1:
		only := list[0]
		s.lists[h.class].give(h.class, h.ref)
		*h = holding{ref: uint32(only), n: 1}
	default:
		h.n--
	}
	return false
}
