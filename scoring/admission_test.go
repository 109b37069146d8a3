package scoring_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// rewritten decides requests for a model and counts what the servers are asked for.
func rewritten(t *testing.T, rules []scoring.Rewrite, model, header string, requests int) map[string]int {
	t.Helper()
	plan := plantest.Plan(t, `{"plugins": [{"type": "queue-scorer"}]}`, plantest.Neutral)
	pool := plantest.Pool(plantest.Sampled(scoring.Metrics{}))
	pool.Rewrites = rules
	c := plantest.Cycle(pool, 1)
	c.Request.Headers = plantest.Headers(plan, map[string]string{"x-gateway-model-name-rewrite": header})
	counts := map[string]int{}
	for range requests {
		c.Request.Model = model
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure.Message)
		}
		counts[c.Request.Model]++
	}
	return counts
}

func TestRewrite(t *testing.T) {
	to := func(model string) []scoring.RewriteTarget { return []scoring.RewriteTarget{{Model: model, Weight: 1}} }
	named := []scoring.Rewrite{
		{Models: []string{"m", "n"}, Targets: to("m-v1")}, {Models: []string{"o"}, Targets: to("o-v1")},
		{Models: []string{"m"}, Targets: to("never")}, {Models: []string{"empty"}},
	}
	general := append([]scoring.Rewrite{{Targets: to("any")}, {Targets: to("never")}}, named...)
	tests := []struct {
		name                string
		rules               []scoring.Rewrite
		model, header, want string
	}{
		{"no rule", named, "x", "", "x"},
		{"a rule", named, "m", "", "m-v1"},
		{"a rule's second name", named, "n", "", "m-v1"},
		{"a rule without targets", named, "empty", "", "empty"},
		{"the header", named, "x", "y", "y"},
		{"a rule for the header", named, "x", "m", "m-v1"},
		{"a rule for the body beats the header", named, "m", "y", "m-v1"},
		{"a rule for the body beats one for the header", named, "m", "o", "m-v1"},
		{"a general rule", general, "x", "", "any"},
		{"a rule by name beats the general one", general, "m", "", "m-v1"},
		{"a general rule beats the header", general, "x", "m", "any"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := rewritten(t, tc.rules, tc.model, tc.header, 1); got[tc.want] != 1 {
				t.Errorf("got %v, want %s", got, tc.want)
			}
		})
	}
}

// TestRewriteWeights: the shares of targets are their weights', and a target of weight 0 gets none.
func TestRewriteWeights(t *testing.T) {
	const requests = 6000
	tests := []struct {
		name    string
		targets []scoring.RewriteTarget
		want    map[string]float64
	}{
		{"one each", []scoring.RewriteTarget{{Model: "a", Weight: 1}, {Model: "b", Weight: 1}},
			map[string]float64{"a": 0.5, "b": 0.5}},
		{"zero first", []scoring.RewriteTarget{{Model: "a"}, {Model: "b", Weight: 1}}, map[string]float64{"b": 1}},
		{"zero between", []scoring.RewriteTarget{{Model: "a", Weight: 1}, {Model: "b"}, {Model: "c", Weight: 2}},
			map[string]float64{"a": 1. / 3, "c": 2. / 3}},
		{"all zero", []scoring.RewriteTarget{{Model: "a"}, {Model: "b"}}, map[string]float64{"a": 0.5, "b": 0.5}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got := rewritten(t, []scoring.Rewrite{{Models: []string{"m"}, Targets: tc.targets}}, "m", "", requests)
			if len(got) != len(tc.want) {
				t.Fatalf("got %v, want some for %v", got, tc.want)
			}
			for model := range got {
				if share := float64(got[model]) / requests; share < tc.want[model]-0.05 || share > tc.want[model]+0.05 {
					t.Errorf("%s got a share of %v, want %v", model, share, tc.want[model])
				}
			}
		})
	}
}

// TestShedding: requests below priority 0 are refused when the mean of queues and caches, the larger of both at each
// endpoint, reaches its threshold; an endpoint of which nothing is known lately has no room.
func TestShedding(t *testing.T) {
	full := scoring.Metrics{WaitingRequests: 5}
	plan := plantest.Plan(t,
		`{"plugins": [{"type": "queue-scorer"}], "saturationDetector": {"queueDepthThreshold": 5, "kvCacheUtilThreshold": 0.8}}`, plantest.Neutral)
	for _, test := range []struct {
		name     string
		metrics  []scoring.Metrics
		unknown  int
		priority int
		shed     bool
	}{
		{"idle", []scoring.Metrics{{}, {}}, 0, -1, false},
		{"full queue", []scoring.Metrics{full}, 0, -1, true},
		{"full cache, empty queue", []scoring.Metrics{{KVCacheUsage: 0.8}}, 0, -1, true},
		{"full queue, empty cache", []scoring.Metrics{{WaitingRequests: 5, KVCacheUsage: 0.1}}, 0, -1, true},
		{"one of two", []scoring.Metrics{full, {}}, 0, -1, false},
		{"one of two, the other unknown", []scoring.Metrics{full}, 1, -1, true},
		{"nothing is known", nil, 1, -1, true},
		{"priority 0", []scoring.Metrics{full}, 0, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var endpoints []scoring.Endpoint
			for _, m := range test.metrics {
				endpoints = append(endpoints, plantest.Sampled(m))
			}
			for range test.unknown {
				endpoints = append(endpoints, scoring.Endpoint{})
			}
			pool := plantest.Pool(endpoints...)
			pool.Objectives = []scoring.Objective{{Name: "batch", Priority: test.priority}}
			c := plantest.Cycle(pool, 1)
			c.Request.Headers = plantest.Headers(plan, map[string]string{"x-gateway-inference-objective": "batch"})
			if _, failure := plan.Decide(c); (failure == scoring.Shed) != test.shed {
				t.Errorf("got %v, want it to be shed: %v", failure, test.shed)
			}
		})
	}
}

// TestSheddingThresholds: by which thresholds the pool is judged, which are the usual ones where a document gives none.
func TestSheddingThresholds(t *testing.T) {
	const given = `, "saturationDetector": {"queueDepthThreshold": 2, "kvCacheUtilThreshold": 0.5,
		"metricsStalenessThreshold": "1s"}`
	const ms = time.Millisecond
	for _, tc := range []struct {
		name, document string
		age            time.Duration
		metrics        scoring.Metrics
		shed           bool
	}{
		{"a usual queue", ``, 0, scoring.Metrics{WaitingRequests: 4}, false},
		{"a usual queue that is full", ``, 0, scoring.Metrics{WaitingRequests: 5}, true},
		{"a usual cache", ``, 0, scoring.Metrics{KVCacheUsage: 0.799}, false},
		{"a usual cache that is full", ``, 0, scoring.Metrics{KVCacheUsage: 0.8}, true},
		{"just not too old", ``, 200 * ms, scoring.Metrics{}, false},
		{"too old", ``, 200*ms + 1, scoring.Metrics{}, true},
		{"just not too much in the future", ``, -200 * ms, scoring.Metrics{}, false},
		{"too much in the future", ``, -200*ms - 1, scoring.Metrics{}, true},
		{"a queue", given, 0, scoring.Metrics{WaitingRequests: 1}, false},
		{"a queue that is full", given, 0, scoring.Metrics{WaitingRequests: 2}, true},
		{"a cache", given, 0, scoring.Metrics{KVCacheUsage: 0.499}, false},
		{"a cache that is full", given, 0, scoring.Metrics{KVCacheUsage: 0.5}, true},
		{"an age that may be", given, time.Second, scoring.Metrics{}, false},
		{"an age that may not be", given, time.Second + 1, scoring.Metrics{}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "queue-scorer"}]`+tc.document+`}`, plantest.Neutral)
			pool := plantest.Pool(plantest.Aged(tc.age, tc.metrics))
			pool.Objectives = []scoring.Objective{{Name: "batch", Priority: -1}}
			c := plantest.Cycle(pool, 1)
			c.Request.Headers = plantest.Headers(plan, map[string]string{"x-gateway-inference-objective": "batch"})
			if _, failure := plan.Decide(c); (failure == scoring.Shed) != tc.shed {
				t.Errorf("got %v, want it to be shed: %v", failure, tc.shed)
			}
		})
	}
	const at = "saturationDetector."
	for key, want := range map[string]string{
		`"queueDepthThreshold": 0`:             at + "queueDepthThreshold: 0 is not a whole number from 1 to ",
		`"kvCacheUtilThreshold": 0.0009`:       at + "kvCacheUtilThreshold: 0.0009 is not a number from 0.001 to 1",
		`"kvCacheUtilThreshold": 1.1`:          at + "kvCacheUtilThreshold: 1.1 is not a number from 0.001 to 1",
		`"metricsStalenessThreshold": "999us"`: at + `metricsStalenessThreshold: "999us" is `,
	} {
		if got := plantest.Mistakes(`{"saturationDetector": {` + key + `}}`); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}

// TestPriority: a request has the priority of the objective that it names by the header of today, else by the former
// one; a name that no objective has is none.
func TestPriority(t *testing.T) {
	const now, before = "x-llm-d-inference-objective", "x-gateway-inference-objective"
	plan := plantest.Plan(t, `{"plugins": [{"type": "queue-scorer"}]}`, plantest.Neutral)
	for _, tc := range []struct {
		name    string
		headers map[string]string
		want    int
	}{
		{"none", nil, 0},
		{"today's header", map[string]string{now: "high"}, 7},
		{"the former header", map[string]string{before: "low"}, -3},
		{"both", map[string]string{now: "high", before: "low"}, 7},
		{"an unknown name", map[string]string{now: "High", before: "low"}, 0},
	} {
		pool := plantest.Pool(plantest.Sampled(scoring.Metrics{}))
		pool.Objectives = []scoring.Objective{{Name: "", Priority: 9}, {Name: "high", Priority: 7},
			{Name: "low", Priority: -3}, {Name: "high", Priority: 5}}
		c := plantest.Cycle(pool, 1)
		c.Request.Headers = plantest.Headers(plan, tc.headers)
		if _, failure := plan.Decide(c); failure != nil {
			t.Fatal(failure.Message)
		}
		if got := c.Priority(); got != tc.want {
			t.Errorf("%s: priority %d, want %d", tc.name, got, tc.want)
		}
	}
}
