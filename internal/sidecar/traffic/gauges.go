package traffic

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
)

// freshWithin is how old a sample may be to count in the means of its pool.
const freshWithin = 2 * time.Second

// load is what a pool's endpoints come to.
type load struct {
	// fresh endpoints have a sample that is young enough, all of all endpoints.
	fresh, all int
	// saturations are those of the endpoints in sum: the larger of the queue and the KV cache usage, each divided by
	// its threshold; 1 without a fresh sample.
	saturations        float64
	queue, running, kv spread
	// endpoints are all of them.
	endpoints           []string
	queueOf, inFlightOf map[string]int
	// tokensOf is empty while no decision tells of tokens to compute.
	tokensOf map[string]int64
}

// spread is the mean of some numbers and their sample deviation.
type spread struct{ n, sum, squares float64 }

func (s *spread) add(x float64) {
	s.n++
	s.sum += x
	s.squares += x * x
}

func (s *spread) mean() float64 { return s.sum / s.n }

func (s *spread) deviation() float64 {
	if s.n < 2 {
		return 0
	}
	return math.Sqrt(max(0, (s.squares-s.sum*s.sum/s.n)/(s.n-1)))
}

func newLoad() *load {
	return &load{queueOf: map[string]int{}, inFlightOf: map[string]int{}, tokensOf: map[string]int64{}}
}

// saturation is the mean of the endpoints', 1 of a pool without any.
func (l *load) saturation() float64 {
	if l.all == 0 {
		return 1
	}
	return l.saturations / float64(l.all)
}

// loads are those of the pools by name.
func (t *Traffic) loads(g *pool.Generation, c *config.Metrics) map[string]*load {
	all := map[string]*load{}
	if g == nil {
		return all
	}
	for _, name := range g.Pools {
		all[name] = newLoad()
	}
	for _, target := range g.Targets {
		l := all[target.Pool]
		if l == nil {
			l = newLoad()
			all[target.Pool] = l
		}
		l.add(target, c, t.now())
		if index := t.index(target.Name); index >= 0 && !t.blind {
			l.inFlightOf[target.Name] = t.state.InFlight.InFlight(index)
			if t.loadsTold {
				l.tokensOf[target.Name] = t.state.InFlight.Tokens(index)
			}
		}
	}
	return all
}

func (l *load) add(target *pool.Target, c *config.Metrics, now time.Time) {
	v := target.Now()
	l.endpoints = append(l.endpoints, target.Name)
	l.all++
	if v.Sampled.IsZero() || now.Sub(v.Sampled) > freshWithin {
		l.saturations++
		return
	}
	l.fresh++
	s := &v.Sample
	l.saturations += max(float64(s.WaitingRequests)/float64(c.QueueDepth), s.KVCacheUsage/c.KVUsage)
	l.queue.add(float64(s.WaitingRequests))
	l.running.add(float64(s.RunningRequests))
	l.kv.add(s.KVCacheUsage)
	l.queueOf[target.Name] = int(s.WaitingRequests)
}

// ownGauges tell how things stand, under Pintle's own names.
type ownGauges struct {
	traffic *Traffic
	pool    func() *pool.Generation
	config  *config.Metrics
}

var (
	inFlightDesc = prometheus.NewDesc("pintle_requests_in_flight",
		"Requests that were sent to the endpoint and have not ended.", []string{"endpoint"}, nil)
	tokensDesc = prometheus.NewDesc("pintle_tokens_in_flight",
		"Prompt tokens that requests have the endpoint compute and that are not known to be computed.",
		[]string{"endpoint"}, nil)
	ofModelDesc = prometheus.NewDesc("pintle_model_requests_in_flight", "Requests for the model that have not ended.",
		[]string{"model"}, nil)
	readyDesc = prometheus.NewDesc("pintle_pool_ready_endpoints", "Endpoints that were sampled within 2 s.",
		[]string{"pool"}, nil)
	saturated = prometheus.NewDesc("pintle_pool_saturation",
		"Mean of the endpoints' saturations: the larger of queue and KV cache usage, each divided by its "+
			"threshold; 1 without a fresh sample, and of a pool without endpoints.", []string{"pool"}, nil)
	queueDesc = prometheus.NewDesc("pintle_pool_queue_size_mean",
		"Mean of the waiting requests of endpoints with a fresh sample.", []string{"pool"}, nil)
	runningDesc = prometheus.NewDesc("pintle_pool_running_requests_mean",
		"Mean of the running requests of endpoints with a fresh sample.", []string{"pool"}, nil)
	kvDesc = prometheus.NewDesc("pintle_pool_kv_cache_usage_mean",
		"Mean KV cache usage of endpoints with a fresh sample, 0 to 1.", []string{"pool"}, nil)
)

// Describe implements prometheus.Collector.
func (c ownGauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{inFlightDesc, tokensDesc, ofModelDesc, readyDesc, saturated, queueDesc,
		runningDesc, kvDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector. It is called with the traffic locked, see Gatherer.
func (c ownGauges) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, label string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, label)
	}
	for model, n := range c.traffic.inFlight() {
		gauge(ofModelDesc, float64(n), model)
	}
	for name, l := range c.traffic.loads(c.pool(), c.config) {
		for endpoint, n := range l.inFlightOf {
			gauge(inFlightDesc, float64(n), endpoint)
		}
		for endpoint, n := range l.tokensOf {
			gauge(tokensDesc, float64(n), endpoint)
		}
		gauge(readyDesc, float64(l.fresh), name)
		gauge(saturated, l.saturation(), name)
		if l.fresh > 0 {
			gauge(queueDesc, l.queue.mean(), name)
			gauge(runningDesc, l.running.mean(), name)
			gauge(kvDesc, l.kv.mean(), name)
		}
	}
}
