package picker

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// tokenLoad goes by the tokens in flight, and by those of the request that are not cached.
const (
	queueThreshold = 6000
	startsOfTokens = 16
)

var tokenLoad = document{name: "tokens in flight", next: plain, inFlight: 12, text: one(`
- {type: token-load-scorer, parameters: {queueThresholdTokens: 6000}}
- {type: inflight-load-producer}
- {type: approx-prefix-cache-producer}
- {type: prefix-cache-affinity-filter, parameters: {peakPrefillThroughput: 16444}}
`, "prefix-cache-affinity-filter", "token-load-scorer")}

// TestTokenLoad: it depends on chance at a start of the picker whether the cached tokens of a request count. Where they
// do everything is the same; in the other starts its sums are those with the whole prompt at every server.
func TestTokenLoad(t *testing.T) {
	if os.Getenv("PINTLE_PICKER") == "" {
		t.Skip("PINTLE_PICKER names no picker to compare with")
	}
	same, whole, differ := 0, 0, 0
	for start := range startsOfTokens {
		pair := startPair(t, &tokenLoad)
		random := rand.New(rand.NewPCG(5, uint64(start)))
		uncached, all, requests, otherwise := true, true, 125, 0
		shuffle(t, random, pair.servers)
		pair.own.sample()
		for range requests {
			r := tokenLoad.next(random, pair.servers)
			got, want := pair.own.decide(t, r), pair.picker.ask(t, r)
			uncached = uncached && sameTotals(got, want.answer)
			all = all && sameTotals(&answer{totals: pair.own.wholePrompts()}, want.answer)
			if len(best(got.totals)) != len(best(want.totals)) || best(got.totals)[0] != best(want.totals)[0] {
				otherwise++
			}
			lease := pair.own.serve(t, want.answer, got)
			pair.flying = append(pair.flying, flight{want, lease, pair.own.event.Primary})
			pair.land(t, got)
		}
		pair.endAll(t)
		switch {
		case uncached:
			same++
		case all:
			whole++
			differ += otherwise
		default:
			t.Errorf("start %d: sums are neither those of what is not cached nor those of whole prompts", start)
		}
	}
	t.Logf("of %d starts with %d requests each the cache counted in %d; in the others the best differ for %d requests",
		same+whole, 125, same, differ)
}

// wholePrompts are the scores of token-load-scorer where nothing counts as cached.
func (p *pintle) wholePrompts() map[string]float64 {
	scores := map[string]float64{}
	prompt := float64(p.cycle.PromptTokens())
	for address := range p.totals["default"] {
		for i := range p.cycle.Pool.Endpoints {
			if e := &p.cycle.Pool.Endpoints[i]; e.Address == address {
				load := float64(p.cycle.TokensInFlight(e)) + prompt
				scores[address] = 1 - math.Min(load, queueThreshold)/queueThreshold
			}
		}
	}
	return scores
}
