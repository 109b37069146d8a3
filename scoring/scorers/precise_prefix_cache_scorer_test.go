package scorers_test

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestPreciseSaysWhatIsIdle: what loads and does nothing is said, once each.
func TestPreciseSaysWhatIsIdle(t *testing.T) {
	const at = "precise-prefix-cache-scorer: "
	for _, test := range []struct {
		name, pool, events string
		want               []string
	}{
		{"nothing idle", ``, `"concurrency": 1, "podDiscoveryConfig": {"podNamespace": "a", "socketPort": 1}`, nil},
		{"an engine", ``, `"engineType": "sglang"`, []string{
			at + "kvEventsConfig.engineType has no effect: the events of both vLLM and SGLang are read"}},
		{"labels of pods", ``, `"podDiscoveryConfig": {"podLabelSelector": "a=b"}`, []string{
			at + "kvEventsConfig.podDiscoveryConfig.podLabelSelector has no effect: all endpoints of the pool are " +
				"listened to"}},
		{"former key", `, "minPrefixOverlapRatio": 0.8`, ``, []string{at + "indexerConfig.tokenizersPoolConfig." +
			"minPrefixOverlapRatio has no effect: which tokens are kept of prompts that were seen is not to be set"}},
		{"a service and downloads beside files", `, "local": {}, "uds": {}, "hf": {}`, ``, []string{
			at + "indexerConfig.tokenizersPoolConfig.uds has no effect: local makes the tokens",
			at + "indexerConfig.tokenizersPoolConfig.hf has no effect: local makes the tokens"}},
		{"downloads beside a service", `, "uds": {}, "hf": {}`, ``, []string{
			at + "indexerConfig.tokenizersPoolConfig.hf has no effect: uds makes the tokens"}},
		{"downloads that are off beside a service", `, "uds": {}, "hf": {"enabled": false}`, ``, nil},
		{"holders of a block", `}, "kvBlockIndexConfig": {"inMemoryConfig": {"podCacheSize": 10}`, ``, []string{
			at + "indexerConfig.kvBlockIndexConfig.inMemoryConfig.podCacheSize has no effect: a block forgets none " +
				"of its holders"}},
		{"nobody is listened to", ``, `"discoverPods": false`, []string{
			at + "kvEventsConfig: nobody is listened to with discoverPods false and no zmqEndpoint; no server counts " +
				"as having anything"}},
		{"who connects is listened to", ``, `"discoverPods": false, "zmqEndpoint": "tcp://*:5557",
			"podDiscoveryConfig": {"replaySocketPort": 1}`, nil},
		{"nobody is looked for", ``, `"discoverPods": false, "zmqEndpoint": "tcp://*:5557", "podDiscoveryConfig": {
			"podNamespace": "a", "socketPort": 1}`, []string{
			at + "kvEventsConfig.podDiscoveryConfig.podNamespace has no effect with discoverPods false",
			at + "kvEventsConfig.podDiscoveryConfig.socketPort has no effect with discoverPods false"}},
		{"a time for nothing", ``, `}, "speculativeTTL": "1s", "tokenProcessorConfig": {`, []string{
			at + "speculativeTTL has no effect without speculativeIndexing"}},
		{"a time for speculation", ``, `}, "speculativeTTL": "1s", "speculativeIndexing": true,
			"tokenProcessorConfig": {`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := `{"plugins": [{"type": "precise-prefix-cache-scorer", "parameters": {"indexerConfig": {
				"tokenizersPoolConfig": {"modelName": "m"` + test.pool + `}}, "kvEventsConfig": {` + test.events + `}}}]}`
			want := append(test.want, at+"the sidecar has to read this document, too: pintle sidecar -plugins FILE")
			if got := plantest.Plan(t, config, plantest.Neutral).Warnings(); !slices.Equal(got, want) {
				t.Errorf("warnings\n%q\nwant\n%q", got, want)
			}
		})
	}
}

// TestPreciseScoresInAnyOrder: sums of weights are compared alike whichever endpoint comes first, also beside blocks of
// a tier of weight 0, which are worth nothing.
func TestPreciseScoresInAnyOrder(t *testing.T) {
	const scorer = "precise-prefix-cache-scorer"
	plan := plantest.Plan(t, `{"plugins": [{"type": "`+scorer+`", "parameters": {"indexerConfig": {
		"tokenizersPoolConfig": {"modelName": "m"}}}}]}`, plantest.Neutral)
	want := map[float64]float64{0: 0, 2: 0.25, 5: 1}
	for _, sums := range [][]float64{{0, 2, 5}, {0, 5, 2}, {2, 0, 5}, {2, 5, 0}, {5, 0, 2}, {5, 2, 0}} {
		pool := plantest.Pool(make([]scoring.Endpoint, len(sums))...)
		pool.State = state.New(plan.StateOptions())
		pool.Enter()
		c := plantest.Cycle(pool, 1)
		m := &scoring.PreciseMatches{Tokens: 80, Blocks: 5, BlockTokens: 16}
		for i, sum := range sums {
			m.Holders = append(m.Holders,
				scoring.PreciseHolder{ID: pool.ID(&pool.Endpoints[i]), Blocks: 5, Tokens: 80, Score: sum})
		}
		c.Request.Precise = m
		scores := plantest.Decide(plan, c).Scores[scorer]
		for i, sum := range sums {
			if got := scores[pool.Endpoints[i].Name]; got != want[sum] {
				t.Errorf("sums %v: %v scores %v, want %v", sums, sum, got, want[sum])
			}
		}
	}
}

// TestKeysOfBlocks: whatever algorithm a document names, its index is opened, and it says whose keys it has.
func TestKeysOfBlocks(t *testing.T) {
	const at = "precise-prefix-cache-producer: "
	for algorithm, want := range map[string]string{
		"cbor-fnv": "",
		"xxh64": at + "tokenProcessorConfig.hashAlgorithm has no effect: the keys are cbor-fnv's, which changes no " +
			"score\n",
	} {
		plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [
			{"type": "token-producer", "parameters": {"modelName": "m", "vllm": {"url": "http://render:8000"}}},
			{"type": "precise-prefix-cache-producer", "parameters": {"tokenProcessorConfig": {
				"hashAlgorithm": "`+algorithm+`"}}}, {"type": "prefix-cache-scorer", "parameters": {
				"prefixMatchInfoProducerName": "precise-prefix-cache-producer"}}]}`, "",
			want+at+"the sidecar has to read this document, too: pintle sidecar -plugins FILE")
	}
}
