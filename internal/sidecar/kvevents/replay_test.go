package kvevents

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"testing"

	"github.com/pintle-dev/pintle/internal/kvpub"
)

// FuzzReplayed: whatever frames a replay has, they are taken for a batch or refused, and what a subscription makes of
// the batch is within the bounds of any other.
func FuzzReplayed(f *testing.F) {
	number := binary.BigEndian.AppendUint64(nil, 7)
	batch := kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{{Kind: "BlockStored", Hashes: []uint64{1},
		Tokens: []uint32{1, 2, 3, 4}, BlockTokens: 4}})
	f.Add([]byte{}, []byte("kv@a@m"), number, batch, 4)
	f.Add([]byte{}, number, batch, []byte{}, 3)
	f.Add([]byte{}, number, []byte{}, []byte{}, 2)
	f.Add(number, number, number[:7], batch, 4)
	f.Fuzz(func(t *testing.T, a, b, c, d []byte, n int) {
		frames := [][]byte{a, b, c, d, a}[:max(0, min(n, 5))]
		topic, got, payload, err := replayed(frames)
		if err != nil {
			if topic != "" || got != 0 || payload != nil {
				t.Fatalf("got %q, %d and %d bytes beside %v", topic, got, len(payload), err)
			}
			return
		}
		if !bytes.Equal(payload, frames[len(frames)-1]) || topic != "" && topic != string(b) {
			t.Fatalf("got %q and %d bytes of %d frames", topic, len(payload), len(frames))
		}
		s := &subscription{shared: &shared{permits: make(chan struct{}, 1),
			allowed: func(_, said string) bool { return said == "a" }},
			stream: *newStream(newIndex(t), "a", 0), log: slog.New(slog.DiscardHandler)}
		if topic != "" && s.topic(topic) != nil {
			return
		}
		if err := s.take(context.Background(), got, payload, false); err != nil || s.last != got || !s.known {
			t.Fatalf("got %v, %d and %v, want batch %d taken", err, s.last, s.known, got)
		}
	})
}
