package traffic

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

const (
	// mostRoutes bounds the triples of model, endpoint and status that are counted apart. Beyond it the model and the
	// endpoint are other.
	mostRoutes = 4096
	// mostModels bounds the models whose times are told apart, which have histograms each. Beyond it they are other:
	// an Envoy tells 256 names, and one that is started anew may tell others.
	mostModels = 1000
)

// meters count what came of requests under a style's names.
type meters interface {
	prometheus.Collector
	// take counts an event. Endpoints that are not known are other.
	take(e *follow.Event, known map[string]bool)
	// forget drops the series of an endpoint.
	forget(endpoint string)
}

// ownMeters are the meters under Pintle's own names. Their series are kept at hand, by what the events say, as looking
// them up by labels would cost more than all else.
type ownMeters struct {
	collectors

	requests, broken, refusals        *prometheus.CounterVec
	input, output, cached, unreported *prometheus.CounterVec
	predicted, compared, missed       *prometheus.CounterVec
	ttft, tpot, duration              *prometheus.HistogramVec

	routes  map[route]*routeMeters
	byModel map[string]*modelMeters
}

// collectors are several as one.
type collectors struct{ all []prometheus.Collector }

// Describe implements prometheus.Collector.
func (c *collectors) Describe(out chan<- *prometheus.Desc) {
	for _, one := range c.all {
		one.Describe(out)
	}
}

// Collect implements prometheus.Collector.
func (c *collectors) Collect(out chan<- prometheus.Metric) {
	for _, one := range c.all {
		one.Collect(out)
	}
}

type route struct {
	model, endpoint string
	code            uint16
}

type routeMeters struct {
	requests, broken, input, output, cached, unreported prometheus.Counter
}

type modelMeters struct {
	ttft, tpot, duration        prometheus.Observer
	predicted, compared, missed prometheus.Counter
}

// The classic buckets, in seconds: those of the endpoint pickers that people have dashboards for.
var (
	ttftBuckets = []float64{.005, .025, .05, .1, .2, .4, .6, .8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
		60, 120}
	tpotBuckets  = []float64{.0005, .00205, .005, .01, .02, .04, .06, .08, .1, .125, .15, .2, .3, .4, .5, .6, .8, 1, 2}
	wholeBuckets = []float64{.005, .025, .05, .1, .2, .4, .6, .8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
		60, 120, 180, 240, 300, 360,
		480, 600, 900, 1200, 1800, 2700, 3600}
)

// The native histograms: each bucket a tenth wider than the one before it.
const (
	nativeFactor  = 1.1
	nativeBuckets = 160
	nativeReset   = time.Hour
)

func newOwnMeters() *ownMeters {
	m := &ownMeters{routes: map[route]*routeMeters{}, byModel: map[string]*modelMeters{}}
	const place = "model endpoint"
	m.requests = m.counter("pintle_requests_total",
		"Requests that were routed and have ended, by the status that the client got; none is a client that left "+
			"before.", place+" status")
	m.broken = m.counter("pintle_broken_answers_total",
		"Answers with a status of 2xx that broke off: their server ended them, or Envoy as they took too long.", place)
	m.refusals = m.counter("pintle_refusals_total", "Requests that were not routed, by x-pintle-reason.", "reason")
	m.input = m.counter("pintle_input_tokens_total", "Prompt tokens that servers reported.", place)
	m.output = m.counter("pintle_output_tokens_total", "Output tokens that servers reported.", place)
	m.cached = m.counter("pintle_cached_tokens_total",
		"Prompt tokens that servers reported to have had in their caches.", place)
	m.unreported = m.counter("pintle_unreported_output_tokens_total",
		"Output tokens of streams without a report, by their events.", place)
	m.predicted = m.counter("pintle_predicted_cached_tokens_total",
		"Prompt tokens that the server was thought to have in its cache when it was chosen, of requests whose "+
			"server reported them.", "model")
	m.compared = m.counter("pintle_compared_cached_tokens_total",
		"Prompt tokens that servers reported to have had in their caches, of requests for which that was predicted.",
		"model")
	m.missed = m.counter("pintle_mispredicted_cached_tokens_total",
		"By how many tokens predicted and reported cached tokens differed, either way, request by request.", "model")
	m.ttft = m.histogram("pintle_time_to_first_token_seconds",
		"Time from the decision to the first byte of a streamed answer.", ttftBuckets, "model")
	m.tpot = m.histogram("pintle_time_per_output_token_seconds",
		"Time for each output token after the first, of streamed answers.", tpotBuckets, "model")
	m.duration = m.histogram("pintle_request_duration_seconds", "Time from the decision to the end of a whole answer.",
		wholeBuckets, "model")
	return m
}

// counter adds a counter with labels, separated by spaces.
func (c *collectors) counter(name, help, labels string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, strings.Fields(labels))
	c.all = append(c.all, v)
	return v
}

// histogram adds a histogram, classic and native.
func (c *collectors) histogram(name, help string, buckets []float64, labels string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeBuckets,
		NativeHistogramMinResetDuration: nativeReset,
	}, strings.Fields(labels))
	c.all = append(c.all, v)
	return v
}

// take implements meters.
func (m *ownMeters) take(e *follow.Event, known map[string]bool) {
	switch e.Kind {
	case journal.Refused:
		m.refusals.WithLabelValues(e.Names.Of(journal.ReasonName, e.Reason)).Inc()
	case journal.Completion:
		m.complete(e, known)
	}
}

func (m *ownMeters) complete(e *follow.Event, known map[string]bool) {
	model := e.Names.Of(journal.ModelName, e.Model)
	r := m.route(route{model, placeOf(e, known), e.Code})
	r.requests.Inc()
	if e.UsageReported {
		r.input.Add(float64(e.InputTokens))
		r.output.Add(float64(e.OutputTokens))
		r.cached.Add(float64(e.CachedTokens))
	} else {
		r.unreported.Add(float64(e.OutputTokens))
	}
	if e.Code < 200 || e.Code > 299 {
		return
	}
	if e.Ended == journal.EndedReset || e.Ended == journal.EndedTimeout {
		r.broken.Inc()
	}
	n := m.model(model)
	if e.Predicted && e.CachedReported {
		n.predicted.Add(float64(e.PredictedTokens))
		n.compared.Add(float64(e.CachedTokens))
		n.missed.Add(float64(max(e.PredictedTokens, e.CachedTokens) - min(e.PredictedTokens, e.CachedTokens)))
	}
	if e.Streamed && e.TTFTMicros > 0 {
		n.ttft.Observe(seconds(e.TTFTMicros))
	}
	if e.Ended != journal.EndedWhole {
		return
	}
	n.duration.Observe(seconds(e.DurationMicros))
	if e.Streamed && e.TTFTMicros > 0 && e.OutputTokens > 1 && e.DurationMicros > e.TTFTMicros {
		n.tpot.Observe(seconds(e.DurationMicros-e.TTFTMicros) / float64(e.OutputTokens-1))
	}
}

func seconds(micros uint32) float64 { return float64(micros) / 1e6 }

// placeOf is the name of the endpoint that an event is about, if that is known.
func placeOf(e *follow.Event, known map[string]bool) string {
	if name := e.Names.Endpoint(e.Primary); known[name] {
		return name
	}
	return follow.Other
}

// route returns the meters of a model, an endpoint and a status.
func (m *ownMeters) route(r route) *routeMeters {
	if found := m.routes[r]; found != nil {
		return found
	}
	if len(m.routes) >= mostRoutes {
		r.model, r.endpoint = follow.Other, follow.Other
		if found := m.routes[r]; found != nil {
			return found
		}
	}
	made := &routeMeters{
		requests: m.requests.WithLabelValues(r.model, r.endpoint, statusText(r.code)),
		broken:   m.broken.WithLabelValues(r.model, r.endpoint), // there before the first, whose increase it shows
		input:    m.input.WithLabelValues(r.model, r.endpoint), output: m.output.WithLabelValues(r.model, r.endpoint),
		cached: m.cached.WithLabelValues(r.model, r.endpoint), unreported: m.unreported.WithLabelValues(r.model,
			r.endpoint),
	}
	m.routes[r] = made
	return made
}

// statusTexts are those of the usual statuses.
var statusTexts = func() (texts [600]string) {
	for code := range texts {
		texts[code] = strconv.Itoa(code)
	}
	texts[0] = "none"
	return texts
}()

// statusText is a status as metrics and the status page have it.
func statusText(code uint16) string {
	if int(code) < len(statusTexts) {
		return statusTexts[code]
	}
	return strconv.Itoa(int(code))
}

func (m *ownMeters) model(name string) *modelMeters {
	if found := m.byModel[name]; found != nil {
		return found
	}
	if len(m.byModel) >= mostModels && name != follow.Other {
		return m.model(follow.Other)
	}
	made := &modelMeters{
		ttft: m.ttft.WithLabelValues(name), tpot: m.tpot.WithLabelValues(name),
		duration:  m.duration.WithLabelValues(name),
		predicted: m.predicted.WithLabelValues(name), compared: m.compared.WithLabelValues(name),
		missed: m.missed.WithLabelValues(name),
	}
	m.byModel[name] = made
	return made
}

// forget implements meters.
func (m *ownMeters) forget(endpoint string) {
	for _, v := range []*prometheus.CounterVec{m.requests, m.broken, m.input, m.output, m.cached, m.unreported} {
		v.DeletePartialMatch(prometheus.Labels{"endpoint": endpoint})
	}
	for r := range m.routes {
		if r.endpoint == endpoint {
			delete(m.routes, r)
		}
	}
}
