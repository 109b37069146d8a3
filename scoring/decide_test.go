package scoring_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// asGiven scores each endpoint with its KV cache usage, whatever that is.
type asGiven struct{}

func (asGiven) Score(_ *scoring.Cycle, candidates []*scoring.Endpoint, scores []float64) {
	for i, e := range candidates {
		scores[i] = e.Metrics.KVCacheUsage
	}
}

// untouched leaves the scores as they come in.
type untouched struct{}

func (untouched) Score(*scoring.Cycle, []*scoring.Endpoint, []float64) {}

var testPlugins = []scoring.Registration{
	{Type: "as-given", New: func(*scoring.Builder) scoring.Plugin { return asGiven{} }},
	{Type: "untouched", New: func(*scoring.Builder) scoring.Plugin { return untouched{} }},
}

// given makes a pool whose endpoints score these values under as-given.
func given(scores ...float64) *scoring.Pool {
	endpoints := make([]scoring.Endpoint, len(scores))
	for i, score := range scores {
		endpoints[i] = plantest.Sampled(scoring.Metrics{KVCacheUsage: score})
	}
	return plantest.Pool(endpoints...)
}

func TestClamp(t *testing.T) {
	tests := []struct {
		name        string
		score, want float64
	}{
		{"zero", 0, 0},
		{"negative zero", math.Copysign(0, -1), 0},
		{"smallest", math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat64},
		{"half", 0.5, 0.5},
		{"one", 1, 1},
		{"just above one", math.Nextafter(1, 2), 1},
		{"two", 2, 1},
		{"infinite", math.Inf(1), 1},
		{"just below zero", -math.SmallestNonzeroFloat64, 0},
		{"minus one", -1, 0},
		{"minus infinite", math.Inf(-1), 0},
		{"not a number", math.NaN(), 0},
	}
	plan := plantest.Plan(t,
		`{"plugins": [{"type": "as-given"}], "schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "as-given", "weight": 3}]}]}`,
		plantest.Neutral, testPlugins...)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			trace := plantest.Decide(plan, plantest.Cycle(given(test.score), 1))
			got := trace.Scores["as-given"]["a"]
			if got != test.want || math.Signbit(got) {
				t.Errorf("score %v, want %v", got, test.want)
			}
			if total := trace.Totals["a"]; total != 3*test.want {
				t.Errorf("total %v, want %v", total, 3*test.want)
			}
		})
	}
}

// One scorer's nonsense does not keep another from deciding.
func TestNonsenseDoesNotPoison(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "as-given"}, {"type": "queue-scorer"}]}`, plantest.Neutral,
		testPlugins...)
	for seed := range uint64(20) {
		pool := given(math.NaN(), math.NaN(), math.Inf(-1))
		pool.Endpoints[0].Metrics.WaitingRequests = 2
		pool.Endpoints[2].Metrics.WaitingRequests = 1
		trace := plantest.Decide(plan, plantest.Cycle(pool, seed))
		if want := []string{"b"}; !slices.Equal(trace.Picks, want) {
			t.Fatalf("seed %d: picked %q, want %q", seed, trace.Picks, want)
		}
		if want := (map[string]float64{"a": 0, "b": 1, "c": 0.5}); !maps.Equal(trace.Totals, want) {
			t.Fatalf("totals %v, want %v", trace.Totals, want)
		}
	}
}

// A scorer gets zeros, not what the scorer or the request before it has left.
func TestScoresComeInAsZeros(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "as-given"}, {"type": "untouched"}]}`, plantest.Neutral,
		testPlugins...)
	c := plantest.Cycle(given(0.5, 1), 1)
	for range 2 {
		trace := plantest.Decide(plan, c)
		if want := (map[string]float64{"a": 0, "b": 0}); !maps.Equal(trace.Scores["untouched"], want) {
			t.Fatalf("scores %v, want %v", trace.Scores["untouched"], want)
		}
		if want := (map[string]float64{"a": 0.5, "b": 1}); !maps.Equal(trace.Totals, want) {
			t.Fatalf("totals %v, want %v", trace.Totals, want)
		}
	}
}

func TestWeights(t *testing.T) {
	tests := []struct {
		name, references string
		want             float64
	}{
		{"no weight is 1", `{"pluginRef": "as-given"}`, 0.5},
		{"whole", `{"pluginRef": "as-given", "weight": 3}`, 1.5},
		{"fraction", `{"pluginRef": "as-given", "weight": 0.25}`, 0.125},
		{"zero", `{"pluginRef": "as-given", "weight": 0}`, 0},
		{"null is 1", `{"pluginRef": "as-given", "weight": null}`, 0.5},
		{"two scorers add up, undivided",
			`{"pluginRef": "as-given", "weight": 2}, {"pluginRef": "queue-scorer", "weight": 4}`, 5},
		{"one scorer twice", `{"pluginRef": "as-given", "weight": 2}, {"pluginRef": "as-given", "weight": 1}`, 1.5},
		{"no scorer", ``, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan := plantest.Plan(t, `{"plugins": [{"type": "as-given"}, {"type": "queue-scorer"}],
				"schedulingProfiles": [{"name": "p", "plugins": [`+test.references+`]}]}`, plantest.Neutral,
				testPlugins...)
			trace := plantest.Decide(plan, plantest.Cycle(given(0.5), 1))
			if got := trace.Totals["a"]; got != test.want {
				t.Errorf("total %v, want %v", got, test.want)
			}
		})
	}
}

// randomPool makes endpoints with labels and metrics, some of them stale or missing.
func randomPool(random *rand.Rand, n int) []scoring.Endpoint {
	endpoints := make([]scoring.Endpoint, n)
	for i := range endpoints {
		e := &endpoints[i]
		e.Name = fmt.Sprintf("pod-%d", i)
		if random.IntN(3) > 0 {
			role := []string{"decode", "both", "prefill"}[random.IntN(3)]
			e.Labels = []scoring.Label{{Key: "mif.moreh.io/role", Value: role}}
		}
		if random.IntN(6) == 0 {
			continue
		}
		e.Metrics = scoring.Metrics{
			SampledAt:       plantest.Now - random.Int64N(int64(3*time.Second)),
			WaitingRequests: random.IntN(6), RunningRequests: random.IntN(20), KVCacheUsage: random.Float64(),
		}
	}
	return endpoints
}

const allOfThem = `{"plugins": [{"type": "decode-filter"}, {"type": "queue-scorer"}, {"type": "running-requests-size-scorer"},
	{"type": "kv-cache-utilization-scorer"}]}`

// The order in which a pool lists its endpoints changes no total and removes nobody else.
func TestOrderDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	plan := plantest.Plan(t, allOfThem, plantest.Neutral)
	for range 200 {
		endpoints := randomPool(random, 1+random.IntN(12))
		first := plantest.Decide(plan, plantest.Cycle(plantest.Pool(slices.Clone(endpoints)...), 1))
		random.Shuffle(len(endpoints), func(i, j int) { endpoints[i], endpoints[j] = endpoints[j], endpoints[i] })
		second := plantest.Decide(plan, plantest.Cycle(plantest.Pool(endpoints...), 1))
		if !maps.Equal(first.Totals, second.Totals) {
			t.Fatalf("totals %v, after a shuffle %v", first.Totals, second.Totals)
		}
		if !maps.Equal(first.Removed, second.Removed) {
			t.Fatalf("removed %v, after a shuffle %v", first.Removed, second.Removed)
		}
	}
}

// screens keeps every other endpoint from all profiles, unless there is one alone.
type screens struct{}

func (screens) Screen(c *scoring.Cycle) *scoring.Failure {
	for i := 1; i < len(c.Pool.Endpoints); i += 2 {
		c.Exclude(&c.Pool.Endpoints[i])
	}
	return nil
}

var screening = []scoring.Registration{
	{Type: "screens", New: func(*scoring.Builder) scoring.Plugin { return screens{} }},
}

// A cycle that has served other pools and plans decides as a new one does.
func TestCycleCarriesNothingOver(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	plans := []*scoring.Plan{
		plantest.Plan(t, allOfThem, plantest.Neutral),
		plantest.Plan(t,
			`{"plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker", "parameters": {"maxNumOfEndpoints": 3}}]}`,
			scoring.Staleness{After: time.Second, Policy: scoring.StaleExclude}),
		plantest.Plan(t, `{"plugins": [{"type": "by-label", "parameters": {"label": "none", "validValues": ["x"]}}]}`,
			plantest.Neutral),
		plantest.Plan(t, `{"plugins": [{"type": "screens"}, {"type": "data-parallel-profile-handler"},
			{"type": "vtc-basic"}]}`, plantest.Neutral, screening...),
		plantest.Plan(t, `{"plugins": [{"type": "routing-strategy-handler"}, {"type": "queue-scorer"},
			{"type": "kv-cache-utilization-scorer"}], "schedulingProfiles": [
			{"name": "a", "plugins": [{"pluginRef": "queue-scorer"}]},
			{"name": "b", "plugins": [{"pluginRef": "kv-cache-utilization-scorer"}]}]}`, plantest.Neutral),
	}
	strategies := []string{"", "a", "b", "a,b", "b:2,a"}
	used := plantest.Cycle(nil, 1)
	for range 300 {
		plan := plans[random.IntN(len(plans))]
		pool := plantest.Pool(randomPool(random, random.IntN(30))...)
		used.Pool = pool
		fresh := plantest.Cycle(pool, 1)
		used.Request.Headers = plantest.Headers(plan, map[string]string{"user": "ann",
			"routing-strategy": strategies[random.IntN(len(strategies))]})
		fresh.Request.Headers = used.Request.Headers
		got, want := plantest.Decide(plan, used), plantest.Decide(plan, fresh)
		if got.Failure != want.Failure || !maps.Equal(got.Totals, want.Totals) ||
			!maps.Equal(got.Removed, want.Removed) {
			t.Fatalf("a used cycle says %+v, a new one %+v", got, want)
		}
		if len(pool.Endpoints) > 0 && (used.PrimaryPort() != fresh.PrimaryPort() || used.User() != fresh.User() ||
			used.Strategy() != fresh.Strategy() || used.Mixes() != fresh.Mixes() ||
			len(used.RequestHeaders()) != len(fresh.RequestHeaders())) {
			t.Fatalf("a used cycle has port %d, user %q, strategy %q, mixes %v, %d headers; "+
				"a new one %d, %q, %q, %v, %d",
				used.PrimaryPort(), used.User(), used.Strategy(), used.Mixes(), len(used.RequestHeaders()),
				fresh.PrimaryPort(), fresh.User(), fresh.Strategy(), fresh.Mixes(), len(fresh.RequestHeaders()))
		}
	}
}

func TestFiltersKeepOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	plan := plantest.Plan(t, `{"plugins": [{"type": "decode-filter"}, {"type": "by-label", "parameters":
		{"label": "mif.moreh.io/role", "validValues": ["both", "decode"], "allowsNoLabel": true}}, {"type": "queue-scorer"}]}`, plantest.Neutral)
	for range 100 {
		pool := plantest.Pool(randomPool(random, 1+random.IntN(20))...)
		trace := plantest.Decide(plan, plantest.Cycle(pool, 1))
		var want []string
		for i := range pool.Endpoints {
			if _, removed := trace.Removed[pool.Endpoints[i].Name]; !removed {
				want = append(want, pool.Endpoints[i].Name)
			}
		}
		if !slices.Equal(trace.Candidates, want) {
			t.Fatalf("candidates %q, want %q", trace.Candidates, want)
		}
	}
}

// What one filter removes, the next one does not see.
func TestFiltersRunInOrder(t *testing.T) {
	const plugins = `{"plugins": [{"type": "decode-filter"}, {"type": "by-label", "parameters": {"label": "zone", "validValues": ["x"]}}],
		"schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": %q}, {"pluginRef": %q}]}]}`
	for _, order := range [][2]string{{"decode-filter", "by-label"}, {"by-label", "decode-filter"}} {
		plan := plantest.Plan(t, fmt.Sprintf(plugins, order[0], order[1]), plantest.Neutral)
		trace := plantest.Decide(plan,
			plantest.Cycle(plantest.Pool(plantest.Labelled("mif.moreh.io/role", "prefill", "zone", "y")), 1))
		if got := trace.Removed["a"]; got != order[0] {
			t.Errorf("removed by %q, want %q", got, order[0])
		}
		if trace.Failure != scoring.FilteredOut {
			t.Errorf("failure %v, want %v", trace.Failure, scoring.FilteredOut)
		}
	}
}

func TestNoEndpoints(t *testing.T) {
	plan := plantest.Plan(t, `{}`, plantest.Neutral)
	for name, pool := range map[string]*scoring.Pool{"no pool": nil, "empty pool": {}} {
		t.Run(name, func(t *testing.T) {
			c := plantest.Cycle(pool, 1)
			if endpoints, failure := plan.Decide(c); endpoints != nil || failure != scoring.NoEndpoints {
				t.Errorf("endpoints %v, failure %v; want none and %v", endpoints, failure, scoring.NoEndpoints)
			}
		})
	}
}

// The same seed makes the same choices.
func TestSeed(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "random-picker", "parameters": {"maxNumOfEndpoints": 4}}]}`,
		plantest.Neutral)
	choices := func(seed uint64) (all []string) {
		c := plantest.Cycle(given(0, 0, 0, 0, 0, 0, 0, 0), seed)
		for range 20 {
			all = append(all, plantest.Decide(plan, c).Picks...)
		}
		return all
	}
	if first, second := choices(1), choices(1); !slices.Equal(first, second) {
		t.Errorf("seed 1 chose %q, then %q", first, second)
	}
	if first, second := choices(1), choices(2); slices.Equal(first, second) {
		t.Errorf("seeds 1 and 2 both chose %q", first)
	}
}
