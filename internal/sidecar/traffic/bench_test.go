package traffic

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// BenchmarkRequest is what a request of 2 KB costs the sidecar: its decision, the beginning of its answer, its
// completion.
func BenchmarkRequest(b *testing.B) {
	f := newFixture(b, false)
	blocks := make([]uint64, 8)
	event := follow.Event{Envoy: "gateway", Names: f.names}
	hash, id := journal.HashName("m1"), journal.EndpointID("vllm-0")
	b.ReportAllocs()
	for n := range b.N {
		for i := range blocks {
			blocks[i] = uint64(n%1000*8 + i)
		}
		d := journal.Event{
			Kind: journal.Decision, Instance: 1, Lease: uint32(n + 1), Model: hash, Asked: hash, Primary: id,
			Predicted: true,
			Time:      f.now.UnixNano() + int64(n), Chains: []journal.Chain{{ID: 256, Blocks: blocks}},
		}
		event.Event = &d
		f.Take(&event)
		c := d
		c.Kind, c.Code, c.Status, c.Ended = journal.Began, 200, 200, journal.EndedWhole
		event.Event = &c
		f.Take(&event)
		c.Kind, c.UsageReported, c.CachedReported, c.InputTokens = journal.Completion, true, true, 512
		c.DurationMicros = 1000
		f.Take(&event)
	}
}
