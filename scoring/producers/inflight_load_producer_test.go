package producers_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestLoadGoesByPrompts: what an endpoint has yet to compute of a prompt with an image is counted by the first producer
// of prefixes, wherever one of media stands.
func TestLoadGoesByPrompts(t *testing.T) {
	const approx, media = `{"type": "approx-prefix-cache-producer"}`, `{"type": "mm-embeddings-cache-producer"}`
	body := content(`{"type":"text","text":"` + strings.Repeat("word", 1054) + `"},` +
		`{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`)
	const tokens = 1 + 1054 + 225 // of the role, the text and the image: 20 blocks of 64
	tests := []struct {
		name, producers string
		want            []float64 // the tokens that each endpoint has to compute
	}{
		{"prefixes first", approx + `,` + media, []float64{0, tokens}},
		{"media first", media + `,` + approx, []float64{0, tokens}},
		{"media alone", media, []float64{tokens, tokens}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [`+tc.producers+`,
				{"type": "token-load-scorer", "parameters": {"queueThresholdTokens": 2048}}]}`, plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			plan.Prepare(pool)
			c := plantest.Cycle(pool, 1)
			scan := new(openai.Request)
			if failure := c.Request.Read(scan, openai.APIChat, []byte(body)); failure != nil {
				t.Fatal(failure.Message)
			}
			plantest.Decide(plan, c)
			var e journal.Event
			plan.Record(c, &e)
			e.Time, e.Instance, e.Lease, e.Primary = plantest.Now, 1, 1, pool.ID(&pool.Endpoints[0])
			pool.State.Apply(&e)
			pool.State.Apply(&journal.Event{Kind: journal.Completion, Time: plantest.Now, Instance: 1, Lease: 1,
				Primary: e.Primary, Status: 200, TTFTMicros: 5, Ended: journal.EndedWhole})
			loads := make([]float64, 2)
			plantest.Decide(plan, c)
			c.RequestLoads([]*scoring.Endpoint{&pool.Endpoints[0], &pool.Endpoints[1]}, loads)
			if !slices.Equal(loads, tc.want) {
				t.Errorf("the endpoints have %v tokens to compute, want %v", loads, tc.want)
			}
		})
	}
}

// TestLoadsAreNeverBelowNothing: a prompt and the output that is expected of it may together have more tokens than 32
// bits hold, as an int has in Wasm.
func TestLoadsAreNeverBelowNothing(t *testing.T) {
	const tokens = 3000
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "inflight-load-producer",
		"parameters": {"addEstimatedOutputTokens": true, "outputRatio": 1000000}}]}`, plantest.Neutral)
	c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1)
	body := `{"model":"m","prompt":"` + strings.Repeat("word", tokens) + `"}`
	if failure := c.Request.Read(new(openai.Request), openai.APICompletions, []byte(body)); failure != nil {
		t.Fatal(failure.Message)
	}
	plantest.Decide(plan, c)
	loads := make([]float64, 1)
	c.RequestLoads([]*scoring.Endpoint{&c.Pool.Endpoints[0]}, loads)
	if want := float64(math.MaxInt32 + int64(tokens)); loads[0] != want {
		t.Errorf("%v tokens to compute, want %v", loads[0], want)
	}
}

// TestLoadsHaveLearntOutputs: the output that is expected is that of the model's answers of late, unless the document
// says a ratio, and at most what the request allows.
func TestLoadsHaveLearntOutputs(t *testing.T) {
	const prompt, answered = 40, 700 // tokens
	tests := []struct {
		name, parameters, limit string
		answers                 int
		want                    float64
	}{
		{"too few answers", `"addEstimatedOutputTokens": true`, ``, 7, prompt * 2.5},
		{"enough", `"addEstimatedOutputTokens": true`, ``, 8, prompt + answered},
		{"a limit of the request", `"addEstimatedOutputTokens": true`, `,"max_tokens":30`, 8, prompt + 30},
		{"a limit above it", `"addEstimatedOutputTokens": true`, `,"max_tokens":900`, 8, prompt + answered},
		{"a limit of the document", `"addEstimatedOutputTokens": true, "maxEstimatedOutputTokens": 500`, ``, 8,
			prompt + 500},
		{"a ratio", `"addEstimatedOutputTokens": true, "outputRatio": 2`, ``, 8, prompt * 3},
		{"no output", `"addEstimatedOutputTokens": false`, ``, 8, prompt},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "inflight-load-producer",
				"parameters": {`+tc.parameters+`}}]}`, plantest.Neutral)
			c := plantest.Cycle(plantest.Pool(scoring.Endpoint{}), 1)
			c.Pool.State = state.New(plan.StateOptions())
			c.Pool.Enter()
			for range tc.answers {
				c.Pool.State.Apply(&journal.Event{Kind: journal.Completion, Time: plantest.Now, Status: 200,
					Model: journal.HashName("m"), UsageReported: true, OutputTokens: answered})
			}
			body := `{"model":"m","prompt":"` + strings.Repeat("word", prompt) + `"` + tc.limit + `}`
			if failure := c.Request.Read(new(openai.Request), openai.APICompletions, []byte(body)); failure != nil {
				t.Fatal(failure.Message)
			}
			plantest.Decide(plan, c)
			loads := make([]float64, 1)
			c.RequestLoads([]*scoring.Endpoint{&c.Pool.Endpoints[0]}, loads)
			if loads[0] != tc.want {
				t.Errorf("%v tokens to compute, want %v", loads[0], tc.want)
			}
		})
	}
}
