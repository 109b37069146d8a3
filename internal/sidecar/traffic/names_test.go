package traffic

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/journal"
)

// pool is one of two endpoints, one of which has been sampled.
func (f *fixture) pool() *pool.Generation {
	target := func(name string) *pool.Target { return &pool.Target{Name: name, Pool: "ns/" + topology.DefaultPool} }
	g := &pool.Generation{Targets: []*pool.Target{target("vllm-0"), target("vllm-1")}}
	g.Targets[0].Read(&engine.Sample{WaitingRequests: 3, RunningRequests: 8, KVCacheUsage: 0.4, KVBlocks: 9}, f.now,
		nil)
	return g
}

// TestMonitoringNamesMetricsOfRequests keeps the dashboard, the alerts and the documentation true.
func TestMonitoringNamesMetricsOfRequests(t *testing.T) {
	f := newFixtureWith(t, Options{Prefixes: true})
	f.answer(20, "vllm-0")
	f.generation = f.pool()
	f.Sample(f.generation, &config.Metrics{QueueDepth: 5, KVUsage: 0.8})
	f.take(f.decide("m1", "vllm-0"), false)
	f.take(journal.Event{Kind: journal.Refused, Reason: journal.HashName("shed")}, false)
	f.charge(journal.Event{})
	page := f.page()
	own := regexp.MustCompile(`\bpintle_[a-z_]+[a-z]`)
	elsewhere := regexp.MustCompile(`^pintle_(build|sidecar|store|replication|kv)_|` +
		`^pintle_(requests_(routed|refused|waited)|decision_us)$`) // of Envoy's statistics
	for _, file := range []string{"monitoring/dashboard.json", "monitoring/alerts.yaml", "operations.md"} {
		content, err := os.ReadFile("../../../docs/" + file)
		if err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		for _, name := range own.FindAllString(string(content), -1) {
			name = strings.TrimSuffix(name, "_bucket")
			if !elsewhere.MatchString(name) {
				used[name] = true
			}
		}
		if len(used) < 5 {
			t.Errorf("%s: got %d names of metrics, want some", file, len(used))
		}
		for name := range used {
			if !strings.Contains(page, "# TYPE "+name+" ") {
				t.Errorf("%s: %s is no metric", file, name)
			}
		}
	}
}

func TestPoolMetrics(t *testing.T) {
	f := newFixture(t, false)
	f.generation = f.pool()
	f.decide("m1", "vllm-1")
	f.want(
		`pintle_pool_ready_endpoints{pool="ns/default"} 1`, `pintle_pool_saturation{pool="ns/default"} 0.8`,
		`pintle_pool_queue_size_mean{pool="ns/default"} 3`,
		`pintle_pool_running_requests_mean{pool="ns/default"} 8`,
		`pintle_pool_kv_cache_usage_mean{pool="ns/default"} 0.4`,
		`pintle_requests_in_flight{endpoint="vllm-0"} 0`, `pintle_requests_in_flight{endpoint="vllm-1"} 1`,
	)
	if page := f.page(); strings.Contains(page, "pintle_tokens_in_flight{") {
		t.Error("tokens in flight are told, though no decision has told of any")
	}
	f.charge(journal.Event{})
	f.want(`pintle_tokens_in_flight{endpoint="vllm-0"} 700`, `pintle_tokens_in_flight{endpoint="vllm-1"} 0`)
	f.now = f.now.Add(2 * freshWithin)
	f.want(`pintle_pool_ready_endpoints{pool="ns/default"} 0`, `pintle_pool_saturation{pool="ns/default"} 1`)
	if page := f.page(); strings.Contains(page, "pintle_pool_queue_size_mean{") {
		t.Error("a mean of no endpoints is told")
	}
}

// TestPoolsWithoutEndpoints: a pool that is looked for has its gauges when nothing is found, as where all its pods have
// turned unready: alerts and autoscalers go by them.
func TestPoolsWithoutEndpoints(t *testing.T) {
	for name, test := range map[string]struct {
		llmD bool
		want []string
	}{
		"own": {false, []string{
			`pintle_pool_ready_endpoints{pool="ns/gone"} 0`, `pintle_pool_saturation{pool="ns/gone"} 1`,
			`pintle_pool_ready_endpoints{pool="ns/default"} 1`,
		}},
		"llm-d": {true, []string{
			`llm_d_epp_ready_endpoints{name="gone"} 0`, `inference_pool_ready_pods{name="gone"} 0`,
			`llm_d_epp_flow_control_pool_saturation{inference_pool="gone"} 1`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, test.llmD)
			f.generation = f.pool()
			f.generation.Pools = []string{"ns/default", "ns/gone"}
			f.want(test.want...)
		})
	}
}

// charge takes a decision that has vllm-0 compute 700 tokens, and one whose tokens are computed.
func (f *fixture) charge(like journal.Event) {
	for lease := range uint32(2) {
		e := like
		e.Kind, e.Instance, e.Lease = journal.Decision, 2, lease+1
		e.Primary, e.PrimaryLoad = journal.EndpointID("vllm-0"), 700
		f.take(e, false)
		if e.Kind, e.Status, e.TTFTMicros = journal.Began, 200, 1; lease == 1 {
			f.take(e, false)
		}
	}
}

func TestLLMDNames(t *testing.T) {
	f := newFixture(t, true)
	f.generation = f.pool()
	whole := f.decide("m1", "vllm-0")
	whole.Asked = journal.HashName("m0")
	f.want(
		`llm_d_epp_request_running{fairness_id="default-flow",model_name="m1",priority="0",target_model_name="m1"} 1`)
	f.take(whole, false)
	failed := f.decide("m1", "vllm-1")
	failed.Code, failed.UsageReported, failed.OutputTokens = 502, false, 0
	f.take(failed, false)
	left := f.decide("m1", "vllm-1")
	left.Code, left.Status, left.Ended, left.UsageReported, left.OutputTokens = 0, 0, journal.EndedClient, false, 0
	f.take(left, false)
	f.take(journal.Event{Kind: journal.Refused, Code: 429, Reason: journal.HashName("shed"),
		Model: journal.HashName("m1"), Asked: journal.HashName("m1")}, false)
	const of = `fairness_id="default-flow",model_name="m0",priority="0",target_model_name="m1"`
	const ofM1 = `fairness_id="default-flow",model_name="m1",priority="0",target_model_name="m1"`
	f.want(
		`llm_d_epp_request_total{`+ofM1+`} 3`,
		`inference_objective_request_total{model_name="m1",priority="0",target_model_name="m1"} 3`,
		`llm_d_epp_request_error_total{error_code="ModelServerError",`+ofM1+`} 1`,
		`llm_d_epp_request_error_total{error_code="ResourceExhausted",`+ofM1+`} 1`,
		`llm_d_epp_request_input_tokens_sum{`+of+`} 100`, `llm_d_epp_request_cached_tokens_sum{`+of+`} 16`,
		`llm_d_epp_request_output_tokens_sum{`+of+`} 11`,
		`llm_d_epp_request_duration_seconds_sum{`+of+`} 2`, `llm_d_epp_request_streaming_tpot_seconds_sum{`+of+`} 0.1`,
		`llm_d_epp_request_ttft_seconds_sum{fairness_id="default-flow",model_name="m0",priority="0",streaming="true",target_model_name="m1"} 1`,
		`inference_objective_input_tokens_sum{model_name="m0",target_model_name="m1"} 100`,
		`inference_objective_running_requests{model_name="m1"} 0`,
		`llm_d_epp_average_queue_size{name="default"} 3`, `llm_d_epp_ready_endpoints{name="default"} 1`,
		`inference_pool_ready_pods{name="default"} 1`,
		`llm_d_epp_average_kv_cache_utilization{name="default"} 0.4`,
		`llm_d_epp_flow_control_pool_saturation{inference_pool="default"} 0.8`,
		`llm_d_epp_scheduler_attempts_total{endpoint_name="vllm-0",namespace="",port="",status="success",target_model_name="m1"} 1`,
		`llm_d_epp_per_endpoint_queue_size{model_server_endpoint="vllm-0",name="default"} 3`,
	)
	for _, refused := range []struct {
		reason string
		code   uint16
	}{
		{"no_endpoints", 503}, {"filtered_out", 503}, {"filtered_out", 429}, {"held_too_much", 503},
		{"held_too_much", 503}, {"shed", 429},
	} {
		f.take(journal.Event{Kind: journal.Refused, Code: refused.code, Reason: journal.HashName(refused.reason),
			Model: journal.HashName("m0"), Asked: journal.HashName("m0")}, false)
	}
	f.want(`llm_d_epp_scheduler_attempts_total{endpoint_name="",namespace="",port="",status="failure",target_model_name="m0"} 3`)
	f.charge(journal.Event{Model: journal.HashName("m1"), Fairness: journal.HashName("tenant"), Priority: -5})
	f.take(journal.Event{Kind: journal.Refused, Code: 429, Model: journal.HashName("m1"),
		Fairness: journal.HashName("unheard of"), Priority: -5}, false)
	f.want(
		`llm_d_epp_request_total{fairness_id="tenant",model_name="m1",priority="-5",target_model_name="m1"} 2`,
		`inference_objective_request_total{model_name="m1",priority="-5",target_model_name="m1"} 2`,
		`llm_d_epp_request_error_total{error_code="ResourceExhausted",fairness_id="other",model_name="m1",priority="-5",target_model_name="m1"} 1`,
		`llm_d_epp_inflight_tokens{endpoint_name="vllm-0",fairness_id="default-flow",namespace="",priority="0",producer_name="inflight-load-producer"} 700`,
	)
	content, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(f.page(), "\n") {
		name, found := strings.CutPrefix(line, "# TYPE ")
		if !found || strings.HasPrefix(name, "pintle_") {
			continue
		}
		name = strings.Fields(name)[0]
		for _, prefix := range []string{"llm_d_epp_", "std_dev", "average", "inference_objective", "inference_pool"} {
			name = strings.TrimPrefix(name, prefix)
		}
		if !strings.Contains(string(content), name) {
			t.Errorf("docs/operations.md does not name %s", line)
		}
	}
}

// TestLLMDNamesApart: pools, and a pool's endpoints, that differ in their namespaces alone have their whole names.
func TestLLMDNamesApart(t *testing.T) {
	f := newFixture(t, true)
	names := []string{"a/vllm-0", "b/vllm-0", "c/vllm-0", "c/vllm-1", "/vllm-2", "vllm-2"}
	f.SetEndpoints(names)
	f.generation = &pool.Generation{}
	for i, in := range []string{"a/vllm", "b/vllm", "c/tgi", "c/tgi", "mixed", "mixed"} {
		target := &pool.Target{Name: names[i], Pool: in}
		target.Read(&engine.Sample{WaitingRequests: uint32(i)}, f.now, nil)
		f.generation.Targets = append(f.generation.Targets, target)
	}
	f.want(
		`llm_d_epp_ready_endpoints{name="a/vllm"} 1`, `llm_d_epp_ready_endpoints{name="b/vllm"} 1`,
		`llm_d_epp_ready_endpoints{name="tgi"} 2`,
		`llm_d_epp_flow_control_pool_saturation{inference_pool="b/vllm"} 0.2`,
		`inference_pool_average_queue_size{name="b/vllm"} 1`,
		`llm_d_epp_per_endpoint_queue_size{model_server_endpoint="vllm-0",name="b/vllm"} 1`,
		`llm_d_epp_per_endpoint_queue_size{model_server_endpoint="vllm-1",name="tgi"} 3`,
		`llm_d_epp_per_endpoint_queue_size{model_server_endpoint="/vllm-2",name="mixed"} 4`,
		`inference_pool_per_pod_queue_size{model_server_pod="vllm-2",name="mixed"} 5`,
		`llm_d_epp_inflight_requests{endpoint_name="vllm-0",fairness_id="default-flow",namespace="b",priority="0",producer_name="inflight-load-producer"} 0`,
		`llm_d_epp_inflight_requests{endpoint_name="/vllm-2",fairness_id="default-flow",namespace="",priority="0",producer_name="inflight-load-producer"} 0`,
	)
}

// TestSeriesOfAnotherNamespaceStay: under llm-d's names an endpoint that left takes its own series with it alone.
func TestSeriesOfAnotherNamespaceStay(t *testing.T) {
	f := newFixture(t, true)
	f.names = follow.NamesOf(map[journal.NameKind][]string{journal.ModelName: {"m1"}},
		[]string{"a/vllm-0", "b/vllm-0"})
	f.SetEndpoints([]string{"a/vllm-0", "b/vllm-0"})
	f.now = f.now.Add(leftGrace)
	f.page() // without those of the fixture, which have left
	f.decide("m1", "a/vllm-0")
	f.decide("m1", "b/vllm-0")
	f.SetEndpoints([]string{"b/vllm-0"})
	f.now = f.now.Add(leftGrace)
	const attempts = `llm_d_epp_scheduler_attempts_total{endpoint_name="vllm-0",namespace=%q,port="",` +
		`status="success",target_model_name="m1"}`
	f.want(fmt.Sprintf(attempts, "b") + " 1")
	if page := f.page(); strings.Contains(page, fmt.Sprintf(attempts, "a")) {
		t.Errorf("the endpoint that left is still there:\n%s", page)
	}
	f.decide("m1", "b/vllm-0")
	f.want(fmt.Sprintf(attempts, "b") + " 2")
	f.decide("m1", "a/vllm-0") // by an Envoy that has not heard of it yet
	if page := f.page(); strings.Contains(page, fmt.Sprintf(attempts, "a")) {
		t.Errorf("the endpoint that left is there again, and nobody would forget it:\n%s", page)
	}
	f.SetEndpoints([]string{"a/vllm-0", "b/vllm-0"})
	f.decide("m1", "a/vllm-0")
	f.want(fmt.Sprintf(attempts, "a") + " 1") // it came back, and counts anew
}

// TestLLMDAttemptsAreBounded: models and endpoints are told apart up to as many pairs as under Pintle's own names.
func TestLLMDAttemptsAreBounded(t *testing.T) {
	f := newFixture(t, true)
	var models, endpoints []string
	for i := range 70 {
		models, endpoints = append(models, fmt.Sprint("model ", i)), append(endpoints, fmt.Sprint("ns/vllm-", i))
	}
	f.names = follow.NamesOf(map[journal.NameKind][]string{journal.ModelName: models}, endpoints)
	f.SetEndpoints(endpoints)
	for _, model := range models {
		for _, endpoint := range endpoints {
			f.take(journal.Event{Kind: journal.Decision, Model: journal.HashName(model),
				Primary: journal.EndpointID(endpoint)}, false)
		}
	}
	const name = "llm_d_epp_scheduler_attempts_total{"
	if n := strings.Count("\n"+f.page(), "\n"+name); n != mostRoutes+1 {
		t.Errorf("got %d series, want %d", n, mostRoutes+1)
	}
	f.want(name + fmt.Sprintf(`endpoint_name="other",namespace="",port="",status="success",target_model_name="other"} %d`,
		len(models)*len(endpoints)-mostRoutes))
}

// TestLLMDSeriesAreBounded: clients name models and fairness ids, and what is refused or fails is bounded, too.
func TestLLMDSeriesAreBounded(t *testing.T) {
	var models, tenants []string
	for i := range 50 {
		models, tenants = append(models, fmt.Sprint("model ", i)), append(tenants, fmt.Sprint("tenant ", i))
	}
	for _, test := range []struct {
		name string
		like journal.Event
	}{
		{"refused", journal.Event{Kind: journal.Refused, Code: 429}},
		{"failed", journal.Event{Kind: journal.Completion, Code: 502}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, true)
			f.names = follow.NamesOf(map[journal.NameKind][]string{journal.ModelName: models,
				journal.FairnessName: tenants}, nil)
			for _, model := range models {
				for _, tenant := range tenants {
					e := test.like
					e.Model, e.Fairness = journal.HashName(model), journal.HashName(tenant)
					f.take(e, false)
				}
			}
			families, err := f.Gatherer(f.registry).Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, family := range families {
				if n := len(family.GetMetric()); n > mostFlows+1 {
					t.Errorf("%s: got %d series, want %d at most", family.GetName(), n, mostFlows+1)
				}
			}
		})
	}
}
