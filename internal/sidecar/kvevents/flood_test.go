package kvevents

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/zmtp"
)

// TestFlood: while one engine publishes as much as it can, of events and of garbage, another's is known as ever.
func TestFlood(t *testing.T) {
	f := newFleet(t, nil, "honest", "flood")
	honest, flood := f.servers[0], f.servers[1]
	honest.publishes(t, nil)
	flood.publishes(t, func(o *kvpub.Options) { o.Buffer = 16 })
	f.run()
	f.wait("two subscribers", func() bool { return honest.publisher.Joined() == 1 && flood.publisher.Joined() == 1 })
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		random := rand.New(rand.NewPCG(1, 2))
		for n := 0; n < 4000 && !stop.Load(); n++ { // some 200 MB
			var payload []byte
			if n%2 == 0 {
				hashes, tokens := make([]uint64, 4096), make([]uint32, 4*4096)
				for i := range hashes {
					hashes[i] = random.Uint64()
				}
				event := kvpub.Event{Kind: "BlockStored", Hashes: hashes, Tokens: tokens, BlockTokens: 4}
				payload = kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{event})
			} else {
				payload = make([]byte, 1<<16)
				for i := range payload {
					payload[i] = byte(random.Uint32())
				}
			}
			flood.publisher.Publish(payload)
		}
	}()
	defer func() {
		stop.Store(true)
		<-done
	}()
	f.wait("the flood", func() bool { return f.count(flood).malformed.Load() > 0 })
	for range 20 {
		honest.does(10)
		f.wait("what the honest one has", func() bool { return honest.differs(f.subscriber.Index, honest.name) == nil })
	}
	if c := f.count(honest); c.forgotten.Load() != 0 || c.mended.Load() != 0 || c.malformed.Load() != 0 {
		t.Errorf("the honest one has %d gaps and %d malformed batches", c.forgotten.Load()+c.mended.Load(),
			c.malformed.Load())
	}
}

// TestPacer: a publisher may be ahead of its pace for a while, and no further.
func TestPacer(t *testing.T) {
	const second = paceBytes / (1 << 20) // messages of 1 MiB
	for _, tc := range []struct {
		name     string
		before   int // messages of 1 MiB, an hour ago
		messages int
		bytes    int
		least    time.Duration
	}{
		{"within its slack", 0, 6 * second, 1 << 20, 0},
		{"a minute's bytes at once", 0, 60 * second, 1 << 20, 50 * time.Second},
		{"messages without bytes", 0, 60 * paceBytes / paceMessage, 0, 50 * time.Second},
		{"twice its slack at once", 0, 16 * second, 1 << 20, 7 * time.Second},
		{"within its slack after an hour", 7 * second, 6 * second, 1 << 20, 0},
		{"twice its slack after an hour", 7 * second, 16 * second, 1 << 20, 7 * time.Second},
		{"twice its slack after less and an hour", second, 16 * second, 1 << 20, 7 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p pacer
				for range tc.before {
					p.took(t.Context(), 1<<20)
				}
				time.Sleep(time.Hour)
				began := time.Now()
				for range tc.messages {
					p.took(t.Context(), tc.bytes)
				}
				if took := time.Since(began); took < tc.least || took > tc.least+12*time.Second ||
					tc.least == 0 && took > 0 {
					t.Errorf("%d messages of %d bytes took %v, want %v", tc.messages, tc.bytes, took, tc.least)
				}
			})
		})
	}
}

// TestAllFramesHaveTheirPace: a message is read at its pace whatever its frames are, and whoever has connected.
func TestAllFramesHaveTheirPace(t *testing.T) {
	const size = 4 << 10
	topic, number, large := []byte("kv@@m"), make([]byte, 8), make([]byte, size)
	batch := kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, nil)
	for _, tc := range []struct {
		name   string
		frames [][]byte
	}{
		{"a payload", [][]byte{topic, number, large}},
		{"a topic", [][]byte{make([]byte, maxTopic), number, batch}},
		{"a number", [][]byte{topic, large, batch}},
		{"too few frames", [][]byte{large, batch}},
		{"too many frames", [][]byte{topic, large, number, batch}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sub, _ := newReplayed(t, nil)
			sub.source.Store(&source{})
			in := &sentBy{in: bytes.NewReader(append(greeted(), framed(tc.frames...)...))}
			conn, err := zmtp.Open(in, "SUB", zmtp.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if err := sub.follow(t.Context(), conn); !errors.Is(err, io.EOF) {
				t.Fatalf("got %v, want the connection's end", err)
			}
			came := &incoming{subscription: sub, context: t.Context(), leave: context.CancelFunc(func() {}), by: conn}
			fetched := sub.pacer.debt
			sub.pacer = pacer{}
			if err := came.message(conn, tc.frames); err != nil {
				t.Fatal(err)
			}
			const want = size * time.Second / paceBytes
			if came := sub.pacer.debt; fetched < want || came < want {
				t.Errorf("%d bytes count for %v where they are fetched and for %v where they come, want %v at least",
					size,
					fetched, came, want)
			}
		})
	}
}
