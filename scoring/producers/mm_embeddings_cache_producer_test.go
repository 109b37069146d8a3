package producers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

const embeddings = `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "mm-embeddings-cache-producer"},
	{"type": "mm-embeddings-cache-scorer"}]}`

// TestEmbeddings: which part of a prompt's media an endpoint has that has answered a prompt with some, by what its
// server reports of its process before and after that.
func TestEmbeddings(t *testing.T) {
	image := func(names ...string) string {
		parts := ""
		for _, name := range names {
			parts += `,{"type":"image_url","image_url":{"url":"https://x/` + name + `.png"}}`
		}
		return parts
	}
	many := slices.Repeat([]string{"a"}, 70)
	for i := range many {
		many[i] = strings.Repeat("a", i+1)
	}
	video := `,{"type":"video_url","video_url":{"url":"https://x/a.png"}}`
	for _, tc := range []struct {
		name, first, then string
		before, after     int64 // starts of the process
		want              float64
	}{
		{"all", image("a", "b"), image("b", "a"), 0, 0, 1},
		{"one of two", image("a"), image("a", "b"), 0, 0, 0.5},
		{"one of four, not the first", image("b"), image("a", "b", "c", "d"), 0, 0, 0.25},
		{"none", image("a"), image("b"), 0, 0, 0},
		{"twice the same", image("a"), image("a", "a", "b"), 0, 0, 0.5},
		{"another kind of the same address", image("a"), video, 0, 0, 1},
		{"no media", image("a"), ``, 0, 0, 0},
		{"the first 64", image(many...), image(many[64:]...), 0, 0, 0},
		{"up to the last of them", image(many...), image(many[63]), 0, 0, 1},
		{"the same process", image("a"), image("a"), 5, 5, 1},
		{"another process", image("a"), image("a"), 5, 600_000, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, embeddings, plantest.Neutral)
			pool := plantest.Pool(plantest.Sampled(scoring.Metrics{ProcessStart: tc.before}))
			pool.State = state.New(plan.StateOptions())
			pool.Enter()
			plan.Prepare(pool)
			c := plantest.Cycle(pool, 1)
			look := func(parts string) float64 {
				body := []byte(content(`{"type":"text","text":"x"}` + parts))
				if failure := c.Request.Read(new(openai.Request), openai.APIChat, body); failure != nil {
					t.Fatal(failure.Message)
				}
				return plantest.Decide(plan, c).Scores["mm-embeddings-cache-scorer"]["a"]
			}
			look(tc.first)
			var e journal.Event
			plan.Record(c, &e)
			e.Time, e.Instance, e.Lease = plantest.Now, 1, 1
			pool.State.Apply(&e)
			pool.State.Apply(&journal.Event{Kind: journal.Completion, Time: plantest.Now, Instance: 1, Lease: 1,
				Primary: e.Primary, Status: 200, Ended: journal.EndedWhole})
			pool.Endpoints[0].Metrics = scoring.Metrics{ProcessStart: tc.after, SampledAt: plantest.Now + 1}
			plan.Prepare(pool)
			if got := look(tc.then); got != tc.want {
				t.Errorf("score %v, want %v", got, tc.want)
			}
		})
	}
}

// TestEmbeddingsCapacity: an endpoint keeps one for each 2 MiB, and there may be no more producers than the state has
// indexes.
func TestEmbeddingsCapacity(t *testing.T) {
	const kind = "mm-embeddings-cache-producer"
	for _, tc := range []struct {
		name, parameters string
		want             int
	}{
		{"none", ``, 2048}, {"a number", `"cacheSizeInMBPerServer": 7`, 3}, {"one", `"cacheSizeInMBPerServer": 1`, 1},
		{"nothing", `"cacheSizeInMBPerServer": 0`, 2048},
	} {
		options := plantest.Plan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "`+kind+`", "parameters": {`+
			tc.parameters+`}}, {"type": "queue-scorer"}]}`, plantest.Neutral).StateOptions()
		if !options.Prefix || !slices.Equal(options.PrefixIndexes, []int{tc.want}) {
			t.Errorf("%s: indexes for %v, kept: %v; want one for %d", tc.name, options.PrefixIndexes, options.Prefix,
				tc.want)
		}
	}
	const many = "plugins[8](last).parameters: is one of too many producers; there may be 8"
	for _, last := range []string{kind, "approx-prefix-cache-producer", "precise-prefix-cache-producer"} {
		for n, want := range map[int]string{7: "", 8: many} {
			list := ""
			for i := range n {
				list += `{"type": "` + kind + `", "name": "p` + string(rune('0'+i)) + `"}, `
			}
			if got := plantest.Mistakes(`{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [` + list + `{"type": "` + last +
				`", "name": "last"}]}`); got != want {
				t.Errorf("%d and %s: got %q, want %q", n, last, got, want)
			}
		}
	}
}
