package e2e

import (
	"fmt"
	"testing"
	"time"
)

// evictions has what a prompt takes the place of in a cache count.
const evictions = `{
	"plugins": [{"type": "prefix-cache-scorer"}, {"type": "max-score-picker"},
		{"type": "prefill-load-scorer", "parameters": {
			"thresholdTokens": 65536, "transform": "root", "evictionCost": 8}}],
	"schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "prefix-cache-scorer", "weight": 0},
		{"pluginRef": "prefill-load-scorer"}, {"pluginRef": "max-score-picker"}]}]}`

// TestEvictionCost: where prompts come again, a new one does not go where it would fill the cache beside them, and by
// the root it costs nothing where it costs the least. What was used longer ago than such prompts come again takes no
// room.
func TestEvictionCost(t *testing.T) {
	const blockTokens, blocks = 64, 20
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		pool := f.pool("sim-0", "sim-1")[:2]
		for i := range pool {
			// under names of their own, of which nothing is believed yet
			pool[i].Name = fmt.Sprint(t.Name(), time.Now().UnixNano(), " ", i)
			pool[i].Blocks = 2 * blocks * blockTokens / 16 // two prompts fill a cache
		}
		f.Publish(t, pool...)
		prompt := func(of string) string {
			text := make([]byte, blocks*blockTokens*4)
			for i := range text {
				text[i] = of[i*7%len(of)]
			}
			return `{"model":"` + textModel + `","max_tokens":1,"prompt":"` + string(text) + `"}`
		}
		first := ""
		for i := range 4 {
			got, _ := f.sendTo(t, "evictions", "/v1/completions", prompt("what comes again.."), i%2 == 1)
			if i == 0 {
				first = got.Server()
			}
			wantServer(t, got, first)
		}
		got, _ := f.sendTo(t, "evictions", "/v1/completions", prompt("and what is new.."), false)
		scores := scoresOf(t, got, "prefill-load-scorer")
		full, free := pool[0], pool[1]
		if first != "sim-0" {
			full, free = free, full
		}
		if scores[free.Name] != 1 {
			t.Errorf("the new prompt has a score of %v where it costs the least, want 1", scores[free.Name])
		}
		if got.Server() == first || scores[full.Name] >= scores[free.Name] {
			t.Errorf("the new prompt went to %s, by scores of %v where the cache is full and %v where it is free",
				got.Server(), scores[full.Name], scores[free.Name])
		}
		const unused = 12 * time.Second // they came again at once, and ten seconds count in any case
		time.Sleep(unused)
		f.Publish(t, pool...)
		got, _ = f.sendTo(t, "evictions", "/v1/completions", prompt("long after those."), false)
		if scores := scoresOf(t, got, "prefill-load-scorer"); scores[full.Name] != 1 || scores[free.Name] != 1 {
			t.Errorf("a prompt long after those has scores of %v and %v, want 1", scores[full.Name], scores[free.Name])
		}
	})
}
