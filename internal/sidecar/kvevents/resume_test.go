package kvevents

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/kvpub"
)

// TestResumed: over a new connection what was missed is taken in beside what is known, where the engine still has the
// last batch that was heard as it was. Another engine's blocks take the place of what is known. Where the engine does
// not say, all stays as it is until the first message.
func TestResumed(t *testing.T) {
	batch := func(hash uint64) []byte {
		return kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{{Kind: "BlockStored", Hashes: []uint64{hash},
			Tokens: []uint32{uint32(hash)}, BlockTokens: 1}})
	}
	end := resent("kv@a@m", ^uint64(0), nil)
	first := resent("", 0, batch(1))
	for _, tc := range []struct {
		name     string
		sent     []byte
		entries  int64
		restarts uint64
		asked    int
		fresh    bool
	}{
		{"nothing was missed", slices.Concat(first, end), 1, 0, 2, false},
		{"two were missed",
			slices.Concat(first, resent("", 1, batch(2)), resent("", 2, batch(3)), end), 3, 0, 2, false},
		{"another engine with that number",
			slices.Concat(resent("", 0, batch(7)), resent("", 1, batch(8)), end), 2, 1, 2, false},
		{"another engine's later numbers", slices.Concat(resent("", 5, batch(1)), end), 1, 1, 2, false},
		{"another engine that has published nothing", end, 0, 1, 2, true},
		{"no answer", nil, 1, 0, 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sub, asked := newReplayed(t, tc.sent)
			if err := sub.message(t.Context(), [][]byte{[]byte("kv@a@m"), binary.BigEndian.AppendUint64(nil, 0),
				batch(1)}); err != nil {
				t.Fatal(err)
			}
			sub.fresh = true
			if err := sub.resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			entries, restarts := sub.stream.index.Stats().Entries, sub.stream.counts.restarts.Load()
			if entries != tc.entries || restarts != tc.restarts || *asked != tc.asked || sub.fresh != tc.fresh {
				t.Errorf("got %d blocks, %d restarts, asked %d times, fresh %v, want %d, %d, %d and %v", entries,
					restarts, *asked, sub.fresh, tc.entries, tc.restarts, tc.asked, tc.fresh)
			}
		})
	}
}

// TestHoleForGood: where an engine sends older batches again, and not those right before a message, what came before
// these counts no longer: nobody knows what they have removed.
func TestHoleForGood(t *testing.T) {
	batch := func(hash uint64) []byte {
		return kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{{Kind: "BlockStored", Hashes: []uint64{hash},
			Tokens: []uint32{uint32(hash)}, BlockTokens: 1}})
	}
	end := resent("kv@a@m", ^uint64(0), nil)
	older := slices.Concat(resent("", 0, batch(1)), resent("", 1, batch(2)))
	for _, tc := range []struct {
		name    string
		sent    []byte
		before  []uint64 // numbers of messages before the last one, of a connection that is no longer fresh
		fresh   bool
		number  uint64
		entries int64
	}{
		{"nothing is missing", slices.Concat(older, end), nil, false, 2, 3},
		{"some are missing", slices.Concat(older, end), nil, false, 5, 1},
		{"the replay breaks off", older, nil, false, 5, 1},
		{"some are missing behind what was heard", slices.Concat(older, end), []uint64{0, 1}, false, 5, 1},
		{"some are missing of another engine", slices.Concat(older, end), []uint64{0, 1, 2, 3, 4, 5, 6}, true, 5, 1},
		{"nothing is missing of another engine", slices.Concat(older, end), []uint64{0, 1, 2, 3, 4, 5, 6}, true, 2, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sub, _ := newReplayed(t, tc.sent)
			hear := func(number uint64) {
				t.Helper()
				if err := sub.message(t.Context(), [][]byte{[]byte("kv@a@m"),
					binary.BigEndian.AppendUint64(nil, number), batch(number + 1)}); err != nil {
					t.Fatal(err)
				}
			}
			for _, number := range tc.before {
				hear(number)
			}
			sub.fresh = tc.fresh
			hear(tc.number)
			if got := sub.stream.index.Stats().Entries; got != tc.entries || sub.last != tc.number {
				t.Errorf("got %d blocks up to batch %d, want %d and %d", got, sub.last, tc.entries, tc.number)
			}
		})
	}
}
