package replay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/shipped"
)

// TestCapacityIsLearnt: servers tell a tenth of their caches, or ten times as much. By what they report of prompts this
// is corrected: after 2,000 requests they find 90 % of what they find when they tell the truth, and no more is believed
// to be there than then. PINTLE_TRACE=FILE has it replay a trace in place of made-up conversations, with small caches,
// too.
func TestCapacityIsLearnt(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute with the race detector, and shares nothing")
	}
	var source io.Reader = bytes.NewReader(conversations(5000))
	sizes := []int{76_832}
	if given := os.Getenv("PINTLE_TRACE"); given != "" {
		f, err := os.Open(given)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		source, sizes = f, append(sizes, 19_208)
	}
	trace, err := Read(source)
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

// conversations makes up a trace in Mooncake's format: a conversation every 1.5 s, of up to 8 turns, each one to eight
// minutes after the one before, so that some of what comes again has left the caches.
func conversations(requests int) []byte {
	type turn struct {
		millis int
		hashes []int
	}
	r := rand.New(rand.NewPCG(1, 2))
	next := 0
	more := func(hashes []int, n int) []int {
		for range n {
			hashes = append(hashes, next)
			next++
		}
		return hashes
	}
	var all []turn
	for i := 0; len(all) < requests+requests/4; i++ {
		at, hashes := i*1500, more(nil, 4+r.IntN(40))
		for range 1 + r.IntN(8) {
			all = append(all, turn{at, slices.Clone(hashes)})
			hashes = more(hashes, 1+r.IntN(8))
			at += 60_000 + r.IntN(420_000)
		}
	}
	slices.SortStableFunc(all, func(a, b turn) int { return cmp.Compare(a.millis, b.millis) })
	var text bytes.Buffer
	for _, one := range all[:requests] {
		ids, _ := json.Marshal(one.hashes) // numbers always can be
		fmt.Fprintf(&text, "{\"timestamp\":%d,\"input_length\":%d,\"output_length\":300,\"hash_ids\":%s}\n",
			one.millis, len(one.hashes)*512-r.IntN(512), ids)
	}
	return text.Bytes()
}

// runTold replays a trace with the shipped configuration before servers that have some blocks and tell of others, and
// reports on what follows the first 2,000 requests: the means of several goes, as chance moves one by some points.
func runTold(t *testing.T, trace *Trace, blocks, told int) *Report {
	const learnt, seeds = 2000, 5
	servers := DefaultServers()
	servers.Blocks, servers.ReportedBlocks = blocks, told
	r := new(Report)
	for seed := range uint64(seeds) {
		c, err := pluginconfig.Parse([]byte(`{"config": ` + shipped.JSON() + `}`))
		if err != nil {
			t.Fatal(err)
		}
		samples, err := Run(context.Background(), c.Plan, trace.Requests, Options{Servers: servers, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		one := Summarise("", samples[learnt:], servers.Count, Limits{})
		r.Hits += one.Hits / seeds
		r.Predicted += one.Predicted / seeds
	}
	t.Logf("told %d blocks of %d: hits %.1f %%, predicted %.1f %%", told, blocks, 100*r.Hits, 100*r.Predicted)
	return r
}
