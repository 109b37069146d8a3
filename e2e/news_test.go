package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestSpeedCountsByNews: what workers have learnt of servers' speeds counts in full where prompts are new, and less
// where most of them come again.
func TestSpeedCountsByNews(t *testing.T) {
	const fast, slow = 10 * time.Millisecond, 40 * time.Millisecond // for 1,000 bytes
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			var cached atomic.Bool // then nothing of a prompt is to be computed
			var servers []*harness.Scripted
			for _, each := range []time.Duration{fast, slow} {
				servers = append(servers, streaming(t, each.String(), func(bytes int64) {
					if !cached.Load() {
						time.Sleep(each * time.Duration(bytes) / 1000)
					}
				}))
			}
			g := startStreaming(t, cell, map[string]any{"debug": true, "subset": "header", "config": map[string]any{
				"plugins": []map[string]any{{"type": "prefix-cache-scorer"},
					{"type": "prefill-load-scorer", "parameters": map[string]any{"thresholdTokens": 1 << 13}}},
			}}, servers...)
			// dearer is how many times as much a new prompt costs at the slow server.
			dearer := func() float64 {
				scores := scoresOf(t, g.ask(t), "prefill-load-scorer")
				return (1 - scores["server-1"]) / (1 - scores["server-0"])
			}

			// A busy machine makes times alike, and what is learnt of them slow: then it takes more prompts.
			until := func(most int, least, greatest float64, prompts func(round int)) {
				got := 0.0
				for round := range most {
					prompts(round)
					if got = dearer(); got >= least && got <= greatest {
						return
					}
				}
				t.Fatalf("one costs %.2f times as much at the slow server, want %v to %v", got, least, greatest)
			}
			send := func(prompt string, server *harness.Scripted) {
				if got := g.send(t, prompt, server.Address); got.Status != 200 {
					t.Fatalf("got %d: %s", got.Status, got.Body)
				}
			}
			until(4, 1.6, 8, func(round int) {
				for i := range 32 {
					send(strings.Repeat(fmt.Sprintf("%d new ", 100*round+i), 300*(1+i/2%5)), servers[i%2])
				}
			})
			again := strings.Repeat("what comes again ", 500)
			send(again, servers[0])
			cached.Store(true)
			until(4, 1, 1.3, func(int) {
				for range 150 {
					send(again, servers[0])
				}
			})
		})
	}
}
