package scoring_test

import (
	"math"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// TestAttributes: what an endpoint's metric is by its name, and where it is not known.
func TestAttributes(t *testing.T) {
	core := scoring.Metrics{WaitingRequests: 3, RunningRequests: 5, KVCacheUsage: 0.25,
		Attributes: []float64{7, math.NaN(), 9, 11}}
	fresh := plantest.Sampled(core)
	never := scoring.Endpoint{Metrics: core}
	names := []string{"Heat/core-metrics-extractor", "Cold/core-metrics-extractor", "Heat/dcgm-extractor", "Bare",
		"Last/x"}
	for _, tc := range []struct {
		name, parameters string
		endpoint         scoring.Endpoint
		policy           scoring.StalePolicy
		want             float64 // NaN is not known
	}{
		{"waiting", `"attribute": "WaitingQueueSize"`, fresh, scoring.StaleNeutral, 3},
		{"running", `"attribute": "RunningRequestsSize"`, fresh, scoring.StaleNeutral, 5},
		{"usage", `"attribute": "KVCacheUsagePercent"`, fresh, scoring.StaleNeutral, 0.25},
		{"its producer beside it", `"attribute": "KVCacheUsagePercent", "producer": "core-metrics-extractor"`, fresh,
			scoring.StaleNeutral, 0.25},
		{"its producer in it", `"attribute": "KVCacheUsagePercent/core-metrics-extractor"`, fresh, scoring.StaleNeutral,
			0.25},
		{"another producer of the name", `"attribute": "KVCacheUsagePercent", "producer": "x"`, fresh,
			scoring.StaleNeutral, math.NaN()},
		{"a custom one", `"attribute": "Heat"`, fresh, scoring.StaleNeutral, 7},
		{"the same name of another producer", `"attribute": "Heat", "producer": "dcgm-extractor"`, fresh,
			scoring.StaleNeutral, 9},
		{"no producer", `"attribute": "Bare", "producer": ""`, fresh, scoring.StaleNeutral, 11},
		{"the usual producer has none of the name", `"attribute": "Bare"`, fresh, scoring.StaleNeutral, math.NaN()},
		{"a value that is not known", `"attribute": "Cold"`, fresh, scoring.StaleNeutral, math.NaN()},
		{"a value that is not there", `"attribute": "Last/x"`, fresh, scoring.StaleNeutral, math.NaN()},
		{"a name that nobody has", `"attribute": "heat"`, fresh, scoring.StaleNeutral, math.NaN()},
		{"too old", `"attribute": "Heat"`, plantest.Aged(time.Minute, core), scoring.StaleNeutral, math.NaN()},
		{"old and believed", `"attribute": "Heat"`, plantest.Aged(time.Minute, core), scoring.StaleLast, 7},
		{"never sampled", `"attribute": "WaitingQueueSize"`, never, scoring.StaleLast, math.NaN()},
		{"never sampled, and as without load", `"attribute": "WaitingQueueSize"`, never, scoring.StaleZero, math.NaN()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var attribute *scoring.Attribute
			plan := plantest.Plan(t, `{"plugins": [{"type": "queue-scorer"}, {"type": "reader", "parameters": {`+
				tc.parameters+`}}]}`, scoring.Staleness{After: time.Second, Policy: tc.policy},
				scoring.Registration{Type: "reader", New: func(b *scoring.Builder) scoring.Plugin {
					attribute = b.ReadAttribute("attribute")
					return struct{}{}
				}})
			pool := plantest.Pool(tc.endpoint)
			pool.Attributes = names
			c := plantest.Cycle(pool, 1)
			if _, failure := plan.Decide(c); failure != nil {
				t.Fatal(failure.Message)
			}
			for range 2 { // the second time its place is known
				got, ok := c.Attribute(attribute, &pool.Endpoints[0])
				if ok == math.IsNaN(tc.want) || ok && got != tc.want {
					t.Errorf("got %v (%v), want %v", got, ok, tc.want)
				}
			}
		})
	}
}

// TestAttributesThatMove: an attribute is found where it is in the pool at hand, also if the same list has changed.
func TestAttributesThatMove(t *testing.T) {
	var attribute *scoring.Attribute
	plan := plantest.Plan(t, `{"plugins": [{"type": "queue-scorer"}, {"type": "reader", "parameters":
		{"attribute": "b/x"}}]}`, plantest.Neutral,
		scoring.Registration{Type: "reader", New: func(b *scoring.Builder) scoring.Plugin {
			attribute = b.ReadAttribute("attribute")
			return struct{}{}
		}})
	pool := plantest.Pool(plantest.Sampled(scoring.Metrics{Attributes: []float64{1, 2, 3}}))
	c := plantest.Cycle(pool, 1)
	if _, failure := plan.Decide(c); failure != nil {
		t.Fatal(failure.Message)
	}
	same := []string{"a/x", "b/x", "c/x"}
	for _, tc := range []struct {
		name   string
		change func()
		want   float64
	}{
		{"at first", func() { pool.Attributes = same }, 2},
		{"moved", func() { same[1], same[2] = same[2], same[1] }, 3},
		{"in a list that ends before it", func() { pool.Attributes = same[:2] }, 0},
		{"there again", func() { pool.Attributes = same }, 3},
		{"gone", func() { same[2] = "d/x" }, 0},
		{"in a shorter list", func() { same[0] = "b/x"; pool.Attributes = same[:1] }, 1},
		{"in another list", func() { pool.Attributes = []string{"c/x", "b/x"} }, 2},
		{"in no list", func() { pool.Attributes = nil }, 0},
	} {
		tc.change()
		if got, ok := c.Attribute(attribute, &pool.Endpoints[0]); got != tc.want || ok != (tc.want > 0) {
			t.Errorf("%s: got %v (%v), want %v", tc.name, got, ok, tc.want)
		}
	}
}

// TestAttributeMistakes: an attribute has a name, and one producer.
func TestAttributeMistakes(t *testing.T) {
	const at = "plugins[0](reader).parameters.attribute: "
	for _, tc := range []struct{ name, parameters, want string }{
		{"right", `"attribute": "a", "producer": "b"`, ""},
		{"no name", `"producer": "b"`, at + "is missing; name a metric, such as WaitingQueueSize or one of customMetrics"},
		{"two producers", `"attribute": "a/b", "producer": "b"`,
			at + "names a producer behind its slash, and producer is given, too; one of them is right"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := plantest.Mistakes(`{"plugins": [{"type": "reader", "parameters": {`+tc.parameters+`}}]}`,
				scoring.Registration{Type: "reader", New: func(b *scoring.Builder) scoring.Plugin {
					b.ReadAttribute("attribute")
					return struct{}{}
				}})
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
