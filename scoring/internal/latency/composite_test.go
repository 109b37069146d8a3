package latency_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/scoring/registry"
)

// TestCompositeWithoutWeights: where all are 0, the KV cache counts alone.
func TestCompositeWithoutWeights(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "predicted-latency-scorer", "parameters": {
		"compositeKVWeight": 0, "compositeQueueWeight": 0, "compositePrefixWeight": 0}}]}`, plantest.Neutral)
	pool := plantest.Pool(plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.25}),
		plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.75, WaitingRequests: 3}))
	scores := plantest.Decide(plan, plantest.Cycle(pool, 1)).Scores["predicted-latency-scorer"]
	if scores["a"] != 0.75 || scores["b"] != 0.25 {
		t.Errorf("scores %v, want 0.75 for a and 0.25 for b", scores)
	}
}

// TestComposite: what is gone by where nothing can be predicted, in hundredths, by any weights.
func TestComposite(t *testing.T) {
	busy := plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.9, WaitingRequests: 4})
	free := plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.25, WaitingRequests: 1})
	for _, tc := range []struct {
		name, parameters string
		endpoints        []scoring.Endpoint
		cached           [2]int // tokens of 8
		want             [2]float64
	}{
		{"alike", ``, []scoring.Endpoint{busy, free}, [2]int{}, [2]float64{0.03, 0.5}}, // 0.1, and 0.75 + 0.75
		{"cached", ``, []scoring.Endpoint{busy, free}, [2]int{8, 2}, [2]float64{0.37, 0.58}},
		{"no queue", ``, []scoring.Endpoint{plantest.Sampled(scoring.Metrics{KVCacheUsage: 0.5}),
			plantest.Sampled(scoring.Metrics{})}, [2]int{}, [2]float64{0.5, 0.67}},
		{"not sampled", ``, []scoring.Endpoint{busy, {}}, [2]int{}, [2]float64{0.03, 0.33}},
		{"a queue of long ago", ``, []scoring.Endpoint{plantest.Aged(time.Minute, scoring.Metrics{WaitingRequests: 9}),
			free}, [2]int{}, [2]float64{0.33, 0.25}},
		{"the cache alone", `"compositeQueueWeight": 0, "compositePrefixWeight": 0`, []scoring.Endpoint{busy, free},
			[2]int{8, 0}, [2]float64{0.1, 0.75}},
		{"the queue alone", `"compositeKVWeight": 0, "compositePrefixWeight": 0`, []scoring.Endpoint{busy, free},
			[2]int{8, 0}, [2]float64{0, 0.75}},
		{"the prompt alone", `"compositeKVWeight": 0, "compositeQueueWeight": 0`, []scoring.Endpoint{busy, free},
			[2]int{8, 2}, [2]float64{1, 0.25}},
		{"a queue of one", ``, []scoring.Endpoint{plantest.Sampled(scoring.Metrics{WaitingRequests: 1}),
			plantest.Sampled(scoring.Metrics{})}, [2]int{}, [2]float64{0.33, 0.67}},
		{"cache and queue, weighted alike", `"compositeKVWeight": 2, "compositeQueueWeight": 2,
			"compositePrefixWeight": 0`, []scoring.Endpoint{busy, free}, [2]int{}, [2]float64{0.05, 0.75}},
		{"the prompt thrice", `"compositePrefixWeight": 3`, []scoring.Endpoint{busy, free}, [2]int{8, 2},
			[2]float64{0.62, 0.45}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "cached"}, {"type": "predicted-latency-scorer", "parameters": {`+
				tc.parameters+`}}]}`, plantest.Neutral, scoring.Registration{Type: "cached",
				New: func(*scoring.Builder) scoring.Plugin { return cached(tc.cached) }})
			c := plantest.Cycle(plantest.Pool(tc.endpoints...), 1)
			body := []byte(`{"model":"m","prompt":"` + strings.Repeat("word", 8) + `"}`)
			if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
				t.Fatal(failure.Message)
			}
			scores := plantest.Decide(plan, c).Scores["predicted-latency-scorer"]
			if got := [2]float64{scores["a"], scores["b"]}; got != tc.want {
				t.Errorf("scores %v, want %v", got, tc.want)
			}
		})
	}
}

// TestCompositeBesideOutput: what an answer is expected to have is no part of the prompt that a, which has all of it,
// does not have; b has half of it.
func TestCompositeBesideOutput(t *testing.T) {
	root, document := strictjson.Parse([]byte(`{"plugins": [{"type": "cached"}, {"type": "inflight-load-producer",
		"parameters": {"addEstimatedOutputTokens": true}}, {"type": "predicted-latency-scorer", "parameters": {
		"compositeKVWeight": 0, "compositeQueueWeight": 0}}]}`), "configuration")
	plan := scoring.Compile(root, append([]scoring.Registration{{Type: "cached",
		New: func(*scoring.Builder) scoring.Plugin { return cached{8, 4} }}}, registry.Plugins...),
		scoring.Settings{Stale: plantest.Neutral, Dialect: scoring.DialectHeimdall})
	if err := document.Err(); err != nil {
		t.Fatal(err)
	}
	c := plantest.Cycle(plantest.Pool(make([]scoring.Endpoint, 2)...), 1)
	body := []byte(`{"model":"m","prompt":"` + strings.Repeat("word", 8) + `"}`)
	if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
		t.Fatal(failure.Message)
	}
	scores := plantest.Decide(plan, c).Scores["predicted-latency-scorer"]
	if got, want := [2]float64{scores["a"], scores["b"]}, [2]float64{1, 0.5}; got != want {
		t.Errorf("scores %v, want %v", got, want)
	}
}

// TestCompositeMatches: in llm-d's dialect a producer's blocks say what is cached.
func TestCompositeMatches(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "known", "name": "k"},
		{"type": "latency-scorer", "parameters": {"prefixMatchInfoProducerName": "k", "compositeKVWeight": 0,
		"compositeQueueWeight": 0}}]}`, plantest.Neutral,
		scoring.Registration{Type: "known", New: func(b *scoring.Builder) scoring.Plugin {
			k := &known{blocks: [2]int{1, 3}}
			k.key = b.Produces(k)
			return k
		}})
	c := plantest.Cycle(plantest.Pool(make([]scoring.Endpoint, 2)...), 1)
	body := []byte(`{"model":"m","prompt":"word"}`)
	if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
		t.Fatal(failure.Message)
	}
	scores := plantest.Decide(plan, c).Scores["latency-scorer"]
	if got, want := [2]float64{scores["a"], scores["b"]}, [2]float64{0.25, 0.75}; got != want {
		t.Errorf("scores %v, want %v", got, want)
	}
}

// known says how many of four blocks each endpoint has.
type known struct {
	key    scoring.MatchKey
	blocks [2]int
}

func (k *known) MatchKey() scoring.MatchKey { return k.key }

func (k *known) Produce(c *scoring.Cycle, m *scoring.PrefixMatches) {
	m.Blocks, m.BlockTokens = 4, 16
	for i := range c.Pool.Endpoints {
		m.Set(&c.Pool.Endpoints[i], k.blocks[i])
	}
}

// cached is a scorer by which each endpoint has so many tokens of the prompt.
type cached [2]int

func (n cached) Score(c *scoring.Cycle, candidates []*scoring.Endpoint, _ []float64) {
	for _, e := range candidates {
		c.SetCachedTokens(e, n[e.Index])
	}
}

func (cached) ProvidesCachedTokens() {}
