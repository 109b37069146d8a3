package scorers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestPrefixesOfUnsampledServers: prompts go on to where they are cached while a sidecar that was started anew has not
// sampled the servers, of whose caches nothing is known then, and what is learnt meanwhile counts afterwards.
func TestPrefixesOfUnsampledServers(t *testing.T) {
	tests := []struct{ name, config string }{
		{"prefix-cache-scorer", `{"plugins": [{"type": "prefix-cache-scorer"}]}`},
		{"approx-prefix-cache-producer", `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins":
			[{"type": "approx-prefix-cache-producer"}, {"type": "prefix-cache-scorer"}]}`},
		{"less room than was told", `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins":
			[{"type": "approx-prefix-cache-producer", "parameters": {"lruCapacityPerServer": 4}},
			{"type": "prefix-cache-scorer"}]}`},
	}
	sampled := scoring.Metrics{SampledAt: plantest.Now, KVBlocks: 10_000, KVBlockTokens: 160}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := plantest.Plan(t, tt.config, plantest.Neutral)
			pool := plantest.Pool(scoring.Endpoint{}, scoring.Endpoint{})
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			c := plantest.Cycle(pool, 1)
			told := func(m scoring.Metrics) {
				for i := range pool.Endpoints {
					pool.Endpoints[i].Metrics = m
				}
				plan.Prepare(pool)
			}
			lease := uint32(0)
			// cached is how many tokens of the prompt are thought to be where it goes, which then answers.
			cached := func(prompt string) uint32 {
				ask(t, plan, c, strings.Repeat(prompt, 6400/len(prompt)))
				var event journal.Event
				plan.Record(c, &event)
				lease++
				event.Lease, event.Time = lease, plantest.Now
				pool.State.Apply(&event)
				answer := journal.Event{Kind: journal.Completion, Lease: lease, Time: plantest.Now,
					Primary: event.Primary, Status: 200, TTFTMicros: 1}
				pool.State.Apply(&answer)
				return event.PredictedTokens
			}
			told(sampled)
			cached("known before")
			told(scoring.Metrics{})
			if got := cached("known before"); got < 1400 {
				t.Errorf("%d tokens are taken for cached while servers are not sampled, want 1,400 or more", got)
			}
			cached("new meanwhile")
			told(sampled)
			for _, prompt := range []string{"known before", "new meanwhile"} {
				if got := cached(prompt); got < 1400 {
					t.Errorf("%s: %d tokens are taken for cached when servers are sampled again, want 1,400 or more",
						prompt, got)
				}
			}
		})
	}
}
