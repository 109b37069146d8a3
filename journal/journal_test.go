package journal

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

func open(t testing.TB, store Store, instance uint64, slots int) *Journal {
	t.Helper()
	j, err := New(store, Options{Instance: instance, Slots: slots})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return j
}

func decide(t testing.TB, j *Journal, blocks int) uint32 {
	t.Helper()
	e := Event{Kind: Decision, Lease: j.NextLease(), Primary: 1, Chains: chain(hashes(blocks))}
	if !j.Append(&e) {
		t.Fatalf("instance %d: lease %d was not appended", j.Instance(), e.Lease)
	}
	return e.Lease
}

func complete(t testing.TB, j *Journal, lease uint32) {
	t.Helper()
	if !j.Append(&Event{Kind: Completion, Lease: lease}) {
		t.Fatalf("instance %d: completion of %d was not appended", j.Instance(), lease)
	}
}

// drain reads all there is, in short: "d3.1" is decision 1 of instance 3, c a completion, b an answer's beginning, g3 a
// verdict on 3, m9 nine events missed.
func drain(j *Journal) []string {
	var all []string
	j.Poll()
	for e := j.Next(); e != nil; e = j.Next() {
		all = append(all, short(e))
	}
	return all
}

func short(e *Event) string {
	switch e.Kind {
	case Decision:
		return fmt.Sprintf("d%d.%d", e.Instance, e.Lease)
	case Completion:
		return fmt.Sprintf("c%d.%d", e.Instance, e.Lease)
	case Began:
		return fmt.Sprintf("b%d.%d", e.Instance, e.Lease)
	case Refused:
		return fmt.Sprintf("r%d", e.Instance)
	case Gone:
		return fmt.Sprintf("g%d", e.Instance)
	default:
		return fmt.Sprintf("m%d", e.Missed)
	}
}

func expect(t testing.TB, j *Journal, want ...string) {
	t.Helper()
	if got := drain(j); !reflect.DeepEqual(got, want) {
		t.Errorf("instance %d read %v, want %v", j.Instance(), got, want)
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want error
	}{
		{"defaults", Options{Instance: 1}, nil},
		{"fewest slots", Options{Instance: 1, Slots: 4}, nil},
		{"most slots", Options{Instance: 1, Slots: 65536}, nil},
		{"no instance", Options{}, ErrInstance},
		{"too few slots", Options{Instance: 1, Slots: 2}, ErrSlots},
		{"too many slots", Options{Instance: 1, Slots: 131072}, ErrSlots},
		{"not a power of two", Options{Instance: 1, Slots: 1000}, ErrSlots},
		{"negative slots", Options{Instance: 1, Slots: -4}, ErrSlots},
		{"negative time", Options{Instance: 1, DeadAfter: -1}, ErrDeadAfter},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := New(journaltest.New(0).Store(), tc.o); !errors.Is(err, tc.want) {
				t.Errorf("got error %v, want %v", err, tc.want)
			}
		})
	}
}

func TestAllReadOneOrder(t *testing.T) {
	data := journaltest.New(0)
	a, b := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
	expect(t, a)
	decide(t, a, 3)
	decide(t, b, 3)
	complete(t, a, 1)
	expect(t, a, "d1.1", "d2.1", "c1.1")
	expect(t, a)
	decide(t, b, 3)
	expect(t, b, "d1.1", "d2.1", "c1.1", "d2.2")
	expect(t, a, "d2.2")
	late := open(t, data.Store(), 3, 4)
	expect(t, late, "d1.1", "d2.1", "c1.1", "d2.2")
}

func TestFieldsArrive(t *testing.T) {
	data := journaltest.New(0)
	a, b := open(t, data.Store(), 1, 0), open(t, data.Store(), 2, 0)
	for _, e := range []Event{sampleDecision(), sampleCompletion()} {
		if !a.Append(&e) {
			t.Fatal("not appended")
		}
		b.Poll()
		if got := b.Next(); got == nil || !reflect.DeepEqual(*got, e) {
			t.Errorf("got %+v, want %+v", got, e)
		}
	}
}

func TestOnlyEventsOfRequestsAreAppended(t *testing.T) {
	j := open(t, journaltest.New(0).Store(), 1, 0)
	for kind := range Missed {
		got, want := j.Append(&Event{Kind: kind}), kind == Decision || kind == Completion || kind == Began ||
			kind == Refused
		if got != want {
			t.Errorf("kind %d: got %v, want %v", kind, got, want)
		}
	}
	if j.Append(&Event{Kind: Missed}) {
		t.Error("a Missed was appended")
	}
	expect(t, j, "d1.0", "c1.0", "b1.0", "r1")
}

func TestAppendAmidReading(t *testing.T) {
	data := journaltest.New(0)
	a, b := open(t, data.Store(), 1, 64), open(t, data.Store(), 2, 64)
	var want, got []string
	for i := range 100 {
		decide(t, a, 100)
		want = append(want, fmt.Sprintf("d1.%d", i+1))
	}
	b.Poll()
	for e := b.Next(); e != nil; e = b.Next() {
		seen := short(e)
		if len(got) < 50 {
			decide(t, b, 256)
			b.Poll()
			if again := short(e); again != seen {
				t.Fatalf("the event turned from %s into %s", seen, again)
			}
		}
		got = append(got, seen)
	}
	for i := range 50 {
		want = append(want, fmt.Sprintf("d2.%d", i+1))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// memoryBound is the most bytes of keys and values that a log of this many slots ever takes in shared data. The host's
// own overhead for each key comes on top.
func memoryBound(slots int) int64 {
	return int64(slots)*int64(maxPageBytes+slotKeyBytes) + int64(maxPageBytes+len(headKey))
}

func TestMemoryStaysInBounds(t *testing.T) {
	tests := []struct{ slots, blocks int }{{4, 0}, {4, MaxBlocks}, {64, 256}, {64, 1000}, {128, 30}}
	for _, tc := range tests {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			data := journaltest.New(0)
			j := open(t, data.Store(), 1, tc.slots)
			for range 100 * tc.slots {
				decide(t, j, tc.blocks)
			}
			keys, bytes := data.Size()
			if most := memoryBound(tc.slots); keys > tc.slots+1 || bytes > most {
				t.Errorf("got %d keys and %d bytes, want at most %d and %d", keys, bytes, tc.slots+1, most)
			}
		})
	}
	if got, want := memoryBound(DefaultSlots), int64(2048*(18487+23)+18487+22); got != want {
		t.Errorf("the bound: got %d, want %d", got, want)
	}
}

func TestFirstWriterSetsSlots(t *testing.T) {
	data := journaltest.New(0)
	a, b := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 64)
	for range 50 {
		decide(t, a, MaxBlocks)
		decide(t, b, MaxBlocks)
	}
	if keys, _ := data.Size(); keys != 5 {
		t.Errorf("got %d keys, want those of 4 slots and the head", keys)
	}
}

func TestSlowReaderSkips(t *testing.T) {
	data := journaltest.New(0)
	a, slow, late := open(t, data.Store(), 1, 16), open(t, data.Store(), 2, 16), open(t, data.Store(), 3, 16)
	decide(t, a, MaxBlocks)
	expect(t, slow, "d1.1")
	for range 40 {
		decide(t, a, MaxBlocks)
	}
	// Each page holds one event: of 41, the newest 15 of the ring and the head's can be counted on.
	var kept []string
	for i := 26; i <= 41; i++ {
		kept = append(kept, fmt.Sprintf("d1.%d", i))
	}
	expect(t, slow, append([]string{"m24"}, kept...)...)
	expect(t, late, kept...)
	if got := slow.Stats(); got.Missed != 24 || got.Delivered != 17 || got.Corrupt != 0 {
		t.Errorf("got %+v, want 24 missed, 17 delivered, 0 corrupt", got)
	}
}

func TestReaderOvertakenAmidReading(t *testing.T) {
	data := journaltest.New(0)
	a, slow := open(t, data.Store(), 1, 16), open(t, data.Store(), 2, 16)
	for range 10 {
		decide(t, a, MaxBlocks)
	}
	slow.Poll()
	got := []string{short(slow.Next())}
	for range 12 {
		decide(t, a, MaxBlocks)
	}
	for e := slow.Next(); e != nil; e = slow.Next() {
		got = append(got, short(e))
	}
	want := []string{"d1.1", "m4", "d1.6", "d1.7", "d1.8", "d1.9", "d1.10"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCountersWrap(t *testing.T) {
	starts := []page{
		{number: 0, first: 0},
		{number: 1<<32 - 3, first: 1<<32 - 5},
		{number: ^uint64(0) - 2, first: ^uint64(0) - 4},
	}
	for _, start := range starts {
		for _, change := range []uint32{0, 1<<31 - 4, ^uint32(0) - 9, ^uint32(0) - 1, ^uint32(0)} {
			t.Run(fmt.Sprintf("page %x change %x", start.number, change), func(t *testing.T) {
				data := journaltest.New(change)
				store := data.Store()
				start.slots, start.epoch = 16, 5
				head := make([]byte, headerBytes)
				start.put(head)
				store.Set(headKey, head, 0)
				a, b := open(t, store, 1, 16), open(t, data.Store(), 2, 16)
				a.lease = ^uint32(0) - 1
				b.reader.started, b.reader.head, b.reader.number, b.reader.seq = true, start, start.number, start.first
				for i, want := range []string{"d1.4294967295", "d1.1", "d1.2", "d1.3", "d1.4", "d1.5", "d1.6", "d1.7"} {
					decide(t, a, MaxBlocks/(1+i%2))
					expect(t, b, want)
				}
			})
		}
	}
}

// TestCreateIsAtomic has one VM find no head, and another write its first event before the first creates the head.
func TestCreateIsAtomic(t *testing.T) {
	data := journaltest.New(0)
	a, b := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
	decide(t, a, 0)
	if b.create(absent) {
		t.Error("the head was created twice")
	}
	decide(t, b, 0)
	expect(t, a, "d1.1", "d2.1")
}
