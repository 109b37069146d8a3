package kvindex

import (
	"fmt"
	"testing"
	"time"
	"unsafe"
)

// TestExpectedBlockWeighs: a block that is in a slower tier and expected to be in a GPU's weighs as there, whichever is
// told first.
func TestExpectedBlockWeighs(t *testing.T) {
	ctx := t.Context()
	for _, expectedFirst := range []bool{false, true} {
		m := newMemory(DefaultWeights, DefaultSize, time.Second)
		tell := []func(){
			func() { _ = m.Add(ctx, Publisher{"a", 0}, CPU, []uint64{1, 2}, []Key{1, 2}) },
			func() { _ = m.Expect(ctx, "a", []Key{1}) },
		}
		if expectedFirst {
			tell[0], tell[1] = tell[1], tell[0]
		}
		tell[0]()
		tell[1]()
		hits, err := m.Lookup(ctx, nil, []Key{1, 2}, []string{"a"})
		if err != nil || len(hits) != 1 || hits[0].Score != 1.8 || hits[0].ByTier != [Tiers]int{1, 1, 0} {
			t.Errorf("expected first %v: got %+v, %v, want a score of 1.8", expectedFirst, hits, err)
		}
	}
}

// TestNumbersAreUsedAgain: endpoints that come and go for years take no more room than those that are there.
func TestNumbersAreUsedAgain(t *testing.T) {
	m := newMemory(DefaultWeights, DefaultSize, 0)
	ctx := t.Context()
	_ = m.Add(ctx, Publisher{"stays", 0}, GPU, []uint64{1}, []Key{1})
	for i := range 5000 {
		name := fmt.Sprint("pod-", i)
		_ = m.Add(ctx, Publisher{name, 0}, GPU, []uint64{1}, []Key{2})
		hits, err := m.Lookup(ctx, nil, []Key{2}, []string{"stays", name})
		if err != nil || len(hits) != 1 || hits[0].Endpoint != name {
			t.Fatalf("%s: got %+v, %v, want its block alone", name, hits, err)
		}
		_ = m.Drop(ctx, name)
	}
	if hits, _ := m.Lookup(ctx, nil, []Key{1}, []string{"stays"}); len(hits) != 1 || len(m.byID) > 2000 {
		t.Errorf("got %+v and %d numbers, want one hit and some 1,024 numbers", hits, len(m.byID))
	}
}

// TestExpectedIsBounded: of what is expected the oldest is given up when there is too much.
func TestExpectedIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("a million blocks")
	}
	m := newMemory(DefaultWeights, DefaultSize, time.Hour)
	keys := make([]Key, maxExpected)
	for i := range keys {
		keys[i] = Key(i + 1)
	}
	_ = m.Expect(t.Context(), "a", keys[:1])
	_ = m.Expect(t.Context(), "b", keys[1:])
	if n := m.Stats().Expected; n != maxExpected {
		t.Fatalf("%d blocks are expected, want %d", n, maxExpected)
	}
	_ = m.Expect(t.Context(), "c", keys[:1])
	hits, err := m.Lookup(t.Context(), nil, keys[:1], []string{"a", "c"})
	if err != nil || len(hits) != 1 || hits[0].Endpoint != "c" {
		t.Errorf("got %+v, %v, want what was expected last", hits, err)
	}
	for n, want := range map[int]int64{maxExpected: maxExpected, maxExpected + 1: 0} {
		most := newMemory(DefaultWeights, DefaultSize, time.Hour)
		if _ = most.Expect(t.Context(), "a", make([]Key, n)); most.Stats().Expected != want {
			t.Errorf("%d at once: %d blocks are expected, want %d", n, most.Stats().Expected, want)
		}
	}
}

// TestNothingIsExpected: without a time for it nothing is expected, and what was for a time leaves nothing behind.
func TestNothingIsExpected(t *testing.T) {
	ctx, keys := t.Context(), []Key{1 << 63, 1<<40 | 7}
	for _, test := range []struct {
		name string
		ttl  time.Duration
		want Stats
	}{
		{"no time", 0, Stats{}},
		{"a time", 1, Stats{Keys: 2, Expected: 2}},
	} {
		m := newMemory(DefaultWeights, DefaultSize, test.ttl)
		now := time.Unix(1000, 0)
		m.now = func() time.Time { return now }
		_ = m.Expect(ctx, "a", keys)
		if got := m.Stats(); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
		_ = m.Drop(ctx, "a")
		now = now.Add(time.Nanosecond)
		if hits, _ := m.Lookup(ctx, nil, keys, []string{"a"}); len(hits) > 0 || m.Stats() != (Stats{}) {
			t.Errorf("%s, dropped: got %v and %+v, want nothing", test.name, hits, m.Stats())
		}
	}
}

// TestExpectedWhateverTheClock: when the clock is set back nothing is expected for longer. A time has what the clock
// said beside what differences are made of; only the former is changed here.
func TestExpectedWhateverTheClock(t *testing.T) {
	ctx, began := t.Context(), time.Now()
	back := began.Add(2 * time.Second)
	*(*uint64)(unsafe.Pointer(&back)) -= 3600 << 30 // the seconds are above 30 bits of nanoseconds
	if back.Sub(began) != 2*time.Second || back.Unix() > began.Unix()-3000 {
		t.Fatalf("%v is not an hour before and two seconds after %v", back, began)
	}
	m := newMemory(DefaultWeights, DefaultSize, time.Second)
	m.now = func() time.Time { return began }
	_ = m.Expect(ctx, "a", []Key{1})
	m.now = func() time.Time { return back }
	if hits, _ := m.Lookup(ctx, nil, []Key{1}, []string{"a"}); len(hits) > 0 {
		t.Errorf("got %v two seconds later by a clock that was set back, want nothing", hits)
	}
}

// TestExpectedEnds: what was expected for long enough is not counted, though nobody has looked anything up since.
func TestExpectedEnds(t *testing.T) {
	m := newMemory(DefaultWeights, DefaultSize, time.Second)
	now := time.Now()
	m.now = func() time.Time { return now }
	_ = m.Expect(t.Context(), "a", []Key{1, 2})
	now = now.Add(time.Second)
	if got := m.Stats(); got != (Stats{}) {
		t.Errorf("got %+v, want nothing", got)
	}
}

// TestExpectedOften: what is expected again and again, as the beginning of many prompts is, is expected until the last
// of these times is over, and leaves nothing behind.
func TestExpectedOften(t *testing.T) {
	const before, behind = 3 * countMost, 1 << countBits
	for _, dropped := range []bool{false, true} {
		m := newMemory(DefaultWeights, DefaultSize, 2*time.Second)
		now := time.Unix(1000, 0)
		m.now = func() time.Time { return now }
		expect := func(times int) {
			for range times {
				_ = m.Expect(t.Context(), "a", []Key{1})
			}
		}
		expect(before)
		now = now.Add(time.Second)
		expect(behind)
		now = now.Add(time.Second)
		hits, err := m.Lookup(t.Context(), nil, []Key{1}, []string{"a"})
		if err != nil || len(hits) != 1 || m.Stats().Expected != behind {
			t.Errorf("got %v, %v and %+v, want the block, which is expected %d times", hits, err, m.Stats(), behind)
		}
		if dropped {
			_ = m.Drop(t.Context(), "a")
			if hits, _ := m.Lookup(t.Context(), nil, []Key{1}, []string{"a"}); len(hits) > 0 || m.keys.Load() != 0 {
				t.Errorf("dropped: got %v and %d keys, want nothing", hits, m.keys.Load())
			}
		}
		now = now.Add(time.Second)
		if got := m.Stats(); got != (Stats{}) {
			t.Errorf("all over, dropped before %v: got %+v, want nothing", dropped, got)
		}
	}
}
