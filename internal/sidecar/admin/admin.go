// Package admin answers questions about the sidecar over HTTP: health, endpoints, metrics, and the status page.
package admin

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/kvevents"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
	"github.com/pintle-dev/pintle/internal/sidecar/replicate"
	"github.com/pintle-dev/pintle/internal/sidecar/responses"
	"github.com/pintle-dev/pintle/internal/sidecar/traffic"
	"github.com/pintle-dev/pintle/snapshot"
	"github.com/pintle-dev/pintle/state"
)

// healthyWithin is how recent the last accepted push must be.
const healthyWithin = 5 * time.Second

// Admin answers.
type Admin struct {
	Pool    *pool.Pool
	Pushers []*push.Pusher
	Metrics *metrics.Metrics
	// Config is what is in force.
	Config *config.Config
	// Recorder has what was logged of late.
	Recorder *Recorder
	// Log is told what is wrong with pages.
	Log *slog.Logger
	// Traffic is what following the Envoys found.
	Traffic *traffic.Traffic
	// Replication are those by which the Envoys share what they know with other gateways.
	Replication []*replicate.Member
	// Store keeps conversations; nil when there is none.
	Store *responses.Service
	// Caches has what the servers say of theirs; nil where nobody listens to that.
	Caches *kvevents.Subscriber
}

// Handler serves all pages.
func (a *Admin) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez",
		func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, healthBody{Status: "ok"}) })
	mux.HandleFunc("GET /healthz", a.health)
	mux.HandleFunc("GET /endpoints", a.endpoints)
	mux.HandleFunc("GET /status", a.status)
	mux.HandleFunc("GET /status/events", a.events)
	mux.HandleFunc("GET /decisions", a.decisions)
	mux.HandleFunc("GET /decisions/{id}", a.decision)
	mux.HandleFunc("GET /plots", a.plots)
	mux.Handle("GET /", page())
	mux.Handle("GET /metrics", a.metrics())
	if a.Config.Profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index) // heap, goroutine and others by their names
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	}
	return mux
}

// Public serves what probes and Prometheus need, where others may come by, too: no names of endpoints but in metrics,
// no configuration.
func (a *Admin) Public() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez",
		func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, healthBody{Status: "ok"}) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		body := a.healthNow()
		writeJSON(w, body.code(), healthBody{Status: body.Status})
	})
	mux.Handle("GET /metrics", a.metrics())
	return mux
}

// metrics serves what can be told. A series that cannot, as there are two of its name and labels, is missing from the
// page, and does not take all others with it: names are made of what clients and clusters say, and whoever scales by
// the page or is woken by it needs the rest. Pages that lack one are counted on the page.
func (a *Admin) metrics() http.Handler {
	return promhttp.HandlerFor(a.Metrics.Gatherer, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: &firstFault{log: a.Log}, Registry: a.Metrics.Registry,
	})
}

// firstFault logs the first mistake in metrics: each page would tell of it again.
type firstFault struct {
	log  *slog.Logger
	once sync.Once
}

// Println implements promhttp.Logger.
func (f *firstFault) Println(v ...any) {
	f.once.Do(func() {
		f.log.Warn("a page of metrics lacks something; others that do are counted alone", "error",
			pool.OneLine(fmt.Sprint(v...)))
	})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the reader has gone
}

// healthBody is the answer of /healthz and /livez.
type healthBody struct {
	Status string `json:"status"`
	// Reasons say why the status is unavailable.
	Reasons []string `json:"reasons,omitempty"`
	// Warnings say what is wrong without stopping the service, such as a broken endpoints file.
	Warnings []string `json:"warnings,omitempty"`
}

func (a *Admin) health(w http.ResponseWriter, _ *http.Request) {
	body := a.healthNow()
	writeJSON(w, body.code(), body)
}

func (b *healthBody) code() int {
	if len(b.Reasons) > 0 {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

func (a *Admin) healthNow() healthBody {
	body := healthBody{Status: "ok",
		Warnings: slices.Concat(a.Pool.Warnings(), a.Pool.MissingMetrics(), a.Pool.Unread(time.Now()))}
	if unheard := a.Pool.Unheard(); len(unheard) > 0 {
		body.Reasons = append(body.Reasons, "discovery: not read yet: "+strings.Join(unheard, ", "))
	}
	for _, p := range a.Pushers {
		if reason := p.Health(time.Now(), healthyWithin); reason != "" {
			body.Reasons = append(body.Reasons, reason)
		}
		if warning := p.Warning(); warning != "" {
			body.Warnings = append(body.Warnings, warning)
		}
	}
	if a.Store != nil {
		if trouble := a.Store.Trouble(); trouble != "" {
			body.Warnings = append(body.Warnings, trouble)
		}
	}
	if len(body.Reasons) > 0 {
		body.Status = "unavailable"
	}
	return body
}

// endpointBody is one endpoint in the answer of /endpoints.
type endpointBody struct {
	Name    string            `json:"name"`
	Address string            `json:"address"`
	Engine  string            `json:"engine"`
	Labels  map[string]string `json:"labels"`
	Models  []string          `json:"models"`
	// BaseModels is how many of Models, the first ones, are no LoRA adapters, where that is known.
	BaseModels int `json:"baseModels,omitempty"`
	// Metrics is null before the first sample.
	Metrics        *metricsBody `json:"metrics"`
	MissingMetrics []string     `json:"missingMetrics,omitempty"`
	// Speed is how fast it answers, where that is predicted.
	Speed *speedBody `json:"speed,omitempty"`
	// Prefixes is how much of prompts it is believed to have, where the sidecar keeps that.
	Prefixes *traffic.Prefixes `json:"prefixes,omitempty"`
	// FailureShare is the share of its requests that failed of late, SilentFor how long it has answered nobody while
	// others answered: the filter leaves it out when that is too much.
	FailureShare float64 `json:"failureShare,omitempty"`
	SilentFor    string  `json:"silentFor,omitempty"`
	LastError    string  `json:"lastError,omitempty"`
}

// speedBody is what was predicted of late and what became of it, in milliseconds, and the mean of |predicted - actual|
// / actual.
type speedBody struct {
	PromptTokensPerSecond float64  `json:"promptTokensPerSecond,omitempty"`
	TTFT                  timeBody `json:"ttft"`
	TPOT                  timeBody `json:"tpot"`
}

type timeBody struct {
	PredictedMs float64 `json:"predictedMs"`
	ActualMs    float64 `json:"actualMs"`
	Error       float64 `json:"error"`
}

func describeTime(a state.Accuracy) timeBody {
	const tenths = 10
	return timeBody{math.Round(a.Predicted*1e3*tenths) / tenths, math.Round(a.Actual*1e3*tenths) / tenths,
		math.Round(a.Error*1e3) / 1e3}
}

// speedOf tells how fast an endpoint answers, nil where that is not predicted.
func (a *Admin) speedOf(endpoint string) *speedBody {
	if a.Traffic == nil {
		return nil
	}
	s, ok := a.Traffic.Speed(endpoint)
	if !ok {
		return nil
	}
	return &speedBody{math.Round(s.PromptTokensPerSecond), describeTime(s.TTFT), describeTime(s.TPOT)}
}

// metricsBody is a sample, with the keys of an endpoints file.
type metricsBody struct {
	Waiting      uint32   `json:"waiting"`
	Running      uint32   `json:"running"`
	KVCacheUsage float64  `json:"kvCacheUsage"`
	RunningLoRA  []string `json:"runningLora,omitempty"`
	WaitingLoRA  []string `json:"waitingLora,omitempty"`
	MaxLoRA      uint32   `json:"maxLora"`
	BlockSize    uint32   `json:"blockSize"`
	NumGPUBlocks uint32   `json:"numGpuBlocks"`
	MaxRunning   uint32   `json:"maxRunning,omitempty"`
	// ProcessStart is a time by the server's clock, empty when it is not known.
	ProcessStart string `json:"processStart,omitempty"`
	Age          string `json:"age"`
}

func (a *Admin) endpoints(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"endpoints": a.endpointsNow()})
}

func (a *Admin) endpointsNow() []endpointBody {
	all := []endpointBody{}
	g := a.Pool.Generation()
	if g == nil {
		return all
	}
	for i, t := range g.Targets {
		b := describe(&g.Topology.Endpoints[i], t.Now(), time.Now())
		b.Speed = a.speedOf(b.Name)
		if a.Traffic != nil {
			a.describeTraffic(&b, t)
		}
		all = append(all, b)
	}
	return all
}

// describeTraffic adds what the endpoint's requests tell.
func (a *Admin) describeTraffic(b *endpointBody, t *pool.Target) {
	f := a.Traffic.Failing(t)
	b.FailureShare = math.Round(100*f.Share) / 100
	if f.Silent > 0 {
		b.SilentFor = f.Silent.Round(time.Second).String()
	}
	if p, ok := a.Traffic.Prefixes(b.Name); ok {
		b.Prefixes = &p
	}
}

// engineOf is what the endpoint's page is read as, or what was said of it while that is not known.
func engineOf(e *snapshot.Endpoint, v *pool.View) string {
	if v.Kind != nil {
		return v.Kind.Name()
	}
	return e.Engine
}

func describe(e *snapshot.Endpoint, v pool.View, now time.Time) endpointBody {
	b := endpointBody{
		Name: e.Name, Address: e.Address, Engine: engineOf(e, &v), Labels: map[string]string{},
		Models: e.Models, BaseModels: e.BaseModels,
		MissingMetrics: v.Missing, LastError: v.Failure,
	}
	if b.Models == nil {
		b.Models = []string{}
	}
	for _, l := range e.Labels {
		b.Labels[l.Key] = l.Value
	}
	if v.Sampled.IsZero() {
		return b
	}
	s := v.Sample
	b.Metrics = &metricsBody{
		Waiting: s.WaitingRequests, Running: s.RunningRequests, KVCacheUsage: s.KVCacheUsage,
		RunningLoRA: s.RunningLoRA, WaitingLoRA: s.WaitingLoRA, MaxLoRA: s.MaxLoRA,
		BlockSize: s.KVBlockTokens, NumGPUBlocks: s.KVBlocks, MaxRunning: s.MaxRunning,
		Age: now.Sub(v.Sampled).Round(time.Millisecond).String(),
	}
	if s.ProcessStart > snapshot.SomeStart {
		b.Metrics.ProcessStart = time.UnixMilli(int64(s.ProcessStart)).UTC().Format(time.RFC3339Nano)
	}
	return b
}
