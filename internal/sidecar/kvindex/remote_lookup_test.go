package kvindex

import (
	"strings"
	"testing"
)

// FuzzStepFields: whatever stands in Redis, it counts for endpoints that are asked for alone, once for each key, and
// for nobody who does not live.
func FuzzStepFields(f *testing.F) {
	f.Add("one|0|0|a\none|0|1|a\ntwo|3|0|b", "one|0|0|a")
	f.Add("|||\none|x|9|a\none|-1|-1|a\none|0|0|a|b", "\n")
	f.Add("dead|0|0|a", "one|0|0|a\none|00|0|a")
	f.Fuzz(func(t *testing.T, first, second string) {
		r := &remote{memory: newMemory(DefaultWeights, 100, 0)}
		known := &others{live: map[string]bool{"one": true, "two": true}, heard: map[string]string{}}
		endpoints := map[string]bool{"a": true, "b": true}
		runs := map[string]*run{}
		keys := 0
		for i, key := range []string{first, second} {
			if !r.stepFields(runs, i, strings.Split(key, "\n"), endpoints, known) {
				break
			}
			keys++
		}
		for _, hit := range bestOf(runs) {
			tiers := 0
			for _, n := range hit.ByTier {
				tiers += n
			}
			if !endpoints[hit.Endpoint] || hit.Blocks < 1 || hit.Blocks > keys || tiers != hit.Blocks ||
				hit.Score < 0 || hit.Score > float64(hit.Blocks) || hit.Rank < 0 {
				t.Fatalf("got %+v of %d keys", hit, keys)
			}
		}
	})
}
