package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestSpeedsOfBatches: a server that computes two prompts at once, and begins their answers together, is half as fast
// as another one if both take four times as long as one there, and not a quarter. Envoy's clock stands still but for
// the time that prompts take.
func TestSpeedsOfBatches(t *testing.T) {
	const prompts = 24
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			var learnt atomic.Bool
			arrived, release := make(chan bool), make(chan bool)
			hosts := []string{"127.0.0.1", "127.0.0.2"} // a subset tells hosts apart, and no ports
			var servers []*harness.Scripted
			for _, host := range hosts {
				servers = append(servers, streamingAt(t, host, host, func(int64) {
					if !learnt.Load() {
						arrived <- true
						<-release
					}
				}))
			}
			c := newClock(t)
			o := harness.Options{Workers: 1, Variables: c.variables()}
			g := startStreamingWith(t, o, cell, map[string]any{"debug": true, "subset": "header",
				"config": map[string]any{"plugins": []map[string]any{
					{"type": "prefill-load-scorer", "parameters": map[string]any{"thresholdTokens": 1 << 13}}}},
			}, servers...)
			c.stop(t)

			for i := range prompts {
				host, together, seconds := hosts[i%2], 1+i%2, 1+i/2%3
				answers := make(chan harness.Answer, together)
				for part := range together {
					prompt := strings.Repeat(fmt.Sprintf("%03d ", 2*i+part), 250*seconds)
					go func() { answers <- g.send(t, prompt, host) }()
				}
				for range together {
					awaited(t, "a server to have a prompt", arrived)
				}
				c.advance(t, time.Duration(together*together*seconds)*time.Second)
				for range together {
					release <- true
				}
				for range together {
					wantServer(t, awaited(t, "an answer", answers), host)
				}
			}
			learnt.Store(true)
			scores := scoresOf(t, g.ask(t), "prefill-load-scorer")
			if got := (1 - scores["server-1"]) / (1 - scores["server-0"]); got < 1.5 || got > 2.2 {
				t.Errorf("a prompt costs %.2f times as much where two are computed at once, want 2: %v", got, scores)
			}
		})
	}
}
