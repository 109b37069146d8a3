package scorers_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestPrefixDefaults: how prompts are cut and how many blocks are kept, by default and as the parameters say.
func TestPrefixDefaults(t *testing.T) {
	for _, tc := range []struct {
		name, kind, parameters string
		bytes, blocks          int // of a block, and compared
		capacity               int
	}{
		{"by default", "prefix-cache-scorer", ``, 64, 256, 31250},
		{"shares by default", "prefix-share-scorer", ``, 64, 256, 31250},
		{"what is cached by default", "cached-blocks-scorer", ``, 64, 256, 31250},
		{"longer blocks", "prefix-cache-scorer", `"blockSizeTokens": 32`, 128, 256, 31250},
		{"fewer blocks", "prefix-cache-scorer", `"maxPrefixBlocksToMatch": 10`, 64, 10, 31250},
		{"the most blocks", "prefix-cache-scorer", `"maxPrefixBlocksToMatch": 1024`, 64, 1024, 31250},
		{"less room", "prefix-cache-scorer", `"lruCapacityPerServer": 7`, 64, 256, 7},
		{"the mode of before", "prefix-cache-scorer", `"mode": "estimate"`, 64, 256, 31250},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRouter(t, `{"plugins": [{"type": "`+tc.kind+`", "parameters": {`+tc.parameters+`}}]}`, scoring.Endpoint{})
			r.route("", strings.Repeat("a", tc.bytes*2000+tc.bytes-1))
			if got := len(r.event.Chains[0].Blocks); got != tc.blocks {
				t.Errorf("%d blocks are compared, want %d", got, tc.blocks)
			}
			r.route("", strings.Repeat("a", tc.bytes*3-1))
			if got := len(r.event.Chains[0].Blocks); got != 2 {
				t.Errorf("a prompt a byte shorter than three blocks has %d, want 2", got)
			}
			if got := r.plan.StateOptions().PrefixCapacity; got != tc.capacity {
				t.Errorf("%d blocks are kept, want %d", got, tc.capacity)
			}
		})
	}
}

// TestPrefixCapacity: what a server reports of its cache is how many blocks it is taken to keep. Without autoTune
// nothing is known but the parameter.
func TestPrefixCapacity(t *testing.T) {
	for parameters, want := range map[string]int{
		`"lruCapacityPerServer": 7`: 100, `"lruCapacityPerServer": 7, "autoTune": true`: 100,
		`"lruCapacityPerServer": 7, "autoTune": false`: 0,
	} {
		r := newRouter(t, `{"plugins": [{"type": "prefix-cache-scorer", "parameters": {`+parameters+`}}]}`,
			plantest.Sampled(scoring.Metrics{KVBlocks: 100, KVBlockTokens: 64}))
		r.plan.Prepare(r.cycle.Pool)
		if got, _ := r.cycle.Pool.State.Prefix.Capacity(0); got != want {
			t.Errorf("%s: the server is known to keep %d blocks, want %d", parameters, got, want)
		}
	}
}

// TestPrefixBounds: what is out of bounds is said by its key, and what counts as less, too.
func TestPrefixBounds(t *testing.T) {
	const most = "maxPrefixBlocksToMatch is more than 1024 and counts as that"
	for _, tc := range []struct{ name, parameters, mistake, warning string }{
		{"no tokens in a block", `"blockSizeTokens": 0`, "blockSizeTokens: 0 is not a whole number from 1 to 65536", ""},
		{"the longest blocks", `"blockSizeTokens": 65536`, "", ""},
		{"longer blocks", `"blockSizeTokens": 65537`, "blockSizeTokens: 65537 is not a whole number from 1 to 65536", ""},
		{"no blocks", `"maxPrefixBlocksToMatch": 0`,
			"maxPrefixBlocksToMatch: 0 is not a whole number from 1 to 2147483647", ""},
		{"the most blocks", `"maxPrefixBlocksToMatch": 1024`, "", ""},
		{"more blocks", `"maxPrefixBlocksToMatch": 1025`, "", most},
		{"no room", `"lruCapacityPerServer": 0`, "lruCapacityPerServer: 0 is not a whole number from 1 to 16777216", ""},
		{"the most room", `"lruCapacityPerServer": 16777216`, "", ""},
		{"blocks that do not grow", `"doubleEveryBlocks": 0`, "", ""},
		{"blocks that shrink", `"doubleEveryBlocks": -1`,
			"doubleEveryBlocks: -1 is not a whole number from 0 to 1024", ""},
		{"a negative size", `"blockSize": -1`, "blockSize: -1 is not a whole number from 0 to 2147483647", ""},
		{"a negative size by its older name", `"hashBlockSize": -1`,
			"hashBlockSize: -1 is not a whole number from 0 to 2147483647", ""},
		{"no size", `"blockSize": 0, "hashBlockSize": 0`, "", ""},
		{"the mode that is another plug-in", `"mode": "cache_tracking", "indexerConfig": {}, "kvEventsConfig": {}`,
			"mode: cache_tracking is the type precise-prefix-cache-scorer today; write that, with " +
				"tokenProcessorConfig beside indexerConfig and the model as " +
				"indexerConfig.tokenizersPoolConfig.modelName", ""},
		{"another mode", `"mode": "exact"`, `mode: "exact" is not one of estimate, cache_tracking`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.mistake != "" {
				tc.mistake = at("prefix-cache-scorer", tc.mistake)
			}
			if tc.warning != "" {
				tc.warning = "prefix-cache-scorer: " + tc.warning
			}
			plantest.CheckTold(t, `{"plugins": [{"type": "prefix-cache-scorer", "parameters": {`+tc.parameters+`}}]}`,
				tc.mistake, tc.warning)
		})
	}
	for _, tc := range []struct{ name, parameters, want string }{
		{"a steepness below 0", `"k": -1`, "k: -1 is not a number, at least 0"},
		{"a middle above 1", `"x0": 1.5`, "x0: 1.5 is not a number from 0 to 1"},
		{"another comparison", `"normalization": "none"`, `normalization: "none" is not one of longestPrefix, input`},
		{"another curve", `"transform": "root"`, `transform: "root" is not one of linear, logistic`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plantest.CheckTold(t, `{"plugins": [{"type": "prefix-share-scorer", "parameters": {`+tc.parameters+`}}]}`,
				at("prefix-share-scorer", tc.want), "")
		})
	}
}
