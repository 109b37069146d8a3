package filters_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/openai"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
	"github.com/pintle-dev/pintle/state"
)

// TestPreferencesPassFailuresBy: of a and b, which both suit a filter, and c, which does not, the filter keeps none
// that fails or is stale while there are others, a single one that lasts and does not suit among them.
func TestPreferencesPassFailuresBy(t *testing.T) {
	const fallback = `"fallbackOnEmpty": true`
	const below = `"attribute": "WaitingQueueSize", "algorithm": {"type": "threshold", "threshold": {"operator":
		"LessThan", "value": 5}}`
	const few = `"conditions": [{"metric": "waiting-queue", "maxValue": 5}]`
	const exact = `"prefixMatchInfoProducerName": "precise-prefix-cache-producer"`
	for _, tc := range []struct{ filter, parameters, failing, stale, want string }{
		{"utilization-detector", "", "", "", "ab"},
		{"utilization-detector", "", "a", "", "b"},
		{"utilization-detector", "", "ab", "", "c"},
		{"utilization-detector", "", "abc", "", "ab"},
		{"utilization-detector", "", "c", "", "ab"},
		{"utilization-filter", few + ", " + fallback, "", "", "ab"},
		{"utilization-filter", few + ", " + fallback, "a", "", "b"},
		{"utilization-filter", few + ", " + fallback, "ab", "", "c"},
		{"utilization-filter", few + ", " + fallback, "", "ab", "c"},
		{"utilization-filter", few, "ab", "", "ab"},
		{"endpoint-attribute-filter", below + ", " + fallback, "", "", "ab"},
		{"endpoint-attribute-filter", below + ", " + fallback, "a", "", "b"},
		{"endpoint-attribute-filter", below + ", " + fallback, "ab", "", "c"},
		{"endpoint-attribute-filter", below, "ab", "", "ab"},
		{"prefix-cache-affinity-filter", exact, "", "", "ab"},
		{"prefix-cache-affinity-filter", exact, "a", "", "b"},
		{"prefix-cache-affinity-filter", exact, "ab", "", "c"},
		{"prefix-cache-affinity-filter", exact, "abc", "", "ab"},
		{"prefix-cache-affinity-filter", exact, "", "a", "b"},
		{"prefix-cache-affinity-filter", exact, "", "ab", "c"},
		{"prefix-cache-affinity-filter", exact, "a", "b", "c"},
		{"session-affinity-filter", "", "", "", "a"},
		{"session-affinity-filter", "", "a", "", "bc"},
		{"session-affinity-filter", "", "", "a", "bc"},
	} {
		t.Run(tc.filter+" "+tc.parameters+" without "+tc.failing+" "+tc.stale, func(t *testing.T) {
			plan := plantest.FailingPlan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [
				{"type": "queue-scorer"}, {"type": "precise-prefix-cache-producer", "parameters": {"indexerConfig": {
				"tokenizersPoolConfig": {"modelName": "m"}}}},
				{"type": "`+tc.filter+`", "parameters": {`+tc.parameters+`}}], "schedulingProfiles": [{"name": "p",
				"plugins": [{"pluginRef": "`+tc.filter+`"}, {"pluginRef": "queue-scorer"}]}]}`,
				scoring.Staleness{Policy: scoring.StaleExclude, After: 5 * time.Second})
			c := preferenceCycle(t, plan, tc.failing, tc.stale)
			got := plantest.Decide(plan, c).Candidates
			if slices.Sort(got); strings.Join(got, "") != tc.want {
				t.Errorf("kept %v, want %s", got, tc.want)
			}
		})
	}
}

// TestPreferencesLeaveATry: where a filter prefers none of those that last, who fails stays, for the case that the next
// filter keeps nobody else.
func TestPreferencesLeaveATry(t *testing.T) {
	for _, tc := range []struct{ failing, keeps, want string }{
		{"c", "c", "c"}, {"c", "b", "b"}, {"bc", "b", "b"}, {"", "c", ""}, {"b", "b", ""}, {"b", "c", ""},
	} {
		plan := plantest.FailingPlan(t, `{"apiVersion": "llm-d.ai/v1alpha1", "plugins": [{"type": "utilization-detector"},
			{"type": "by-label", "parameters": {"label": "name", "validValues": ["`+tc.keeps+`"]}}],
			"schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "utilization-detector"},
			{"pluginRef": "by-label"}]}]}`, plantest.Neutral)
		c := preferenceCycle(t, plan, tc.failing, "")
		for i := range c.Pool.Endpoints {
			e := &c.Pool.Endpoints[i]
			e.Labels = []scoring.Label{{Key: "name", Value: e.Name}}
		}
		if got := strings.Join(plantest.Decide(plan, c).Candidates, ""); got != tc.want {
			t.Errorf("%q fail, and %s is kept behind the filter: candidates %q, want %q", tc.failing, tc.keeps, got,
				tc.want)
		}
	}
}

// preferenceCycle is a request of a's session whose prompt a and b have in their caches, and c has a queue.
func preferenceCycle(t *testing.T, plan *scoring.Plan, failing, stale string) *scoring.Cycle {
	t.Helper()
	endpoints := make([]scoring.Endpoint, 3)
	for i, waiting := range []int{0, 0, 9} {
		age := time.Duration(0)
		if strings.ContainsRune(stale, rune('a'+i)) {
			age = time.Minute
		}
		endpoints[i] = plantest.Aged(age, scoring.Metrics{WaitingRequests: waiting})
	}
	pool := plantest.Pool(endpoints...)
	pool.State = state.New(plan.StateOptions())
	pool.Enter()
	c := plantest.Cycle(pool, 1)
	c.Request.Headers = plantest.Headers(plan, map[string]string{
		"x-session-token": base64.StdEncoding.EncodeToString([]byte("a"))})
	body := []byte(`{"model": "m", "prompt": "hello"}`)
	if failure := c.Request.Read(new(openai.Request), openai.APICompletions, body); failure != nil {
		t.Fatal(failure.Message)
	}
	c.Request.Precise = &scoring.PreciseMatches{Model: "m", Tokens: 16, Blocks: 1, BlockTokens: 16}
	for i := range pool.Endpoints[:2] {
		c.Request.Precise.Holders = append(c.Request.Precise.Holders, scoring.PreciseHolder{
			ID: pool.ID(&pool.Endpoints[i]), Blocks: 1, Tokens: 16, Score: 1})
	}
	plantest.FailThose(pool, failing)
	return c
}
