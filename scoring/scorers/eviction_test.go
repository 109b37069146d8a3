package scorers_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestEvictionCost: where prompts come again and a cache is full of them and the prompt, it costs more than its own
// tokens, unless requests wait where it has the least to compute.
func TestEvictionCost(t *testing.T) {
	const tokens, threshold = 1600, 1 << 16
	cached, other := strings.Repeat("0123456789abcdef", tokens/4), strings.Repeat("another one than", tokens/4)
	own := float64(tokens) / threshold
	once := func(used float64) float64 { return own * (1 + 8*4./9*math.Pow(used, 4)) }
	tests := []struct {
		name    string
		cost    float64
		prompt  string
		rooms   [2]int     // in blocks, of which a prompt has 100
		waiting [2]int     // below 0 a minute ago
		later   int64      // seconds since anything was asked
		lost    [2]float64 // 1 less the score
	}{
		{"no cost", 0, other, [2]int{100, 100}, [2]int{}, 0, [2]float64{own, own}},
		{"nothing told of caches", 8, other, [2]int{}, [2]int{}, 0, [2]float64{own, own}},
		{"one is full", 8, other, [2]int{100, 200}, [2]int{}, 0, [2]float64{once(1), once(0.5)}},
		{"full with the prompt", 8, other, [2]int{200, 800}, [2]int{}, 0, [2]float64{once(1), once(0.125)}},
		{"half full with it", 8, other, [2]int{400, 400}, [2]int{}, 0, [2]float64{once(0.5), once(0.25)}},
		{"what is cached costs nothing", 8, cached, [2]int{100, 400}, [2]int{}, 0, [2]float64{0, once(0.25)}},
		{"what fills it comes again at once or not at all", 8, other, [2]int{200, 200}, [2]int{}, 60,
			[2]float64{once(0.5), once(0.5)}},
		{"longer than all room", 8, other, [2]int{200, 50}, [2]int{}, 60, [2]float64{once(0.5), once(1)}},
		{"nothing to compute", 8, "", [2]int{100, 200}, [2]int{}, 0, [2]float64{0, 0}},
		{"requests wait at one that has the least", 8, other, [2]int{100, 100}, [2]int{0, 1}, 0, [2]float64{own, own}},
		{"requests waited at one, as nobody knows any longer", 8, other, [2]int{100, 100}, [2]int{-1, -1}, 0,
			[2]float64{once(1), once(1)}},
		{"requests wait elsewhere", 8, cached, [2]int{100, 200}, [2]int{0, 1}, 0, [2]float64{0, once(0.5)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := plantest.Plan(t, fmt.Sprintf(`{"plugins": [
				{"type": "prefix-cache-scorer", "parameters": {"blockSizeTokens": 16}},
				{"type": "prefill-load-scorer", "parameters": {"thresholdTokens": %d, "evictionCost": %g}}]}`,
				threshold, tt.cost), plantest.Neutral)
			sampled := func(i int) scoring.Endpoint {
				if tt.waiting[i] < 0 {
					return plantest.Aged(time.Minute, scoring.Metrics{WaitingRequests: -tt.waiting[i]})
				}
				return plantest.Sampled(scoring.Metrics{WaitingRequests: tt.waiting[i]})
			}
			pool := plantest.Pool(sampled(0), sampled(1))
			pool.State = state.New(plan.StateOptions())
			pool.State.Expire(plantest.Now)
			pool.Enter()
			for i, blocks := range tt.rooms {
				if blocks > 0 {
					pool.State.Prefix.SetCapacity(i, blocks)
				}
			}
			c := plantest.Cycle(pool, 1)
			for lease := range uint32(3) {
				serve(t, plan, c, cached, lease+1)
			}
			pool.State.Expire(plantest.Now + tt.later*int64(time.Second))
			scores := ask(t, plan, c, tt.prompt).Scores["prefill-load-scorer"]
			for i, lost := range tt.lost {
				if got := 1 - scores[pool.Endpoints[i].Name]; !(math.Abs(got-lost) <= 1e-6) {
					t.Errorf("%s scores 1 - %v, want 1 - %v", pool.Endpoints[i].Name, got, lost)
				}
			}
		})
	}
}
