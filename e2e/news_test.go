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
			var cached atomic.Bool                      // then nothing of a prompt is to be computed
			hosts := []string{"127.0.0.1", "127.0.0.2"} // a subset tells hosts apart, and no ports
			var servers []*harness.Scripted
			for i, each := range []time.Duration{fast, slow} {
				servers = append(servers, streamingAt(t, hosts[i], hosts[i], func(bytes int64) {
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

			send := func(prompt, host string) { wantServer(t, g.send(t, prompt, host), host) }

			// learnt is what a new prompt costs once what is sent has taught it: a busy machine takes more rounds.
			learnt := func(least, most float64, round func()) (got float64, ok bool) {
				for range 5 {
					round()
					if got = dearer(); got >= least && got <= most {
						return got, true
					}
				}
				return got, false
			}
			sent := 0
			if got, ok := learnt(2, 5, func() {
				for range 32 {
					send(strings.Repeat(fmt.Sprintf("%d new ", sent), 300*(1+sent/2%5)), hosts[sent%2])
					sent++
				}
			}); !ok {
				t.Errorf("where prompts are new one costs %.2f times as much at the slow server, want 3 to 4", got)
			}
			again := strings.Repeat("what comes again ", 500)
			send(again, hosts[0])
			cached.Store(true)
			if got, ok := learnt(1, 1.3, func() {
				for range 150 {
					send(again, hosts[0])
				}
			}); !ok {
				t.Errorf("where most prompts come again one costs %.2f times as much at the slow server, want 1.1", got)
			}
		})
	}
}
