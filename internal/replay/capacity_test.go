package replay

import (
	"context"
	"os"
	"testing"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/shipped"
)

// TestCapacityIsLearnt: servers tell a tenth of their caches, or ten times as much. By what they report of prompts this
// is corrected: after 2,000 requests they find 90 % of what they find when they tell the truth, and no more is believed
// to be there than then. The trace is the beginning of Mooncake's conversation trace
// (https://github.com/kvcache-ai/Mooncake, FAST25-release); PINTLE_TRACE=FILE has it replay another one, with small
// caches, too.
func TestCapacityIsLearnt(t *testing.T) {
	path, sizes := "testdata/conversation.jsonl.gz", []int{76_832}
	if given := os.Getenv("PINTLE_TRACE"); given != "" {
		path, sizes = given, append(sizes, 19_208)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	trace, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, blocks := range sizes {
		truth := runTold(t, trace, blocks, blocks)
		for _, told := range []int{blocks / 10, blocks * 10} {
			if r := runTold(t, trace, blocks, told); r.Hits < 0.9*truth.Hits || r.Predicted > 1.2*truth.Predicted {
				t.Errorf("told %d blocks of %d: hits %.4f, predicted %.4f; the truth makes it %.4f and %.4f", told,
					blocks, r.Hits, r.Predicted, truth.Hits, truth.Predicted)
			}
		}
	}
}

// runTold replays a trace with the shipped configuration before servers that have some blocks and tell of others, and
// reports on what follows the first 2,000 requests.
func runTold(t *testing.T, trace *Trace, blocks, told int) *Report {
	const learnt = 2000
	c, err := pluginconfig.Parse([]byte(`{"config": ` + shipped.JSON() + `}`))
	if err != nil {
		t.Fatal(err)
	}
	servers := DefaultServers()
	servers.Blocks, servers.ReportedBlocks = blocks, told
	samples, err := Run(context.Background(), c.Plan, trace.Requests, Options{Servers: servers, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := Summarise("", samples[learnt:], servers.Count, Limits{})
	t.Logf("told %d blocks of %d: hits %.1f %%, predicted %.1f %%", told, blocks, 100*r.Hits, 100*r.Predicted)
	return r
}
