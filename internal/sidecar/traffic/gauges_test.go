package traffic

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/journal"
)

// sampled is a generation of endpoints in one pool, each with a sample of an age.
func (f *fixture) sampled(age time.Duration, samples map[string]engine.Sample) *pool.Generation {
	g := &pool.Generation{}
	for name, sample := range samples {
		target := &pool.Target{Name: name, Pool: "default"}
		target.Read(&sample, f.now.Add(-age), nil)
		g.Targets = append(g.Targets, target)
	}
	return g
}

// TestMeansAndDeviations: deviations are those of a sample, of n-1, and 0 of one endpoint.
func TestMeansAndDeviations(t *testing.T) {
	for _, test := range []struct {
		name    string
		samples map[string]engine.Sample
		want    []string
	}{
		{"one", map[string]engine.Sample{"vllm-0": {WaitingRequests: 2, RunningRequests: 6, KVCacheUsage: 0.25}},
			[]string{`average_queue_size{name="default"} 2`, `average_running_requests{name="default"} 6`,
				`average_kv_cache_utilization{name="default"} 0.25`, `std_dev_queue_size{name="default"} 0`,
				`std_dev_running_requests{name="default"} 0`, `std_dev_kv_cache_utilization{name="default"} 0`,
				`flow_control_pool_saturation{inference_pool="default"} 0.4`}},
		{"three", map[string]engine.Sample{
			"vllm-0": {WaitingRequests: 2, RunningRequests: 6, KVCacheUsage: 0.8},
			"vllm-1": {WaitingRequests: 4, RunningRequests: 6, KVCacheUsage: 0.8},
			"vllm-2": {WaitingRequests: 6, RunningRequests: 18, KVCacheUsage: 0.8},
		}, []string{`average_queue_size{name="default"} 4`, `average_running_requests{name="default"} 10`,
			`std_dev_queue_size{name="default"} 2`, `std_dev_running_requests{name="default"} 6.928203230275509`,
			`std_dev_kv_cache_utilization{name="default"} 0`}},
		{"full cache, short queue", map[string]engine.Sample{"vllm-0": {WaitingRequests: 1, KVCacheUsage: 0.6}},
			[]string{`flow_control_pool_saturation{inference_pool="default"} 0.7499999999999999`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, true)
			f.generation = f.sampled(0, test.samples)
			for i := range test.want {
				test.want[i] = "llm_d_epp_" + test.want[i]
			}
			f.want(test.want...)
		})
	}
}

// TestNoMeansOfNothing: a pool whose samples are old has endpoints, and no means.
func TestNoMeansOfNothing(t *testing.T) {
	for _, test := range []struct {
		name  string
		age   time.Duration
		means int // and deviations, under all of their names
	}{{"fresh", 0, 9}, {"old", time.Minute, 0}} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, true)
			f.generation = f.sampled(test.age, map[string]engine.Sample{"vllm-0": {WaitingRequests: 2}})
			page := f.page()
			got := 0
			for _, name := range []string{"\nllm_d_epp_average_", "\ninference_pool_average_", "\nllm_d_epp_std_dev_"} {
				got += strings.Count(page, name)
			}
			if got != test.means || strings.Contains(page, "} NaN") {
				t.Errorf("got %d means and deviations, want %d, and no NaN:\n%s", got, test.means, page)
			}
			if !strings.Contains(page, `llm_d_epp_flow_control_pool_saturation{inference_pool="default"}`) {
				t.Errorf("the pool is not there:\n%s", page)
			}
		})
	}
}

// TestFreshSamples: a sample counts until it is 2 s old.
func TestFreshSamples(t *testing.T) {
	for _, test := range []struct {
		name string
		age  time.Duration
		want string
	}{{"2 s", 2 * time.Second, "1"}, {"longer", 2*time.Second + 1, "0"}} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, false)
			f.generation = f.sampled(test.age, map[string]engine.Sample{"vllm-0": {}})
			f.want(`pintle_pool_ready_endpoints{pool="default"} ` + test.want)
		})
	}
}

// TestSilenceThatTheEndpointShows: requests that an endpoint denies to have make it silent at once, those that it says
// to have only after they have waited for long.
func TestSilenceThatTheEndpointShows(t *testing.T) {
	for _, test := range []struct {
		name string
		says engine.Sample
		want time.Duration
	}{
		{"nothing to do", engine.Sample{}, 2 * time.Second},
		{"running", engine.Sample{RunningRequests: 1}, 0},
		{"waiting", engine.Sample{WaitingRequests: 1}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, false)
			for client := range uint64(3) {
				f.lease++
				f.take(journal.Event{Kind: journal.Decision, Instance: 1, Lease: f.lease, Client: client + 1,
					Primary: journal.EndpointID("vllm-0"), Streamed: true}, false)
			}
			f.now = f.now.Add(time.Second)
			answered := f.decide("m1", "vllm-1")
			f.now = f.now.Add(time.Second)
			answered.DurationMicros, answered.TTFTMicros = 1_000_000, 1_000_000
			f.take(answered, false)
			f.generation = f.sampled(0, map[string]engine.Sample{"vllm-0": test.says})
			if got := f.Failing(f.generation.Targets[0]).Silent; got != test.want {
				t.Errorf("got silent for %v, want %v", got, test.want)
			}
		})
	}
}

// TestMetricsOfWhoFollowsNobody: who gets no events tells of the pools, and nothing of requests, of which it knows
// nothing.
func TestMetricsOfWhoFollowsNobody(t *testing.T) {
	for name, test := range map[string]struct {
		llmD  bool
		pools string
	}{
		"own": {false, "pintle_pool_"},
		"llm-d": {true, "llm_d_epp_(average|std_dev|ready_endpoints$|per_endpoint_queue|flow_control_pool)|" +
			"inference_pool_"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixtureWith(t, Options{LLMD: test.llmD, Blind: true})
			f.generation = f.pool()
			pools := regexp.MustCompile("^(" + test.pools + ")")
			families, err := f.Gatherer(f.registry).Gather()
			if err != nil || len(families) == 0 {
				t.Fatalf("got %d metrics, %v, want those of pools", len(families), err)
			}
			for _, family := range families {
				if !pools.MatchString(family.GetName()) {
					t.Errorf("got %v, want metrics of pools alone", family)
				}
			}
		})
	}
}
