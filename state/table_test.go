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
	tidy(t, &table)
	if table.spillTop == 0 {
		t.Error("no bucket ever was full")
	}
	for _, i := range all {
		table.remove(i)
	}
	if table.used != 0 {
		t.Errorf("used: got %d when all were removed", table.used)
	}
	if extra := tidy(t, &table); extra != 0 {
		t.Errorf("got %d further buckets when all were removed, want none", extra)
	}
}

// tidy fails if a table has entries behind a gap, or buckets that are neither in use nor free. It returns how many
// buckets there are for what has no room.
func tidy(t *testing.T, table *table) (extra int) {
	t.Helper()
	for home := range table.buckets {
		for b := table.home(home); ; b = table.spill(b.more) {
			n := 0
			for n < bucketRoom && b.entries[n] != 0 {
				n++
			}
			for i := n; i < bucketRoom; i++ {
				if b.entries[i] != 0 || b.tag(i) != 0 {
					t.Fatalf("bucket %d has entry %d behind a gap", home, i)
				}
			}
			if b.more == 0 {
				break
			}
			if n < bucketRoom || table.spill(b.more).entries[0] == 0 {
				t.Fatalf("bucket %d has another one that it does not need", home)
			}
			extra++
		}
	}
	free := 0
	for i := table.spillFree; i != 0; i = table.spill(i).more {
		free++
	}
	if extra+free != int(table.spillTop) {
		t.Fatalf("of %d further buckets %d are in use and %d free", table.spillTop, extra, free)
	}
	return extra
}

func TestTableStaysShallow(t *testing.T) {
	var table table
	table.init()
	for i := range uint64(100_000) {
		table.insert(mix(i<<40, splitMix(9)|1))
	}
	if most := table.buckets * bucketFill; table.used > most {
		t.Errorf("got %d entries in %d buckets", table.used, table.buckets)
	}
	deepest := 0
	for i := range table.buckets {
		depth := 1
		for b := table.home(i); b.more != 0; b = table.spill(b.more) {
			depth++
		}
		deepest = max(deepest, depth)
	}
	if deepest > 3 {
		t.Errorf("got %d buckets for one, want at most 3", deepest)
	}
	if extra := tidy(t, &table); extra > int(table.buckets)/4 {
		t.Errorf("got %d further buckets beside %d", extra, table.buckets)
	}
}
