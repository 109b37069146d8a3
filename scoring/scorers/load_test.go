package scorers_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// scoreCase is a pool and the scores that a scorer gives its endpoints.
type scoreCase struct {
	name  string
	stale scoring.Staleness // the zero value is plantest.Neutral
	pool  []scoring.Endpoint
	want  []float64
}

func (s scoreCase) run(t *testing.T, scorer string) {
	t.Run(s.name, func(t *testing.T) {
		stale := s.stale
		if stale == (scoring.Staleness{}) {
			stale = plantest.Neutral
		}
		if got := plantest.Score(t, scorer, stale, s.pool...); !slices.Equal(got, s.want) {
			t.Errorf("scores %v, want %v", got, s.want)
		}
	})
}

// fewestCases are the cases of the scorers that want the fewest of something; n makes a sample that counts n of it.
func fewestCases(n func(int) scoring.Metrics) []scoreCase {
	fresh := func(count int) scoring.Endpoint { return plantest.Sampled(n(count)) }
	aged := func(age time.Duration, count int) scoring.Endpoint { return plantest.Aged(age, n(count)) }
	never := scoring.Endpoint{Metrics: n(3)}
	pool := func(endpoints ...scoring.Endpoint) []scoring.Endpoint { return endpoints }
	last := scoring.Staleness{After: 2 * time.Second, Policy: scoring.StaleLast}
	return []scoreCase{
		{name: "spread", pool: pool(fresh(0), fresh(10), fresh(4)), want: []float64{1, 0, 0.6}},
		{name: "least is not zero", pool: pool(fresh(12), fresh(8), fresh(10)), want: []float64{0, 1, 0.5}},
		{name: "one", pool: pool(fresh(7)), want: []float64{1}},
		{name: "equal", pool: pool(fresh(7), fresh(7)), want: []float64{1, 1}},
		{name: "all zero", pool: pool(fresh(0), fresh(0), fresh(0)), want: []float64{1, 1, 1}},
		{name: "large", pool: pool(fresh(1<<31-1), fresh(0)), want: []float64{0, 1}},
		{name: "never sampled", pool: pool(never, fresh(0), fresh(2)), want: []float64{0.5, 1, 0}},
		{name: "none sampled", pool: pool(never, never), want: []float64{0.5, 0.5}},
		{name: "stale does not count for the range", pool: pool(fresh(1), aged(time.Minute, 100), fresh(3)),
			want: []float64{1, 0.5, 0}},
		{name: "one fresh", pool: pool(fresh(9), aged(time.Minute, 0)), want: []float64{1, 0.5}},
		{name: "just not stale", pool: pool(fresh(0), aged(2*time.Second, 4)), want: []float64{1, 0}},
		{name: "just stale", pool: pool(fresh(0), aged(2*time.Second+1, 4)), want: []float64{1, 0.5}},
		{name: "sampled by a clock ahead", pool: pool(fresh(0), aged(-time.Second, 4)), want: []float64{1, 0}},
		{name: "last sample counts", stale: last, pool: pool(fresh(0), aged(time.Hour, 4), never),
			want: []float64{1, 0, 0.5}},
	}
}

func TestQueueScorer(t *testing.T) {
	// What the scorer must not look at points the other way.
	for _, c := range fewestCases(func(n int) scoring.Metrics {
		return scoring.Metrics{WaitingRequests: n, RunningRequests: math.MaxInt32 - n, KVCacheUsage: 1 / float64(n+1)}
	}) {
		c.run(t, "queue-scorer")
	}
}

func TestRunningRequestsSizeScorer(t *testing.T) {
	for _, c := range fewestCases(func(n int) scoring.Metrics {
		return scoring.Metrics{RunningRequests: n, WaitingRequests: math.MaxInt32 - n, KVCacheUsage: 1 / float64(n+1)}
	}) {
		c.run(t, "running-requests-size-scorer")
	}
}

// With a scale few requests count for little, and many for no more than all.
func TestRunningRequestsScale(t *testing.T) {
	plan := plantest.Plan(t, `{"plugins": [{"type": "running-requests-size-scorer", "parameters": {"scale": 16}}]}`,
		plantest.Neutral)
	for _, tt := range []struct {
		name    string
		running []int
		want    []float64
	}{
		{"one more", []int{1, 0}, []float64{1 - 1.0/16, 1}},
		{"the whole scale", []int{16, 0}, []float64{0, 1}},
		{"beyond the scale", []int{40, 30, 0}, []float64{0, 0.25, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			never := scoring.Endpoint{Metrics: scoring.Metrics{RunningRequests: 99}}
			pool := plantest.Pool(append(make([]scoring.Endpoint, len(tt.running)), never)...)
			for i, running := range tt.running {
				pool.Endpoints[i].Metrics = scoring.Metrics{SampledAt: plantest.Now, RunningRequests: running}
			}
			got := plantest.Decide(plan, plantest.Cycle(pool, 1)).Scores["running-requests-size-scorer"]
			for i, want := range append(tt.want, neutralScore) {
				if e := &pool.Endpoints[i]; got[e.Name] != want {
					t.Errorf("%s scores %v, want %v", e.Name, got[e.Name], want)
				}
			}
		})
	}
}

// neutralScore is that of an endpoint without metrics.
const neutralScore = 0.5

func TestKVCacheUtilizationScorer(t *testing.T) {
	used := func(usage float64) scoring.Endpoint { return plantest.Sampled(scoring.Metrics{KVCacheUsage: usage}) }
	aged := func(age time.Duration, usage float64) scoring.Endpoint {
		return plantest.Aged(age, scoring.Metrics{KVCacheUsage: usage})
	}
	last := scoring.Staleness{After: 2 * time.Second, Policy: scoring.StaleLast}
	for _, c := range []scoreCase{
		{name: "spread", pool: []scoring.Endpoint{used(0), used(0.25), used(1)}, want: []float64{1, 0.75, 0}},
		{name: "one", pool: []scoring.Endpoint{used(0.75)}, want: []float64{0.25}},
		{name: "equal is not 1", pool: []scoring.Endpoint{used(0.5), used(0.5)}, want: []float64{0.5, 0.5}},
		{name: "above 1 is clamped", pool: []scoring.Endpoint{used(1.25)}, want: []float64{0}},
		{name: "below 0 is clamped", pool: []scoring.Endpoint{used(-0.25)}, want: []float64{1}},
		{name: "never sampled", pool: []scoring.Endpoint{{}, used(0.25)}, want: []float64{0.5, 0.75}},
		{name: "stale", pool: []scoring.Endpoint{aged(3*time.Second, 0), used(0.25)}, want: []float64{0.5, 0.75}},
		{name: "last sample counts", stale: last, pool: []scoring.Endpoint{aged(time.Hour, 0.25), {}},
			want: []float64{0.75, 0.5}},
	} {
		c.run(t, "kv-cache-utilization-scorer")
	}
}
