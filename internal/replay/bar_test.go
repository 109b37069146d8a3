package replay

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/shipped"
)

// hour is as much as Mooncake's conversation trace has: 12,031 requests in 59 minutes, of 12,000 tokens in the mean.
func hour() (all []Request) {
	const requests, seconds = 12_031, 3_537.0
	r := rand.New(rand.NewPCG(1, 1))
	next := uint64(0)
	var open [][]uint64
	for i := range requests {
		var blocks []uint64
		if len(open) > 0 && r.IntN(3) > 0 {
			k := r.IntN(len(open))
			blocks, open = open[k], append(open[:k], open[k+1:]...)
		}
		for range 4 + r.IntN(24) {
			next++
			blocks = append(blocks, next)
		}
		tokens := len(blocks) * mooncakeBlock
		all = append(all, Request{
			At: seconds * float64(i) / requests, Model: traceModel, Input: tokens, Output: 50 + r.IntN(600),
			Stream: true,
			Prompt: Prompt{
				Bytes: tokens * bytesPerToken, UnitBytes: mooncakeBlock * bytesPerToken, Blocks: blocks,
			},
		})
		if tokens < 40_000 {
			open = append(open, append([]uint64{}, blocks...))
		}
	}
	return all
}

// TestHour: an hour of traffic under five configurations takes ten seconds on two processors at most, as make bars
// asserts.
func TestHour(t *testing.T) {
	const limit = 10 * time.Second
	bars := os.Getenv("PINTLE_BARS") != ""
	requests := hour()
	if !bars {
		requests = requests[:500]
	}
	began := time.Now()
	var running sync.WaitGroup
	for _, config := range []string{
		`{"config": ` + shipped.JSON() + `}`, `{}`, random, `{"plugins": [{"type": "active-request-scorer"}]}`,
		`{"plugins": [{"type": "prefix-cache-scorer", "parameters": {"maxPrefixBlocksToMatch": 1024}}]}`,
	} {
		running.Go(func() {
			c, err := pluginconfig.Parse([]byte(config))
			if err != nil {
				t.Error(err)
				return
			}
			samples, err := Run(context.Background(), c.Plan, requests, Options{Servers: DefaultServers(), Seed: 1})
			if err != nil || len(samples) != len(requests) {
				t.Errorf("%d samples, %v", len(samples), err)
			}
		})
	}
	running.Wait()
	took := time.Since(began)
	t.Logf("%d requests under 5 configurations took %v", len(requests), took)
	if bars && took > limit {
		t.Errorf("took %v, want %v", took, limit)
	}
}
