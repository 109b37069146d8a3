package scorers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestBlocksInCharacters: the size of blocks that older documents give counts characters, until servers tell theirs
// where autoTune is asked for, too, and not at all beside blockSizeTokens.
func TestBlocksInCharacters(t *testing.T) {
	const counts = ` is deprecated and counts characters; blockSizeTokens counts tokens of 4 of them`
	const idle = ` is deprecated and has no effect beside blockSizeTokens`
	for _, tc := range []struct {
		name, parameters string
		told             int // tokens in the servers' blocks
		want             int // bytes in a block
		warning          string
	}{
		{"characters", `"blockSize": 100`, 0, 100, `"blockSize"` + counts},
		{"characters, and servers tell", `"blockSize": 100`, 32, 100, `"blockSize"` + counts},
		{"by the oldest name", `"hashBlockSize": 100`, 32, 100, `"hashBlockSize"` + counts},
		{"until servers tell", `"blockSize": 100, "autoTune": true`, 0, 100, `"blockSize"` + counts},
		{"servers tell", `"blockSize": 100, "autoTune": true`, 64, 256, `"blockSize"` + counts},
		{"beside tokens", `"blockSize": 100, "blockSizeTokens": 8, "autoTune": false`, 32, 32, `"blockSize"` + idle},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "prefix-cache-scorer", "parameters": {`+tc.parameters+`}}]}`,
				plantest.Neutral)
			if got := strings.Join(plan.Warnings(), "\n"); got != "prefix-cache-scorer: "+tc.warning {
				t.Errorf("warnings %q, want prefix-cache-scorer: %s", got, tc.warning)
			}
			pool := plantest.Pool(plantest.Sampled(scoring.Metrics{KVBlockTokens: tc.told, KVBlocks: 1000}))
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			plan.Prepare(pool)
			c := plantest.Cycle(pool, 1)
			body := []byte(`{"model": "m", "prompt": "` + strings.Repeat("a", 1000) + `"}`)
			if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
				t.Fatal(failure.Message)
			}
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			event := journal.Event{}
			if plan.Record(c, &event); len(event.Chains) != 1 || len(event.Chains[0].Blocks) != 1000/tc.want {
				t.Errorf("chains %+v, want one with %d blocks of %d bytes", event.Chains, 1000/tc.want, tc.want)
			}
		})
	}
}
