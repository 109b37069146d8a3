package admin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/dns"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/internal/sidecar/kubernetes"
	"github.com/pintle-dev/pintle/internal/sidecar/metrics"
	"github.com/pintle-dev/pintle/internal/sidecar/pool"
	"github.com/pintle-dev/pintle/internal/sidecar/push"
	"github.com/pintle-dev/pintle/internal/sidecar/topology"
	"github.com/pintle-dev/pintle/internal/sidecar/traffic"
	"github.com/pintle-dev/pintle/snapshot"
)

// source is a discovery that finds what the test says.
type source struct{}

// Name implements topology.Discovery.
func (source) Name() string { return "made.up" }

// Run implements topology.Discovery.
func (source) Run(context.Context, func(topology.Part, error)) {}

// newAdmin has a pool that waits for a source, unless it has been told what there is.
func newAdmin(t *testing.T, part *topology.Part, err error) *Admin {
	p := pool.New(slog.New(slog.DiscardHandler), engine.Known, []topology.Discovery{source{}})
	p.Start = func(context.Context, *pool.Target) {}
	if part != nil {
		p.Update(t.Context(), 0, *part, err)
	}
	return &Admin{Pool: p, Metrics: metrics.New(p), Config: &config.Config{}, Recorder: &Recorder{},
		Traffic: traffic.New(traffic.Options{}), Log: slog.New(slog.DiscardHandler)}
}

// TestAnswers: what each page answers to those who may see all, and to others.
func TestAnswers(t *testing.T) {
	found := newAdmin(t, &topology.Part{Endpoints: []topology.Endpoint{{Endpoint: snapshot.Endpoint{
		Name: "a", Address: "10.0.0.1:8000",
		Engine: "tensorrt-llm", Models: []string{"m"}, Labels: []snapshot.Label{{Key: "k", Value: "v"}}}}}},
		topology.Partly(errors.New("half of it")))
	unheard := newAdmin(t, nil, nil)
	unfed := newAdmin(t, &topology.Part{}, nil)
	unfed.Pushers = []*push.Pusher{{Ingest: config.Ingest{Name: "http://envoy"}}}
	const (
		alive     = `{"status":"ok"}`
		discovery = "discovery: not read yet: made.up"
		unfedText = "envoy.ingest http://envoy: last accepted push: never"
	)
	for _, test := range []struct {
		name, path       string
		of               http.Handler
		status           int
		media, want, not string
	}{
		{"alive", "/livez", unheard.Handler(), 200, "application/json", alive, discovery},
		{"alive, for all", "/livez", unheard.Public(), 200, "application/json", alive, discovery},
		{"unheard", "/healthz", unheard.Handler(), 503, "application/json",
			`{"status":"unavailable","reasons":["` + discovery + `"]}`, "warnings"},
		{"unheard, for all", "/healthz", unheard.Public(), 503, "application/json", `{"status":"unavailable"}`,
			discovery},
		{"unfed", "/healthz", unfed.Handler(), 503, "application/json",
			`{"status":"unavailable","reasons":["` + unfedText + `"]}`, "warnings"},
		{"unfed, by its status", "/status", unfed.Handler(), 200, "application/json", `"ingest":"http://envoy"`,
			"accepted\""},
		{"a warning", "/healthz", found.Handler(), 200, "application/json", `{"status":"ok","warnings":[`, "reasons"},
		{"what is wrong, for all", "/healthz", found.Public(), 200, "application/json", alive, "half"},
		{"no endpoints yet", "/endpoints", unheard.Handler(), 200, "application/json", `{"endpoints":[]}`, "null"},
		{"an endpoint", "/endpoints", found.Handler(), 200, "application/json",
			`{"endpoints":[{"name":"a","address":"10.0.0.1:8000","engine":"trtllm","labels":{"k":"v"},"models":["m"],` +
				`"metrics":null}]}`, "speed"},
		{"endpoints, for all", "/endpoints", found.Public(), 404, "", "", "10.0.0.1"},
		{"the status", "/status", found.Handler(), 200, "application/json", `"status":"ok","warnings":[`, "modelsInterval"},
		{"the status, for all", "/status", found.Public(), 404, "", "", "10.0.0.1"},
		{"decisions, for all", "/decisions", found.Public(), 404, "", "", "{"},
		{"the page", "/", found.Handler(), 200, "text/html", "<title>Pintle sidecar", ""},
		{"the page, for all", "/", found.Public(), 404, "", "", "<title>"},
		{"metrics", "/metrics", found.Handler(), 200, "text/plain", "pintle_sidecar_", ""},
		{"metrics, for all", "/metrics", found.Public(), 200, "text/plain", "pintle_sidecar_", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := httptest.NewRecorder()
			test.of.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, test.path, nil))
			media, text := answer.Header().Get("Content-Type"), answer.Body.String()
			if answer.Code != test.status || !strings.HasPrefix(media, test.media) ||
				!strings.Contains(text, test.want) ||
				test.not != "" && strings.Contains(text, test.not) {
				t.Errorf("got %d, %s, %s\nwant %d, %s, with %s and without %q", answer.Code, media, text, test.status,
					test.media, test.want, test.not)
			}
		})
	}
}

// TestPageRunsNothingElse: the status page may run no script but its own, in nobody's frame, and is asked for anew each
// time.
func TestPageRunsNothingElse(t *testing.T) {
	answer := httptest.NewRecorder()
	newAdmin(t, nil, nil).Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	for name, want := range map[string]string{"Cache-Control": "no-cache",
		"Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'"} {
		if got := answer.Header().Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestProfiles: profiles are there where the configuration says so.
func TestProfiles(t *testing.T) {
	a := newAdmin(t, nil, nil)
	with := newAdmin(t, nil, nil)
	with.Config = &config.Config{Profiles: true}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/profile", "/debug/pprof/trace",
		"/debug/pprof/symbol"} {
		for of, h := range map[string]http.Handler{"GET /": a.Handler(), "GET " + path: with.Handler(),
			"": with.Public()} {
			_, got := h.(*http.ServeMux).Handler(httptest.NewRequest(http.MethodGet, path, nil))
			if got != of {
				t.Errorf("%s: got it answered by %q, want %q", path, got, of)
			}
		}
	}
}

// TestEvents: the page is told the status at once, of which nothing is kept, until its reader goes.
func TestEvents(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	leave()
	answer := httptest.NewRecorder()
	newAdmin(t, nil, nil).Handler().ServeHTTP(answer,
		httptest.NewRequest(http.MethodGet, "/status/events", nil).WithContext(ctx))
	text := answer.Body.String()
	if !strings.HasPrefix(text, `data: {"status":"unavailable"`) || strings.Count(text, "\n\n") != 1 ||
		!strings.HasSuffix(text, "\n\n") || !answer.Flushed {
		t.Errorf("got %q, flushed %v, want one event, flushed", text, answer.Flushed)
	}
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store"} {
		if got := answer.Header().Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestDescribeConfig: the status says where endpoints come from, and how often models are looked at if they are.
func TestDescribeConfig(t *testing.T) {
	pools := []kubernetes.Pool{{InferencePool: "p"}}
	base := config.Scrape{Interval: time.Second, IdleInterval: 2 * time.Second, Timeout: 3 * time.Second}
	looking := base
	looking.Models = time.Minute
	want := configurationBody{ScrapeInterval: "1s", IdleInterval: "2s", ScrapeTimeout: "3s", PushInterval: "50ms",
		Engines: []string{"vllm", "sglang", "trtllm", "triton"}, File: "f", EndpointsFile: "e"}
	more := want
	more.ModelsInterval, more.Kubernetes, more.DNS = "1m0s", pools, []string{"SRV a.b", "A c"}
	for _, test := range []struct {
		name string
		c    config.Config
		want configurationBody
	}{
		{"files", config.Config{Scrape: base}, want},
		{"discoveries", config.Config{Scrape: looking, Kubernetes: &kubernetes.Config{Pools: pools},
			DNS: []dns.Pool{{Type: "SRV", Name: "a.b"}, {Type: "A", Name: "c"}}}, more},
	} {
		c := test.c
		c.Path, c.EndpointsFile, c.PushInterval, c.Engines = "f", "e", 50*time.Millisecond, engine.Known
		if got := describeConfig(&c); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v\nwant %+v", test.name, got, test.want)
		}
	}
}
