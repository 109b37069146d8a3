package filters

import (
	"math"
	"strconv"

	"github.com/pintle-dev/pintle/scoring"
)

// utilizationFilter keeps endpoints that are within limits of load: every condition must hold.
//
// Units: requests for active-requests, running-requests and waiting-queue; the used part of the KV cache, 0 to 1, for
// kv-cache-utilization. Active requests are those in flight, as all of Envoy's workers count them together.
//
// Missing data: a metric that is not known, or too old, counts as 0 and passes.
//
// Source: llm-d, utilization-filter.
type utilizationFilter struct {
	conditions []condition
	fallback   bool
}

type utilizationFilterParameters struct {
	// Conditions are the limits: metric (active-requests, running-requests, waiting-queue, kv-cache-utilization) and
	// maxValue, the greatest value that passes. Required.
	Conditions []condition
	// FallbackOnEmpty keeps all endpoints when none passes.
	FallbackOnEmpty bool
	// InFlightLoadProducerName names the inflight-load-producer for active-requests. Empty: the only one.
	InFlightLoadProducerName string
}

type condition struct {
	metric string
	most   float64
}

// The metrics of a condition.
const (
	metricActive  = "active-requests"
	metricRunning = "running-requests"
	metricWaiting = "waiting-queue"
	metricKV      = "kv-cache-utilization"
)

// NewUtilizationFilter builds a utilization-filter.
func NewUtilizationFilter(b *scoring.Builder) scoring.Plugin {
	p := utilizationFilterParameters{}
	active := false
	for _, o := range b.Objects("conditions") {
		c := condition{most: -1}
		o.OneOf("metric", &c.metric, metricActive, metricRunning, metricWaiting, metricKV)
		most := math.MaxFloat64
		if c.metric == metricKV {
			most = 1
		}
		o.Float("maxValue", &c.most, 0, most)
		o.Close()
		if !o.Has("metric") {
			o.Missing("metric", "name what is bounded")
		}
		if !o.Has("maxValue") {
			o.Missing("maxValue", "give the greatest value that passes")
		}
		active = active || c.metric == metricActive
		p.Conditions = append(p.Conditions, c)
	}
	b.Bool("fallbackOnEmpty", &p.FallbackOnEmpty)
	b.String("inFlightLoadProducerName", &p.InFlightLoadProducerName)
	if len(p.Conditions) == 0 {
		b.Missing("conditions", "give at least one, such as metric: "+strconv.Quote(metricWaiting)+" with maxValue: 10")
	}
	if active {
		b.NeedLoad("inFlightLoadProducerName", p.InFlightLoadProducerName)
	}
	return utilizationFilter{p.Conditions, p.FallbackOnEmpty}
}

// Prefers implements scoring.Preference.
func (f utilizationFilter) Prefers() bool { return f.fallback }

// Select implements scoring.GroupFilter.
func (f utilizationFilter) Select(c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	return selectPassing(f, c, candidates)
}

func (f utilizationFilter) passes(c *scoring.Cycle, e *scoring.Endpoint) bool {
	for i := range f.conditions {
		if valueOf(c, e, f.conditions[i].metric) > f.conditions[i].most {
			return false
		}
	}
	return true
}

func valueOf(c *scoring.Cycle, e *scoring.Endpoint, metric string) float64 {
	switch {
	case metric == metricActive:
		return float64(c.InFlight(e))
	case !c.Fresh(e):
		return 0
	case metric == metricRunning:
		return float64(c.Running(e))
	case metric == metricWaiting:
		return float64(c.Waiting(e))
	}
	return e.Metrics.KVCacheUsage
}
