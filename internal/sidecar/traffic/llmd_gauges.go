package traffic

import (
	"iter"
	"maps"
	"path"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

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
	for model, n := range c.traffic.inFlight() {
		out.set(llmd+"request_running", "Requests for the served model that have not ended.", float64(n),
			"model_name", model, "target_model_name", model, "fairness_id", defaultFairness, "priority",
			defaultPriority)
		out.set(objective+"running_requests", "Requests for the served model that have not ended.", float64(n),
			"model_name", model)
	}
	loads := c.traffic.loads(c.pool(), c.config)
	short := shortNames(maps.Keys(loads))
	for full, l := range loads {
		name := short[full]
		out.set(llmd+"ready_endpoints", "Endpoints with a fresh sample.", float64(l.fresh), "name", name)
		out.set("inference_pool_ready_pods", "Endpoints with a fresh sample.", float64(l.fresh), "name", name)
		out.set(llmd+"flow_control_pool_saturation", "Mean of the endpoints' saturations.", l.saturation(),
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

// shortNames are names without their namespaces, as llm-d has them, where that leaves one apart from all others. The
// others stay whole: two of a kind under one label are no page of metrics, and what is a pool's is no other one's.
func shortNames(all iter.Seq[string]) map[string]string {
	alike, short := map[string]int{}, map[string]string{}
	for name := range all {
		alike[path.Base(name)]++
		short[name] = path.Base(name)
	}
	for name, base := range short {
		if alike[base] > 1 {
			short[name] = name
		}
	}
	return short
}

func (out gauges) perEndpoint(l *load, name string) {
	short := shortNames(slices.Values(l.endpoints))
	for endpoint, n := range l.queueOf {
		out.set(llmd+"per_endpoint_queue_size", "Waiting requests.", float64(n), "name", name, "model_server_endpoint",
			short[endpoint])
		out.set("inference_pool_per_pod_queue_size", "Waiting requests.", float64(n), "name", name, "model_server_pod",
			short[endpoint])
	}
	inFlight := func(what, help, endpoint string, n float64) {
		namespace, pod := namespaced(endpoint)
		out.set(llmd+"inflight_"+what, help, n, "endpoint_name", pod, "namespace", namespace, "producer_name",
			"inflight-load-producer", "fairness_id", defaultFairness, "priority", defaultPriority)
	}
	for endpoint, n := range l.inFlightOf {
		inFlight("requests", "Requests that were sent to the endpoint and have not ended.", endpoint, float64(n))
	}
	for endpoint, n := range l.tokensOf {
		inFlight("tokens", "Tokens that requests have the endpoint compute and that are not known to be computed.",
			endpoint, float64(n))
	}
}
