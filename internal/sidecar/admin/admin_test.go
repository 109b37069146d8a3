package admin

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/internal/sidecar/traffic"
	"github.com/pintle-dev/pintle/snapshot"
)

// TestExplainReadsEndpoints: what /endpoints answers, in full, is a document of endpoints for pintle explain.
func TestExplainReadsEndpoints(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	sample := engine.Sample{WaitingRequests: 3, RunningRequests: 5, KVCacheUsage: .5, RunningLoRA: []string{"a"},
		WaitingLoRA: []string{"b"}, MaxLoRA: 4, KVBlockTokens: 16, KVBlocks: 1000, MaxRunning: 64,
		ProcessStart: 1_800_000_000_123}
	full := describe(&snapshot.Endpoint{Name: "a", Address: "10.0.0.1:8000", Models: []string{"m"},
		BaseModels: 1, Labels: []snapshot.Label{{Key: "k", Value: "v"}}},
		pool.View{Sample: sample, Sampled: now.Add(-time.Second), Missing: []string{"running"}}, now)
	full.Speed, full.Prefixes = &speedBody{PromptTokensPerSecond: 1}, &traffic.Prefixes{Blocks: 1}
	full.FailureShare, full.SilentFor = .5, "40s"
	dead := describe(&snapshot.Endpoint{Name: "b", Address: "10.0.0.2:8000"}, pool.View{Failure: "refused"}, now)
	for i, field := range reflect.VisibleFields(reflect.TypeFor[endpointBody]()) {
		unsaid := reflect.ValueOf(full).Field(i).IsZero() && reflect.ValueOf(dead).Field(i).IsZero()
		if unsaid && field.Name != "Engine" {
			t.Errorf("the test says nothing of %s", field.Name)
		}
	}
	text, err := json.Marshal(map[string]any{"endpoints": []endpointBody{full, dead}})
	if err != nil {
		t.Fatal(err)
	}
	fleet, err := explain.ReadEndpoints(text, now.UnixNano())
	if err != nil {
		t.Fatal(err)
	}
	a, b := fleet.Endpoints[0].Metrics, fleet.Endpoints[1].Metrics
	if a.WaitingRequests != 3 || a.MaxRunning != 64 || a.SampledAt != now.Add(-time.Second).UnixNano() ||
		b.SampledAt != 0 || fleet.Endpoints[0].BaseModels != 1 {
		t.Errorf("got %+v and %+v, want the sample and none", a, b)
	}
}

// TestEndpointTellsTheServer: what is known of the server's process and batch is told, what is not known is left out.
func TestEndpointTellsTheServer(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, test := range []struct {
		name   string
		sample engine.Sample
		want   string
	}{
		{"both", engine.Sample{MaxRunning: 64, ProcessStart: 1_700_000_000_250},
			`"maxRunning":64,"processStart":"2023-11-14T22:13:20.25Z"`},
		{"neither", engine.Sample{}, ""},
		{"some process", engine.Sample{ProcessStart: snapshot.SomeStart}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			view := pool.View{Sample: test.sample, Sampled: now}
			text, err := json.Marshal(describe(&snapshot.Endpoint{Name: "a"}, view, now))
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(text), `"numGpuBlocks":0,`)
			got, _, _ := strings.Cut(rest, `"age"`)
			if got = strings.TrimSuffix(got, ","); got != test.want {
				t.Errorf("got %s, want %s, in %s", got, test.want, text)
			}
		})
	}
}

// twice tells one series twice, and another one once.
type twice struct{}

// Describe implements prometheus.Collector.
func (twice) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (twice) Collect(out chan<- prometheus.Metric) {
	for _, label := range []string{"a", "a", "b"} {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("made_up", "Made up.", []string{"of"}, nil),
			prometheus.GaugeValue, 1, label)
	}
}

// TestMetricsWithoutOne: a series that is there twice does not take the page away; it is counted, and logged once.
func TestMetricsWithoutOne(t *testing.T) {
	var log strings.Builder
	m := metrics.New(pool.New(slog.New(slog.DiscardHandler), engine.Known, nil))
	m.Registry.MustRegister(twice{})
	a := &Admin{Metrics: m, Config: &config.Config{}, Log: slog.New(slog.NewTextHandler(&log, nil))}
	for name, h := range map[string]http.Handler{"all": a.Handler(), "public": a.Public()} {
		log.Reset()
		for range 2 {
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			page := answer.Body.String()
			if answer.Code != http.StatusOK || !strings.Contains(page, `made_up{of="b"} 1`) ||
				!strings.Contains(page, `promhttp_metric_handler_errors_total{cause="gathering"}`) {
				t.Errorf("%s: got %d, want 200 with made_up{of=\"b\"} and how often something was missing:\n%s", name,
					answer.Code, page)
			}
		}
		if n := strings.Count(log.String(), "made_up"); n != 1 {
			t.Errorf("%s: logged %d times, want once: %s", name, n, log.String())
		}
	}
}

// named is a discovery of which only the name is used.
type named string

func (n named) Name() string                                             { return string(n) }
func (n named) Run(context.Context, func(part topology.Part, err error)) {}

// TestHealthNamesTheSourceThatIsMissing: of several sources, that which Envoys wait for.
func TestHealthNamesTheSourceThatIsMissing(t *testing.T) {
	p := pool.New(slog.New(slog.DiscardHandler), engine.Known, []topology.Discovery{named("file"), named("dns")})
	a := &Admin{Pool: p}
	p.Update(t.Context(), 0, topology.Part{}, nil)
	if got := a.healthNow(); got.Status != "unavailable" || !slices.Equal(got.Reasons,
		[]string{"discovery: not read yet: dns"}) {
		t.Errorf("got %+v, want unavailable as dns has not been read", got)
	}
	p.Update(t.Context(), 1, topology.Part{}, nil)
	if got := a.healthNow(); got.Status != "ok" || len(got.Reasons) != 0 {
		t.Errorf("got %+v once all were read, want ok", got)
	}
}
