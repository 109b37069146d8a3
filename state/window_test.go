package state

import (
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// TestFullWindow: of as many samples as there can be the oldest makes way, which may be the one that comes.
func TestFullWindow(t *testing.T) {
	w := NewWindows(0)
	w.Resize(1)
	w.Expire(someTime)
	const first = 10 // of the samples' times, by someTime
	for i := range int64(WindowSamples) {
		w.Add(0, someTime+first+i, uint32(i))
	}
	const sum = WindowSamples * (WindowSamples - 1) / 2
	for _, tc := range []struct {
		name        string
		at          int64
		value       uint32
		mean, least float64
	}{
		{"older than all", first - 1, 9999, sum / float64(WindowSamples), 0},
		{"as old as the oldest", first, 50, (sum + 50) / float64(WindowSamples), 1},
		{"the newest", first + 999, 51, (sum + 50 + 51 - 50) / float64(WindowSamples), 1},
	} {
		w.Add(0, someTime+tc.at, tc.value)
		if n, mean, least := w.Count(0), w.Mean(0), w.Percentile(0, 0); n != WindowSamples || mean != tc.mean ||
			least != tc.least {
			t.Errorf("%s: got %d with a mean of %v and %v as the least, want %d with %v and %v", tc.name, n, mean,
				least, WindowSamples, tc.mean, tc.least)
		}
	}
}

// TestWindowsOutOfRange: of an index that is none there are no samples.
func TestWindowsOutOfRange(t *testing.T) {
	w := NewWindows(0)
	w.Resize(2)
	w.Resize(1) // never shrinks
	for _, index := range []int{-1, 2} {
		w.Add(index, someTime, 5)
		w.Reset(index)
		if n, mean, half := w.Count(index), w.Mean(index), w.Percentile(index, 0.5); n != 0 || mean != 0 || half != 0 {
			t.Errorf("%d: got %d samples of %v and %v, want none", index, n, mean, half)
		}
	}
	if w.Add(1, someTime, 5); w.Count(1) != 1 {
		t.Errorf("the last index has %d samples, want 1", w.Count(1))
	}
	if w.Reset(1); w.Count(1) != 0 || w.Mean(1) != 0 {
		t.Errorf("forgotten: got %d samples of %v, want none", w.Count(1), w.Mean(1))
	}
}

// TestSamplesOfTheFuture: a sample from the future is one of now, and lives no longer than others.
func TestSamplesOfTheFuture(t *testing.T) {
	w := NewWindows(0)
	w.Resize(1)
	w.Expire(someTime)
	w.Add(0, someTime+10*int64(DefaultWindowAge), 5)
	for _, tc := range []struct {
		at   int64
		want int
	}{{int64(DefaultWindowAge) - 1, 1}, {int64(DefaultWindowAge), 0}} {
		if w.Expire(someTime + tc.at); w.Count(0) != tc.want {
			t.Errorf("%d ns later: got %d samples, want %d", tc.at, w.Count(0), tc.want)
		}
	}
}

// TestServedUsersStay: who was served does not make way as long as somebody is there who never was, however little he
// was expected to take before.
func TestServedUsersStay(t *testing.T) {
	tokens := tracker(0, 2, 1, 2)
	tokens.Add(1, someTime, 1, 0)
	tokens.Serve(1, someTime, 1, 0)
	tokens.Add(2, someTime, 100, 0)
	tokens.Add(3, someTime, 50, 0)
	for user, want := range map[uint64]float64{1: 2, 2: 0, 3: 50} {
		wantTotal(t, tokens, user, want)
	}
	tokens.Serve(3, someTime, 10, 0)
	tokens.Add(4, someTime, 7, 0)
	for user, want := range map[uint64]float64{1: 0, 3: 60, 4: 7} {
		wantTotal(t, tokens, user, want)
	}
	wantRange(t, tokens, 10, 10)
}

// TestBurstsGoByTheFirstBlocks: prompts that differ only behind so many blocks are equal.
func TestBurstsGoByTheFirstBlocks(t *testing.T) {
	const most = 2
	b := newBurst(2, BurstOptions{})
	b.state.Bursts.Most = most
	b.state.Apply(&journal.Event{Kind: journal.Decision, Time: b.now, Primary: 2,
		Chains: []journal.Chain{{ID: burstChain, Blocks: []uint64{1, 2, 3}}}})
	for _, tc := range []struct {
		name   string
		prompt []uint64
		want   [2]int32
	}{
		{"equal", []uint64{1, 2, 3}, [2]int32{0, 2}},
		{"of another end", []uint64{1, 2, 9, 9}, [2]int32{0, 2}},
		{"without the end", []uint64{1, 2}, [2]int32{0, 2}},
		{"of another beginning", []uint64{9, 2, 3}, [2]int32{0, 0}},
	} {
		if got := b.share(tc.prompt); [2]int32(got) != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}
