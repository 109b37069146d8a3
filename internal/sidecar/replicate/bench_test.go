package replicate

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// BenchmarkEntry seals and opens entries of so many requests, with prompts of so many blocks.
func BenchmarkEntry(b *testing.B) {
	for _, size := range []struct{ requests, blocks int }{{1, 30}, {3, 30}, {3, 100}, {20, 30}, {20, 100}} {
		b.Run(fmt.Sprintf("%d requests of %d blocks", size.requests, size.blocks), func(b *testing.B) {
			batch := requests(size.requests, size.blocks)
			codec := newCodec("pintle", func() string { return token })
			bytes := 0
			for b.Loop() {
				text := codec.seal(&entry{gateway: "pintle-gateway-7c9d6bb8f4-x2x9k", batch: batch})
				e, err := codec.open(text)
				if err == nil {
					err = codec.unpack(&e)
				}
				if err != nil {
					b.Fatal(err)
				}
				bytes = len(text)
			}
			b.ReportMetric(float64(bytes)/float64(size.requests), "B/request")
			b.ReportMetric(float64(len(batch))/float64(size.requests), "raw-B/request")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size.requests), "ns/request")
		})
	}
}

// requests are the events of requests: decided, begun, ended.
func requests(n, blocks int) (batch []byte) {
	random := rand.New(rand.NewPCG(1, 2))
	now, instance, before := time.Now().UnixNano(), random.Uint64(), uint64(0)
	add := func(e journal.Event) {
		now += int64(random.IntN(1e6))
		e.Time, e.Instance, e.Model, e.User, e.Client = now, instance, 11, random.Uint64N(9)*0x9e3779b97f4a7c15,
			random.Uint64N(9)*0x9e3779b97f4a7c15
		batch = appendEvent(batch, before, 1e9+before+1, &e)
		before++
	}
	for lease := range uint32(n) {
		primary := random.Uint64N(8) * 0x9e3779b97f4a7c15
		hashes := make([]uint64, blocks)
		for i := range hashes {
			hashes[i] = random.Uint64()
		}
		add(journal.Event{Kind: journal.Decision, Lease: lease, Primary: primary, PromptBytes: 5000, InputTokens: 1250,
			OutputTokens: 100, Chains: []journal.Chain{{ID: 64, Blocks: hashes}}})
		add(journal.Event{Kind: journal.Began, Lease: lease, Primary: primary, Status: 200,
			TTFTMicros: random.Uint32N(1e6)})
		add(journal.Event{Kind: journal.Completion, Lease: lease, Primary: primary, Status: 200, Code: 200,
			InputTokens: 1250, OutputTokens: random.Uint32N(500), CachedTokens: random.Uint32N(1250),
			TTFTMicros: random.Uint32N(1e6), DurationMicros: random.Uint32N(1e7), UsageReported: true,
			CachedReported: true})
	}
	return batch
}
