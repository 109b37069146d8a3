package traffic

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/journal"
)

// The names of llm-d's endpoint picker, 0.10, so that its dashboards and autoscaling guides work with what Pintle
// knows, and those of the Gateway API Inference Extension that it still has beside them. docs/operations.md lists the
// names that are not served.
const (
	llmd      = "llm_d_epp_"
	objective = "inference_objective_"
)

// llmdLabels are those of every request. Gauges have the defaults of the last two: what is in flight is not told apart
// by them.
const (
	llmdLabels      = "model_name target_model_name fairness_id priority"
	defaultFairness = "default-flow"
	defaultPriority = "0"
)

var (
	llmdTokenBuckets = []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32778, 65536, 131072,
		262144, 524288, 1048576}
	llmdOutputBuckets = llmdTokenBuckets[:12]
	llmdNTPOTBuckets  = []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10}
)

// llmdMeters are the meters under llm-d's names.
type llmdMeters struct {
	collectors
	requests, errors, attempts, objectives             *prometheus.CounterVec
	duration, input, cached, output, ntpot, ttft, tpot *prometheus.HistogramVec
	objectiveDuration, objectiveInput, objectiveOutput *prometheus.HistogramVec
	objectiveCached                                    *prometheus.HistogramVec
	flows                                              map[flow]*llmdFlow
}

// flow is what llm-d tells requests apart by: the model asked for, the one that was served, and the class.
type flow struct{ asked, served, fairness, priority string }

// mostFlows bounds the flows that are told apart; beyond it names are other.
const mostFlows = 1000

// llmdFlow are the meters of a flow.
type llmdFlow struct {
	requests                                     []prometheus.Counter
	duration, input, cached, output, ntpot, tpot []prometheus.Observer
	ttftStreamed, ttftWhole                      []prometheus.Observer
}

func newLLMDMeters() *llmdMeters {
	m := &llmdMeters{flows: map[flow]*llmdFlow{}}
	const short = "model_name target_model_name"
	m.requests = m.counter(llmd+"request_total", "Requests handed on to a model server.", llmdLabels)
	m.errors = m.counter(llmd+"request_error_total",
		"Requests that were refused, or that a model server answered with an error.", llmdLabels+" error_code")
	m.attempts = m.counter(llmd+"scheduler_attempts_total", "Decisions.",
		"status target_model_name endpoint_name namespace port")
	m.objectives = m.counter(objective+"request_total", "Requests handed on to a model server.", short+" priority")
	m.duration = m.histogram(llmd+"request_duration_seconds", "Time from the decision to the end of the answer.",
		wholeBuckets, llmdLabels)
	m.input = m.histogram(llmd+"request_input_tokens", "Prompt tokens of a request.", llmdTokenBuckets, llmdLabels)
	m.cached = m.histogram(llmd+"request_cached_tokens", "Cached prompt tokens of a request.", llmdTokenBuckets,
		llmdLabels)
	m.output = m.histogram(llmd+"request_output_tokens", "Output tokens of a request.", llmdOutputBuckets, llmdLabels)
	m.ntpot = m.histogram(llmd+"request_ntpot_seconds", "Duration by output token.", llmdNTPOTBuckets, llmdLabels)
	m.ttft = m.histogram(llmd+"request_ttft_seconds",
		"Time to the first token; of answers that are no streams the duration.", ttftBuckets, llmdLabels+" streaming")
	m.tpot = m.histogram(llmd+"request_streaming_tpot_seconds",
		"Time for each output token after the first, of streams.", tpotBuckets, llmdLabels)
	m.objectiveDuration = m.histogram(objective+"request_duration_seconds",
		"Time from the decision to the end of the answer.", wholeBuckets, short)
	m.objectiveInput = m.histogram(objective+"input_tokens", "Prompt tokens of a request.", llmdTokenBuckets, short)
	m.objectiveOutput = m.histogram(objective+"output_tokens", "Output tokens of a request.", llmdOutputBuckets, short)
	m.objectiveCached = m.histogram(objective+"prompt_cached_tokens", "Cached prompt tokens of a request.",
		llmdTokenBuckets, short)
	return m
}

// take implements meters.
func (m *llmdMeters) take(e *follow.Event, _ map[string]bool) {
	switch e.Kind {
	case journal.Decision:
		f := m.flowOf(e)
		for _, c := range m.of(f).requests {
			c.Inc()
		}
		namespace, name := path.Split(e.Names.Endpoint(e.Primary))
		m.attempts.WithLabelValues("success", f.served, name, strings.TrimSuffix(namespace, "/"), "").Inc()
	case journal.Refused:
		f := m.flowOf(e)
		m.errors.WithLabelValues(f.asked, f.served, f.fairness, f.priority, llmdCode(e.Code)).Inc()
		if e.Code == 503 {
			m.attempts.WithLabelValues("failure", f.served, "", "", "").Inc()
		}
	case journal.Completion:
		m.complete(e)
	}
}

// flowOf is the flow of an event, told apart from others as long as there are few enough.
func (m *llmdMeters) flowOf(e *follow.Event) flow {
	f := flow{
		asked: e.Names.Of(journal.ModelName, e.Asked), served: e.Names.Of(journal.ModelName, e.Model),
		fairness: e.Names.Of(journal.FairnessName, e.Fairness), priority: strconv.Itoa(int(e.Priority)),
	}
	f.asked, f.fairness = cmp.Or(f.asked, f.served), cmp.Or(f.fairness, defaultFairness)
	if len(m.flows) >= mostFlows && m.flows[f] == nil {
		f.asked, f.served, f.fairness = follow.Other, follow.Other, follow.Other
	}
	return f
}

// llmdCode is what llm-d calls an answer of its own.
func llmdCode(code uint16) string {
	switch {
	case code == 429:
		return "ResourceExhausted"
	case code == 503:
		return "ServiceUnavailable"
	case code >= 500:
		return "Internal"
	case code == 412:
		return "PreconditionFailed"
	case code >= 400:
		return "BadRequest"
	}
	return "Unknown"
}

func (m *llmdMeters) complete(e *follow.Event) {
	f := m.flowOf(e)
	if e.Code != 200 {
		m.errors.WithLabelValues(f.asked, f.served, f.fairness, f.priority, "ModelServerError").Inc()
		return
	}
	p := m.of(f)
	if e.UsageReported {
		observe(p.input, float64(e.InputTokens))
		observe(p.cached, float64(e.CachedTokens))
	}
	if e.OutputTokens > 0 {
		observe(p.output, float64(e.OutputTokens))
	}
	if e.Streamed && e.TTFTMicros > 0 {
		observe(p.ttftStreamed, seconds(e.TTFTMicros))
	}
	if e.Ended != journal.EndedWhole {
		return
	}
	observe(p.duration, seconds(e.DurationMicros))
	if e.OutputTokens > 0 {
		observe(p.ntpot, seconds(e.DurationMicros)/float64(e.OutputTokens))
	}
	if !e.Streamed {
		observe(p.ttftWhole, seconds(e.DurationMicros))
	} else if e.TTFTMicros > 0 && e.OutputTokens > 1 && e.DurationMicros > e.TTFTMicros {
		observe(p.tpot, seconds(e.DurationMicros-e.TTFTMicros)/float64(e.OutputTokens-1))
	}
}

func observe(all []prometheus.Observer, value float64) {
	for _, o := range all {
		o.Observe(value)
	}
}

// of returns the meters of a flow.
func (m *llmdMeters) of(f flow) *llmdFlow {
	if found := m.flows[f]; found != nil {
		return found
	}
	long := []string{f.asked, f.served, f.fairness, f.priority}
	both := func(a, b *prometheus.HistogramVec) []prometheus.Observer {
		return []prometheus.Observer{a.WithLabelValues(long...), b.WithLabelValues(f.asked, f.served)}
	}
	one := func(v *prometheus.HistogramVec, more ...string) []prometheus.Observer {
		return []prometheus.Observer{v.WithLabelValues(append(long[:4:4], more...)...)}
	}
	made := &llmdFlow{
		requests: []prometheus.Counter{m.requests.WithLabelValues(long...),
			m.objectives.WithLabelValues(f.asked, f.served, f.priority)},
		duration: both(m.duration, m.objectiveDuration), input: both(m.input, m.objectiveInput), output: both(m.output,
			m.objectiveOutput),
		cached: both(m.cached, m.objectiveCached), ntpot: one(m.ntpot), tpot: one(m.tpot),
		ttftStreamed: one(m.ttft, "true"), ttftWhole: one(m.ttft, "false"),
	}
	m.flows[f] = made
	return made
}

// forget implements meters.
func (m *llmdMeters) forget(endpoint string) {
	_, name := path.Split(endpoint)
	m.attempts.DeletePartialMatch(prometheus.Labels{"endpoint_name": name})
}

// llmdGauges tell how things stand, under llm-d's names.
type llmdGauges struct {
	traffic *Traffic
	pool    func() *pool.Generation
	config  *config.Metrics
}

// Describe implements prometheus.Collector.
func (llmdGauges) Describe(chan<- *prometheus.Desc) {} // unchecked

// gauges writes gauges of one name after another.
type gauges chan<- prometheus.Metric

func (out gauges) set(name, help string, value float64, labels ...string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), prometheus.GaugeValue, value,
		values...)
}

// Collect implements prometheus.Collector. It is called with the traffic locked, see Gatherer.
func (c llmdGauges) Collect(to chan<- prometheus.Metric) {
	out := gauges(to)
	for i, model := range c.traffic.models {
		n := float64(c.traffic.state.InFlight.OfModel(i))
		out.set(llmd+"request_running", "Requests for the served model that have not ended.", n,
			"model_name", model, "target_model_name", model, "fairness_id", defaultFairness, "priority",
			defaultPriority)
		out.set(objective+"running_requests", "Requests for the served model that have not ended.", n, "model_name",
			model)
	}
	for full, l := range c.traffic.loads(c.pool(), c.config) {
		name := path.Base(full)
		out.set(llmd+"ready_endpoints", "Endpoints with a fresh sample.", float64(l.fresh), "name", name)
		out.set("inference_pool_ready_pods", "Endpoints with a fresh sample.", float64(l.fresh), "name", name)
		out.set(llmd+"flow_control_pool_saturation", "Mean of the endpoints' saturations.", l.saturation/float64(l.all),
			"inference_pool", name)
		out.perEndpoint(l, name)
		if l.fresh == 0 {
			continue
		}
		for _, of := range []struct {
			name string
			*spread
		}{{"kv_cache_utilization", &l.kv}, {"queue_size", &l.queue}, {"running_requests", &l.running}} {
			out.set(llmd+"average_"+of.name, "Mean over the endpoints with a fresh sample.", of.mean(), "name", name)
			out.set("inference_pool_average_"+of.name, "Mean over the endpoints with a fresh sample.", of.mean(),
				"name", name)
			out.set(llmd+"std_dev_"+of.name, "Sample deviation over the endpoints with a fresh sample.", of.deviation(),
				"name", name)
		}
	}
}

func (out gauges) perEndpoint(l *load, name string) {
	for endpoint, n := range l.queueOf {
		out.set(llmd+"per_endpoint_queue_size", "Waiting requests.", float64(n), "name", name, "model_server_endpoint",
			path.Base(endpoint))
		out.set("inference_pool_per_pod_queue_size", "Waiting requests.", float64(n), "name", name, "model_server_pod",
			path.Base(endpoint))
	}
	inFlight := func(what, help, endpoint string, n float64) {
		namespace, pod := path.Split(endpoint)
		out.set(llmd+"inflight_"+what, help, n, "endpoint_name", pod, "namespace",
			strings.TrimSuffix(namespace, "/"), "producer_name", "inflight-load-producer", "fairness_id",
			defaultFairness, "priority", defaultPriority)
	}
	for endpoint, n := range l.inFlightOf {
		inFlight("requests", "Requests that were sent to the endpoint and have not ended.", endpoint, float64(n))
	}
	for endpoint, n := range l.tokensOf {
		inFlight("tokens", "Tokens that requests have the endpoint compute and that are not known to be computed.",
			endpoint, float64(n))
	}
}
