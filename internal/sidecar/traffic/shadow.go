package traffic

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// shadowMeters count how a shadow's decisions differ from those that are acted upon. They have Pintle's names in every
// style.
type shadowMeters struct {
	collectors
	agreed, differed, refused, admitted prometheus.Counter
	cached, actingCached                prometheus.Counter
	load, actingLoad                    prometheus.Counter
}

func newShadowMeters() *shadowMeters {
	m := &shadowMeters{}
	decisions := m.counter("pintle_shadow_decisions_total",
		"Requests that a shadow decided, too: agreed, to the same endpoint or refused by both; differed, to another "+
			"one; refused or admitted, by the shadow alone.", "result")
	cached := m.counter("pintle_shadow_cached_tokens_total",
		"Prompt tokens thought to be cached where the shadow would have sent requests and where they were sent, of "+
			"those that neither refused.", "plan")
	load := m.counter("pintle_shadow_load_total",
		"Requests that waited or ran where the shadow would have sent requests and where they were sent, of those "+
			"that neither refused.", "plan")
	m.agreed, m.differed = decisions.WithLabelValues("agreed"), decisions.WithLabelValues("differed")
	m.refused, m.admitted = decisions.WithLabelValues("refused"), decisions.WithLabelValues("admitted")
	m.cached, m.actingCached = cached.WithLabelValues("shadow"), cached.WithLabelValues("acting")
	m.load, m.actingLoad = load.WithLabelValues("shadow"), load.WithLabelValues("acting")
	return m
}

func (m *shadowMeters) take(e *follow.Event) {
	x := &e.Shadowed
	if !x.Decided {
		return
	}
	refused := e.Kind == journal.Refused
	switch {
	case refused == (x.Primary == 0) && (refused || x.Primary == e.Primary):
		m.agreed.Inc()
	case refused:
		m.admitted.Inc()
	case x.Primary == 0:
		m.refused.Inc()
	default:
		m.differed.Inc()
	}
	m.cached.Add(float64(x.Cached))
	m.actingCached.Add(float64(x.ActingCached))
	m.load.Add(float64(x.Load))
	m.actingLoad.Add(float64(x.ActingLoad))
}
