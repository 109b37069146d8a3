package traffic

import (
	"cmp"
	"maps"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
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
	// predictor is the plug-in that predictions are told to be of: all go by the same.
	predictor = "predicted-latency-producer"
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
	objectiveCached, predictedTTFT, predictedTPOT      *prometheus.HistogramVec
	// flows are those that are told apart, nil for one of which there are refusals alone.
	flows map[flow]*llmdFlow
	// attempted counts decisions by the model that was served and the endpoint. decided is the flow of the last one.
	attempted map[attempt]prometheus.Counter
	decided   *llmdFlow
}

type attempt struct{ served, endpoint string }

// flow is what llm-d tells requests apart by: the model asked for, the one that was served, and the class.
type flow struct{ asked, served, fairness, priority string }

// mostFlows bounds the flows that are told apart; beyond it names are other.
const mostFlows = 1000

// llmdFlow are the meters of a flow.
type llmdFlow struct {
	requests                                     []prometheus.Counter
	duration, input, cached, output, ntpot, tpot []prometheus.Observer
	ttftStreamed, ttftWhole                      []prometheus.Observer
	predictedTTFT, predictedTPOT                 []prometheus.Observer
}

func newLLMDMeters() *llmdMeters {
	m := &llmdMeters{flows: map[flow]*llmdFlow{}, attempted: map[attempt]prometheus.Counter{}}
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
	m.predictedTTFT = m.histogram(llmd+"request_predicted_ttft_seconds",
		"Time to the first token as it was predicted at the decision.", ttftBuckets, short+" plugin_name plugin_type")
	m.predictedTPOT = m.histogram(llmd+"request_predicted_tpot_seconds",
		"Time for each output token after the first, as it was predicted at the decision.", tpotBuckets,
		short+" plugin_name plugin_type")
	return m
}

// take implements meters.
func (m *llmdMeters) take(e *follow.Event, known map[string]bool) {
	switch e.Kind {
	case journal.Decision:
		f := m.flowOf(e)
		m.decided = m.of(f)
		for _, c := range m.decided.requests {
			c.Inc()
		}
		m.attempt(attempt{f.served, placeOf(e, known)}).Inc()
	case journal.Refused:
		f := m.flowOf(e)
		m.errors.WithLabelValues(f.asked, f.served, f.fairness, f.priority, llmdCode(e.Code)).Inc()
		if unscheduled[e.Reason] {
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
	if _, known := m.flows[f]; known {
		return f
	}
	if len(m.flows) >= mostFlows {
		f.asked, f.served, f.fairness = follow.Other, follow.Other, follow.Other
		return f
	}
	m.flows[f] = nil
	return f
}

// unscheduled are the reasons for which no endpoint was chosen, whatever their status is: in llm-d's dialect filters
// that leave none are answered with 429, and what holds too much with 503.
var unscheduled = map[uint64]bool{
	journal.HashName(scoring.NoEndpoints.Reason): true, journal.HashName(scoring.FilteredOut.Reason): true,
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
	if e.Code == 0 {
		return // the client left before there was an answer: no server's error
	}
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
	byPredictor := func(v *prometheus.HistogramVec) []prometheus.Observer {
		return []prometheus.Observer{v.WithLabelValues(f.asked, f.served, predictor, predictor)}
	}
	made := &llmdFlow{
		requests: []prometheus.Counter{m.requests.WithLabelValues(long...),
			m.objectives.WithLabelValues(f.asked, f.served, f.priority)},
		duration: both(m.duration, m.objectiveDuration), input: both(m.input, m.objectiveInput), output: both(m.output,
			m.objectiveOutput),
		cached: both(m.cached, m.objectiveCached), ntpot: one(m.ntpot), tpot: one(m.tpot),
		ttftStreamed: one(m.ttft, "true"), ttftWhole: one(m.ttft, "false"),
		predictedTTFT: byPredictor(m.predictedTTFT), predictedTPOT: byPredictor(m.predictedTPOT),
	}
	m.flows[f] = made
	return made
}

// attempt returns the counter of decisions for an endpoint, told apart from others as long as there are few enough.
func (m *llmdMeters) attempt(a attempt) prometheus.Counter {
	if found := m.attempted[a]; found != nil {
		return found
	}
	if others := (attempt{follow.Other, follow.Other}); len(m.attempted) >= mostRoutes && a != others {
		return m.attempt(others)
	}
	namespace, name := namespaced(a.endpoint)
	made := m.attempts.WithLabelValues("success", a.served, name, namespace, "")
	m.attempted[a] = made
	return made
}

// namespaced cuts an endpoint's name as the labels have it. A slash at its beginning is part of its name: without it
// there would be two of one namespace and name.
func namespaced(endpoint string) (namespace, name string) {
	at := strings.LastIndexByte(endpoint, '/')
	if at <= 0 {
		return "", endpoint
	}
	return endpoint[:at], endpoint[at+1:]
}

// predicted counts what was predicted for the decision that was taken last, if anything was.
func (m *llmdMeters) predicted(e *follow.Event, flights *state.InFlight) {
	p := m.decided
	ttft, tpot := flights.Predicted(e.Instance, e.Lease)
	if ttft > 0 {
		observe(p.predictedTTFT, ttft)
	}
	if tpot > 0 {
		observe(p.predictedTPOT, tpot)
	}
}

// forget implements meters.
func (m *llmdMeters) forget(endpoint string) {
	namespace, name := namespaced(endpoint)
	m.attempts.DeletePartialMatch(prometheus.Labels{"endpoint_name": name, "namespace": namespace})
	maps.DeleteFunc(m.attempted, func(a attempt, _ prometheus.Counter) bool { return a.endpoint == endpoint })
}
