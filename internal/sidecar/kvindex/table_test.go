package kvindex

import (
	"math/rand/v2"
	"testing"
)

// TestTable plays random changes on a table and on a map, with keys that come again, zero among them.
func TestTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	got, want := newTable[uint32](7), map[uint64]uint32{}
	for step := range 200_000 {
		key := random.Uint64N(20_000) * (1 + random.Uint64N(2)<<40)
		if random.IntN(3) == 0 {
			got.remove(key)
			delete(want, key)
		} else {
			value, added := got.put(key)
			if _, had := want[key]; had == added {
				t.Fatalf("step %d: got added %v for a key that was there %v", step, added, had)
			}
			*value = uint32(step)
			want[key] = uint32(step)
		}
		if key = random.Uint64N(20_000); step%16 == 0 {
			value := got.find(key)
			if w, had := want[key]; had != (value != nil) || had && *value != w {
				t.Fatalf("step %d: got %v, want %d, %v", step, value, w, had)
			}
		}
	}
	if got.n != len(want) {
		t.Errorf("got %d keys, want %d", got.n, len(want))
	}
	n := 0
	got.all(func(key uint64, value *uint32) {
		n++
		if key == zeroKey {
			key = 0
		}
		if w, had := want[key]; !had || w != *value {
			t.Fatalf("got %d for %d, want %d, %v", *value, key, w, had)
		}
	})
	if n != len(want) {
		t.Errorf("all: got %d keys, want %d", n, len(want))
	}
	for range 100 {
		if key := got.any(random.Uint64()); got.find(key) == nil {
			t.Fatalf("any: got %d, which is not there", key)
		}
	}
}

// TestTableOfBadKeys: keys that all lead to one segment end in a refusal and not in a directory without end.
func TestTableOfBadKeys(t *testing.T) {
	table := newTable[uint32](0)
	refused := 0
	for i := range uint64(2 * segmentSlots) {
		// What mix undoes, so that the leading bits of all are zero.
		if value, _ := table.put(unmix(i + 1)); value == nil {
			refused++
		}
	}
	if refused == 0 || table.n < segmentSlots/2 {
		t.Errorf("got %d keys and %d refused", table.n, refused)
	}
}

func unmix(x uint64) uint64 {
	x ^= x>>31 ^ x>>62
	x *= 0x319642b2d24d8ec3
	x ^= x>>27 ^ x>>54
	x *= 0x96de1b173f119089
	return x ^ x>>30 ^ x>>60
}

func FuzzTable(f *testing.F) {
	f.Add([]byte{1, 2, 3, 129, 130})
	f.Fuzz(func(t *testing.T, steps []byte) {
		got, want := newTable[uint32](1), map[uint64]bool{}
		for i, step := range steps {
			key := uint64(step & 127)
			if step >= 128 {
				got.remove(key)
				delete(want, key)
				continue
			}
			value, _ := got.put(key)
			*value = uint32(i)
			want[key] = true
		}
		for key := range uint64(128) {
			if (got.find(key) != nil) != want[key] {
				t.Fatalf("%d: got %v, want %v", key, got.find(key) != nil, want[key])
			}
		}
	})
}
