package kvevents

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/kvpub"
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
	for _, tc := range []struct {
		name     string
		messages int
		bytes    int
		least    time.Duration
	}{
		{"within its slack", 6 * paceBytes / (1 << 20), 1 << 20, 0},
		{"a minute's bytes at once", 60 * paceBytes / (1 << 20), 1 << 20, 50 * time.Second},
		{"messages without bytes", 60 * paceBytes / paceMessage, 0, 50 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, began := pacer{seen: time.Now()}, time.Now()
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
