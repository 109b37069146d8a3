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

// TestMMEmbeddingsCache: the score of a, which was sent the images 1 and 2, by the images of a prompt; b was sent none.
func TestMMEmbeddingsCache(t *testing.T) {
	plan := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [{"type": "mm-embeddings-cache-scorer"}]}`,
		plantest.Neutral)
	read := func(c *scoring.Cycle, images string) {
		t.Helper()
		body := `{"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "compare"}`
		for _, image := range strings.Fields(images) {
			body += `, {"type": "image_url", "image_url": {"url": "http://x/` + image + `.png"}}`
		}
		if failure := c.Request.Read(new(openai.Request), openai.APIChat, []byte(body+`]}]}`)); failure != nil {
			t.Fatal(failure.Message)
		}
	}
	for _, tc := range []struct {
		name, images string
		want         float64
	}{
		{"none", "", 0}, {"one", "1", 1}, {"both", "2 1", 1}, {"another", "3", 0}, {"one of two", "1 3", 0.5},
		{"one of three", "3 1 4", 1. / 3}, {"the same one twice", "1 1 3", 0.5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pool := plantest.Pool(make([]scoring.Endpoint, 2)...)
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			plan.Prepare(pool)
			c := plantest.Cycle(pool, 1)
			read(c, "1 2")
			plantest.Decide(plan, c)
			var event journal.Event
			plan.Record(c, &event)
			event.Lease, event.Time, event.Primary = 1, plantest.Now, pool.ID(&pool.Endpoints[0])
			pool.State.Apply(&event)
			read(c, tc.images)
			got := plantest.Decide(plan, c).Scores["mm-embeddings-cache-scorer"]
			if !near(got["a"], tc.want) || got["b"] != 0 {
				t.Errorf("scores %v, want %v and 0", got, tc.want)
			}
		})
	}
}

// TestMMEmbeddingsProducers: whoever is named is declared.
func TestMMEmbeddingsProducers(t *testing.T) {
	for name, mistake := range map[string]string{
		"": "", "mine": "", "mm-embeddings-cache-producer": "",
		"other": `"other" is not the name of a declared plug-in; declared are mine, mm-embeddings-cache-scorer`,
	} {
		if mistake != "" {
			mistake = "plugins[1](mm-embeddings-cache-scorer).parameters.producerName: " + mistake
		}
		plantest.CheckTold(t, `{"apiVersion": "llm-d.ai/v1", "plugins": [
			{"name": "mine", "type": "mm-embeddings-cache-producer"},
			{"type": "mm-embeddings-cache-scorer", "parameters": {"producerName": "`+name+`"}}]}`, mistake, "")
	}
}
