package state

import (
	"math/rand/v2"
	"testing"
)

// randomKey is one of 20,000 keys, of which four each have the same lower half.
func randomKey(r *rand.Rand) uint64 {
	n := r.Uint64N(20_000)
	return mix(n/4, 0x9e3779b97f4a7c15)&0xffffffff | n%4<<32
}

func TestTableLikeAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var table table
	table.init()
	entries := map[uint32]uint64{}
	numbers := map[uint64]map[uint32]bool{}
	var all []uint32
	for step := range 200_000 {
		switch {
		case r.IntN(5) < 3 || len(all) == 0:
			key := randomKey(r)
			i := table.insert(key)
			if _, taken := entries[i]; taken || i == 0 {
				t.Fatalf("step %d: number %d was given out twice", step, i)
			}
			entries[i] = key
			if numbers[key] == nil {
				numbers[key] = map[uint32]bool{}
			}
			numbers[key][i] = true
			all = append(all, i)
		default:
			at := r.IntN(len(all))
			i := all[at]
			all[at] = all[len(all)-1]
			all = all[:len(all)-1]
			table.remove(i)
			delete(numbers[entries[i]], i)
			delete(entries, i)
		}
		key := randomKey(r)
		found := 0
		for i := table.find(key); i != 0; i = table.following(i) {
			if !numbers[key][i] {
				t.Fatalf("step %d: found entry %d, which does not have the key", step, i)
			}
			found++
		}
		if found != len(numbers[key]) {
			t.Fatalf("step %d: found %d entries of a key, want %d", step, found, len(numbers[key]))
		}
	}
	if int(table.used) != len(entries) {
		t.Errorf("used: got %d, want %d", table.used, len(entries))
	}
	if most := table.used + table.used/2; table.buckets > most {
		t.Errorf("got %d buckets for %d entries", table.buckets, table.used)
	}
}

func TestTableStaysShallow(t *testing.T) {
	var table table
	table.init()
	for i := range uint64(100_000) {
		table.insert(mix(i<<40, splitMix(9)|1))
	}
	deepest := 0
	for b := range table.buckets {
		depth := 0
		for i := *table.bucket(b); i != 0; i = table.at(i).next {
			depth++
		}
		deepest = max(deepest, depth)
	}
	if deepest > 16 {
		t.Errorf("got a bucket of %d entries, want at most 16", deepest)
	}
}
