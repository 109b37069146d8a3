package journal

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

// faulty returns what a store never should: parts of values, values of before, changed bits.
type faulty struct {
	Store
	rng     *rand.Rand
	earlier map[string]earlier
	faults  int
	off     bool
}

type earlier struct {
	value  []byte
	change uint32
}

func (f *faulty) Get(key string) ([]byte, uint32, bool) {
	value, change, ok := f.Store.Get(key)
	if f.off || !ok {
		return value, change, ok
	}
	before, known := f.earlier[key]
	if !known || f.rng.IntN(3) == 0 {
		f.earlier[string([]byte(key))] = earlier{bytes.Clone(value), change}
	}
	switch f.rng.IntN(30) {
	case 0:
		f.faults++
		return value[:f.rng.IntN(len(value))], change, true
	case 1:
		if known {
			f.faults++
			return before.value, before.change, true
		}
	case 2:
		f.faults++
		value[f.rng.IntN(len(value))] ^= 1 << f.rng.IntN(8)
	case 3:
		f.faults++
		return nil, 0, false
	}
	return value, change, ok
}

func TestFaultyReads(t *testing.T) {
	for seed := range uint64(40) {
		data := journaltest.New(0)
		writer := open(t, data.Store(), 1, 64)
		store := &faulty{Store: data.Store(), rng: rand.New(rand.NewPCG(seed, 2)), earlier: map[string]earlier{}}
		reader := open(t, store, 2, 64)
		last, count := uint32(0), uint64(0)
		for i := range 300 {
			decide(t, writer, i%300)
			store.off = i == 299
			reader.Poll()
			for e := reader.Next(); e != nil; e = reader.Next() {
				if e.Kind == Missed {
					count += e.Missed
					continue
				}
				if e.Lease <= last || e.Instance != 1 || len(blocksOf(e)) != int(e.Lease-1)%300 {
					t.Fatalf("seed %d: read %s with %d blocks after %d", seed, short(e), len(blocksOf(e)), last)
				}
				last = e.Lease
				count++
			}
		}
		if s := reader.Stats(); count != 300 || store.faults == 0 || s.Restarts != 0 || s.Corrupt == 0 {
			t.Fatalf("seed %d: %d events read or missed after %d faults, want 300; %+v", seed, count, store.faults, s)
		}
	}
}

// TestFaultyWrites has a writer that reads wrongly: it may fail, but what it reports as written is read, once.
func TestFaultyWrites(t *testing.T) {
	for seed := range uint64(40) {
		data := journaltest.New(0)
		store := &faulty{Store: data.Store(), rng: rand.New(rand.NewPCG(seed, 3)), earlier: map[string]earlier{}}
		writer, reader := open(t, store, 1, 64), open(t, data.Store(), 2, 64)
		for lease := range uint32(300) {
			want := []string(nil)
			e := Event{Kind: Decision, Lease: lease, Chains: chain(hashes(int(lease) % 100))}
			if writer.Append(&e) {
				want = []string{short(&e)}
			}
			expect(t, reader, want...)
		}
		if store.faults == 0 || writer.Stats().Failed == 0 {
			t.Fatalf("seed %d: %d faults, %+v, want some of both", seed, store.faults, writer.Stats())
		}
	}
}

func TestDamagedHeadIsReplaced(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	a, b := open(t, store, 1, 4), open(t, data.Store(), 2, 4)
	decide(t, a, 0)
	expect(t, a, "d1.1")
	expect(t, b, "d1.1")
	store.Set(headKey, []byte("something else"), 0)
	for now := range int64(healTicks) {
		if a.Append(&Event{Kind: Decision}) {
			t.Error("appended to a head that is none")
		}
		expect(t, a)
		a.Tick(now * int64(time.Second))
	}
	decide(t, b, 0)
	decide(t, a, 0)
	expect(t, a, "m1", "d2.1", "d1.2")
	expect(t, b, "m1", "d2.1", "d1.2")
	if got := a.Stats(); got.Restarts != 1 || got.Failed != healTicks {
		t.Errorf("got %+v, want 1 restart and %d failed", got, healTicks)
	}
}

// fixed is a store of two values: one for the head, one for all slots.
type fixed struct{ head, slot []byte }

func (f *fixed) Get(key string) ([]byte, uint32, bool) {
	if key == headKey {
		return f.head, 1, true
	}
	return f.slot, 2, true
}

func (f *fixed) Set(string, []byte, uint32) bool { return true }

// seal gives a page and its first record checksums and lengths that fit.
func seal(value []byte) {
	if len(value) < headerBytes {
		return
	}
	binary.LittleEndian.PutUint32(value[44:], uint32(len(value)-headerBytes))
	binary.LittleEndian.PutUint32(value[8:], pageMagic)
	binary.LittleEndian.PutUint64(value, xxhash.Sum64(value[checksumBytes:headerBytes]))
	if len(value) < headerBytes+checksumBytes {
		return
	}
	record := value[headerBytes:]
	var e Event
	if size, ok := e.Decode(record[checksumBytes:]); ok {
		binary.LittleEndian.PutUint64(record, xxhash.Sum64(record[checksumBytes:checksumBytes+size]))
	}
}

func FuzzPages(f *testing.F) {
	decision, completion := sampleDecision(), sampleCompletion()
	records := appendRecord(appendRecord(nil, &decision), &completion)
	head := append(make([]byte, headerBytes), records...)
	for _, p := range []page{{slots: 4, number: 1, first: 2, count: 2},
		{slots: 1 << 16, number: ^uint64(0), first: ^uint64(0), count: 1}} {
		p.put(head)
		f.Add(bytes.Clone(head), bytes.Clone(head[:len(head)-8]))
	}
	f.Fuzz(func(t *testing.T, head, slot []byte) {
		seal(head)
		seal(slot)
		j := open(t, &fixed{head, slot}, 7, 4)
		for now := range int64(3) {
			j.Poll()
			for range 1 << 20 {
				if j.Next() == nil {
					break
				}
			}
			if j.Next() != nil {
				t.Fatal("reading does not end")
			}
			j.Append(&decision)
			j.Tick(now)
			j.reader.change = 0
			head, slot = slot, head
			j.store.(*fixed).head, j.store.(*fixed).slot = head, slot
		}
	})
}
