package replay

import (
	"context"
	"testing"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/shipped"
)

// Servers tell a tenth of their caches, or ten times as much. By what they report of prompts this is corrected: after
// 2,000 requests they find 90 % of what they find when they tell the truth. The trace is the beginning of Mooncake's
// conversation trace (https://github.com/kvcache-ai/Mooncake, FAST25-release).
func TestCapacityIsLearnt(t *testing.T) {
	const learnt, blocks = 2000, 76_832
	trace := read(t, "conversation.jsonl.gz")
	for _, config := range []struct{ name, text string }{
		{"shipped", `{"config": ` + shipped.JSON() + `}`}, {"empty", `{}`},
	} {
		t.Run(config.name, func(t *testing.T) {
			t.Parallel()
			run := func(told int) *Report {
				c, err := pluginconfig.Parse([]byte(config.text))
				if err != nil {
					t.Fatal(err)
				}
				servers := DefaultServers()
				servers.Blocks, servers.ReportedBlocks = blocks, told
				samples, err := Run(context.Background(), c.Plan, trace.Requests, Options{Servers: servers, Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				return Summarise("", samples[learnt:], servers.Count, Limits{})
			}
			truth := run(blocks)
			t.Logf("told the truth: hits %.4f, predicted %.4f", truth.Hits, truth.Predicted)
			for _, told := range []int{blocks / 10, blocks * 10} {
				r := run(told)
				t.Logf("told %d blocks: hits %.4f, predicted %.4f", told, r.Hits, r.Predicted)
				if r.Hits < 0.9*truth.Hits {
					t.Errorf("told %d blocks of %d: hits %.4f, want 90 %% of %.4f", told, blocks, r.Hits, truth.Hits)
				}
			}
		})
	}
}
