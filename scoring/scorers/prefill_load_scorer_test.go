package scorers_test

import (
	"math"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestPrefillLoadRoot: of a prompt's own tokens those count that it has more than at the endpoint with the fewest, and
// what is in flight counts from there.
func TestPrefillLoadRoot(t *testing.T) {
	const threshold = 10_000
	shared, rest := strings.Repeat("a beginning that is shared......", 800), strings.Repeat("new.", 1600)
	lost := func(tokens float64) float64 { return math.Sqrt(tokens / threshold) }
	tests := []struct {
		name     string
		prompt   string
		inFlight [2]uint32
		lost     [2]float64
	}{
		{"new everywhere", rest, [2]uint32{0, 0}, [2]float64{0, 0}},
		{"new everywhere, others in flight", rest, [2]uint32{400, 900}, [2]float64{lost(400), lost(900)}},
		{"all of it is cached at one", shared, [2]uint32{0, 0}, [2]float64{0, lost(6400)}},
		{"a part of it is cached at one", shared + rest, [2]uint32{900, 0}, [2]float64{lost(900), lost(6400)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [
				{"type": "prefix-cache-scorer", "parameters": {"blockSizeTokens": 64, "maxPrefixBlocksToMatch": 1024}},
				{"type": "prefill-load-scorer", "parameters": {"thresholdTokens": 10000, "transform": "root"}}]}`,
				plantest.Neutral)
			pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			c := plantest.Cycle(pool, 1)
			serve(t, plan, c, shared, 1)
			for i, tokens := range tt.inFlight {
				if tokens > 0 {
					charge(pool, i, uint32(i+2), tokens)
				}
			}
			scores := ask(t, plan, c, tt.prompt).Scores["prefill-load-scorer"]
			for i, want := range tt.lost {
				if got := 1 - scores[pool.Endpoints[i].Name]; !(math.Abs(got-want) <= 1e-3) {
					t.Errorf("endpoint %d lost %.4f, want %.4f", i, got, want)
				}
			}
		})
	}
}

// TestPrefillLoadByNews: the more prompts come again, the less it counts that an endpoint is slow.
func TestPrefillLoadByNews(t *testing.T) {
	prompt := strings.Repeat("a beginning that is shared......", 800)
	// dearer is how much more a token of a new prompt costs at the slow endpoint than at the fast one.
	dearer := func(times uint32) float64 {
		plan := plantest.Plan(t, `{"plugins": [
			{"type": "prefix-cache-scorer", "parameters": {"blockSizeTokens": 64, "maxPrefixBlocksToMatch": 1024}},
			{"type": "prefill-load-scorer"}]}`, plantest.Neutral)
		pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
		answered(pool, plan, 1000, 4000)
		c := plantest.Cycle(pool, 1)
		for lease := range times {
			serve(t, plan, c, prompt, 1000+lease)
		}
		scores := ask(t, plan, c, strings.Repeat("new.", 1600)).Scores["prefill-load-scorer"]
		return (1 - scores[pool.Endpoints[0].Name]) / (1 - scores[pool.Endpoints[1].Name])
	}
	all := dearer(1)
	if !(math.Abs(all-4) <= 0.25) {
		t.Fatalf("where all prompts are new a token costs %.3f, want about 4", all)
	}
	for times, reuse := range map[uint32]float64{2: 1. / 2, 4: 3. / 4} {
		slow, fast := (1+all)/2, (1+1/all)/2 // over the mean of both
		want := (reuse + (1-reuse)*slow) / (reuse + (1-reuse)*fast)
		if got := dearer(times); !(math.Abs(got-want) <= 0.02) {
			t.Errorf("where %v of the prompts come again a token costs %.3f, want %.3f", reuse, got, want)
		}
	}
}

// ask decides on a prompt.
func ask(t *testing.T, plan *scoring.Plan, c *scoring.Cycle, prompt string) *plantest.Trace {
	t.Helper()
	var scan openai.Request
	c.Request = scoring.Request{Now: plantest.Now}
	body := []byte(`{"model":"m","prompt":"` + prompt + `"}`)
	if f := c.Request.Read(&scan, openai.APICompletions, body); f != nil {
		t.Fatal(f)
	}
	return plantest.Decide(plan, c)
}

// serve has the first endpoint answer a prompt.
func serve(t *testing.T, plan *scoring.Plan, c *scoring.Cycle, prompt string, lease uint32) {
	t.Helper()
	serveAt(t, plan, c, prompt, lease, 0)
}

// serveAt has an endpoint answer a prompt.
func serveAt(t *testing.T, plan *scoring.Plan, c *scoring.Cycle, prompt string, lease uint32, endpoint int) {
	t.Helper()
	ask(t, plan, c, prompt)
	event := new(journal.Event)
	plan.Record(c, event)
	event.Lease, event.Time = lease, plantest.Now
	event.Primary = journal.EndpointID(c.Pool.Endpoints[endpoint].Name)
	c.Pool.State.Apply(event)
	c.Pool.State.Apply(&journal.Event{Kind: journal.Completion, Lease: lease, Primary: event.Primary,
		Time: plantest.Now, Status: 200, TTFTMicros: 5, Ended: journal.EndedWhole})
}
