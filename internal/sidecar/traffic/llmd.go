package traffic

import (
	"path"
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

// llmdLabels are those of every request. Pintle's journal has neither a fairness id nor a priority: the labels have
// their defaults.
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
	pairs                                              map[pair]*llmdPair
}

// pair is a model asked for and the one that was served.
type pair struct{ asked, served string }

// mostPairs bounds the pairs that are told apart; beyond it both are other.
const mostPairs = 1000

// llmdPair are the meters of a pair.
type llmdPair struct {
	requests                                     []prometheus.Counter
	duration, input, cached, output, ntpot, tpot []prometheus.Observer
	ttftStreamed, ttftWhole                      []prometheus.Observer
}

func newLLMDMeters() *llmdMeters {
	m := &llmdMeters{pairs: map[pair]*llmdPair{}}
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
		asked, served := modelsOf(e)
		for _, c := range m.pair(asked, served).requests {
			c.Inc()
		}
		namespace, name := path.Split(e.Names.Endpoint(e.Primary))
		m.attempts.WithLabelValues("success", served, name, strings.TrimSuffix(namespace, "/"), "").Inc()
	case journal.Refused:
		asked, served := modelsOf(e)
		m.errors.WithLabelValues(asked, served, defaultFairness, defaultPriority, llmdCode(e.Code)).Inc()
		if e.Code == 503 {
			m.attempts.WithLabelValues("failure", served, "", "", "").Inc()
		}
	case journal.Completion:
		m.complete(e)
	}
}

func modelsOf(e *follow.Event) (asked, served string) {
	served = e.Names.Of(journal.ModelName, e.Model)
	if asked = e.Names.Of(journal.ModelName, e.Asked); asked == "" {
		asked = served
	}
	return asked, served
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
	asked, served := modelsOf(e)
	if e.Code != 200 {
		m.errors.WithLabelValues(asked, served, defaultFairness, defaultPriority, "ModelServerError").Inc()
		return
	}
	p := m.pair(asked, served)
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

func (m *llmdMeters) pair(asked, served string) *llmdPair {
	key := pair{asked, served}
	if len(m.pairs) >= mostPairs && m.pairs[key] == nil {
		key = pair{follow.Other, follow.Other}
	}
	if found := m.pairs[key]; found != nil {
		return found
	}
	long := []string{key.asked, key.served, defaultFairness, defaultPriority}
	both := func(a, b *prometheus.HistogramVec) []prometheus.Observer {
		return []prometheus.Observer{a.WithLabelValues(long...), b.WithLabelValues(key.asked, key.served)}
	}
	one := func(v *prometheus.HistogramVec, more ...string) []prometheus.Observer {
		return []prometheus.Observer{v.WithLabelValues(append(long[:4:4], more...)...)}
	}
	made := &llmdPair{
		requests: []prometheus.Counter{m.requests.WithLabelValues(long...),
			m.objectives.WithLabelValues(key.asked, key.served, defaultPriority)},
		duration: both(m.duration, m.objectiveDuration), input: both(m.input, m.objectiveInput), output: both(m.output,
			m.objectiveOutput),
		cached: both(m.cached, m.objectiveCached), ntpot: one(m.ntpot), tpot: one(m.tpot),
		ttftStreamed: one(m.ttft, "true"), ttftWhole: one(m.ttft, "false"),
	}
	m.pairs[key] = made
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
	for endpoint, n := range l.inFlightOf {
		namespace, pod := path.Split(endpoint)
		out.set(llmd+"inflight_requests", "Requests that were sent to the endpoint and have not ended.", float64(n),
			"endpoint_name", pod,
			"namespace", strings.TrimSuffix(namespace,
				"/"), "producer_name", "inflight-load-producer", "fairness_id", defaultFairness, "priority",
			defaultPriority)
	}
}
