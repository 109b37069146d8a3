package filters

import (
	"math"
	"time"

	"github.com/pintle-dev/pintle/scoring"
)

// utilizationDetector says when the pool is saturated, so that requests with a priority below 0 are refused with status
// 429. flowControl.saturationDetector or saturationDetector names it; where neither names one, the plug-in called
// utilization-detector is used, and without it one with the defaults. In a scheduling profile it keeps the endpoints
// that are below the thresholds.
//
// Formula: the pool is saturated when the mean over the endpoints of max(waiting requests / queueDepthThreshold, KV
// cache usage / kvCacheUtilThreshold) reaches 1. As a filter it keeps an endpoint when waiting requests <
// queueDepthThreshold x (1 + headroom), and KV cache usage likewise; when none is left, all are kept.
//
// Missing data: an endpoint whose metrics are not known, or too old, counts as saturated, 1; as a filter it removes it.
//
// Source: llm-d, utilization-detector.
type utilizationDetector struct {
	scoring.Utilization
	headroom float64
}

type utilizationDetectorParameters struct {
	// QueueDepthThreshold is the number of waiting requests at which an endpoint is saturated.
	QueueDepthThreshold float64
	// KVCacheUtilThreshold is the used part of the KV cache at which an endpoint is saturated.
	KVCacheUtilThreshold float64
	// MetricsStalenessThreshold is the age from which metrics are too old to count.
	MetricsStalenessThreshold time.Duration
	// Headroom raises both thresholds of the filter by this part of them.
	Headroom float64
}

// NewUtilizationDetector builds a utilization-detector.
func NewUtilizationDetector(b *scoring.Builder) scoring.Plugin {
	p := utilizationDetectorParameters{}
	d := &utilizationDetector{Utilization: scoring.ReadUtilization(b.Object)}
	b.Float("headroom", &p.Headroom, 0, math.MaxInt32)
	d.headroom = p.Headroom
	return d
}

// Thresholds implements scoring.SaturationDetector.
func (d *utilizationDetector) Thresholds() scoring.Utilization { return d.Utilization }

// Prefers implements scoring.Preference.
func (*utilizationDetector) Prefers() bool { return true }

// Select implements scoring.GroupFilter.
func (d *utilizationDetector) Select(c *scoring.Cycle, candidates []*scoring.Endpoint) int {
	return selectPassing(d, c, candidates)
}

func (d *utilizationDetector) passes(c *scoring.Cycle, e *scoring.Endpoint) bool {
	return d.Known(c, e) && d.Of(c, e) < 1+d.headroom
}
