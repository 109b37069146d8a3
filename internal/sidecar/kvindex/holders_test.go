package kvindex

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHolders: whoever comes and goes, however often, a key has the holders that it would have in a map, and what was
// given back is used again.
func TestHolders(t *testing.T) {
	const keys, ids, most = 5, 40, 3000
	random := rand.New(rand.NewPCG(1, 2))
	s := &shard{keys: newTable[holding](7)}
	want := map[Key]map[uint32][Tiers]uint32{}
	check := func(step int, key Key) {
		h := s.keys.find(uint64(key))
		if (h == nil) != (len(want[key]) == 0) {
			t.Fatalf("step %d: key %d is there: %v, want %d holders", step, key, h != nil, len(want[key]))
		}
		if h == nil {
			return
		}
		var single [1]holder
		got := map[uint32][Tiers]uint32{}
		for _, one := range s.holders(h, &single) {
			counts := [Tiers]uint32{one.count(GPU), one.count(CPU), one.count(Disk)}
			for tier := range counts {
				counts[tier] += s.over[copies{key, one.id(), Tier(tier)}]
			}
			got[one.id()] = counts
		}
		for id, counts := range want[key] {
			if got[id] != counts || len(got) != len(want[key]) {
				t.Fatalf("step %d: key %d has %v, want %v", step, key, got, want[key])
			}
		}
	}
	step := func(i int, adds bool) {
		key, id, tier := Key(random.Uint64N(keys)+1), random.Uint32N(ids)+1, Tier(random.Uint32N(Tiers))
		of := want[key]
		counts := of[id]
		var change, expected added
		if adds {
			change = s.add(key, id, tier)
			expected = added{key: len(of) == 0, tier: counts[tier] == 0}
			counts[tier]++
		} else {
			change = s.remove(key, id, tier)
			if counts[tier] > 0 {
				counts[tier]--
				expected = added{tier: counts[tier] == 0, key: len(of) == 1 && counts == [Tiers]uint32{}}
			}
		}
		if of == nil {
			of = map[uint32][Tiers]uint32{}
			want[key] = of
		}
		if of[id] = counts; counts == [Tiers]uint32{} {
			delete(of, id)
		}
		if change != expected {
			t.Fatalf("step %d: got %+v for key %d, holder %d, want %+v", i, change, key, id, expected)
		}
		check(i, key)
	}
	var used [3][]uint32
	for round := range used {
		for i := range most {
			step(i, random.Uint32N(8) > 0)
		}
		for i := 0; len(want[1])+len(want[2])+len(want[3])+len(want[4])+len(want[5]) > 0; i++ {
			step(i, false)
		}
		for i := range s.lists {
			used[round] = append(used[round], s.lists[i].used)
		}
	}
	if s.keys.n != 0 || len(s.over) != 0 || !slices.Equal(used[1], used[2]) || slices.Max(used[2]) > keys+1 {
		t.Errorf("got %d keys in the end, and lists %v, want none, and as many as %d keys need", s.keys.n, used, keys)
	}
}

// TestManyPublishersOfAKey: a count goes further than its bits, but the holders of a key do not.
func TestManyPublishersOfAKey(t *testing.T) {
	s := &shard{keys: newTable[holding](7)}
	for i := range tierMost + 2 {
		if got, want := s.add(1, 9, CPU), (added{key: i == 0, tier: i == 0}); got != want {
			t.Fatalf("time %d: got %+v, want %+v", i+1, got, want)
		}
	}
	for i := range tierMost + 2 {
		last := i == tierMost+1
		if got, want := s.remove(1, 9, CPU), (added{key: last, tier: last}); got != want {
			t.Fatalf("removed %d times: got %+v, want %+v", i+1, got, want)
		}
	}
	if got := s.remove(1, 9, CPU); got != (added{}) {
		t.Errorf("removed once more: got %+v, want nothing", got)
	}
	const most = 1 << 15
	for id := range uint32(most + 1) {
		if got, want := s.add(2, id, GPU), (added{key: id == 0, tier: id < most, refused: id == most}); got != want {
			t.Fatalf("holder %d: got %+v, want %+v", id+1, got, want)
		}
	}
}
