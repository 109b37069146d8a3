//go:build prometheus

package prometheus

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/journal"
)

// world is what a sidecar sees: a gateway, two model servers, a file that names them, and what it has in common with
// others.
type world struct {
	common
	t         *testing.T
	gateway   *harness.Gateway
	endpoints string
	servers   []*modelServer
	// what becomes of the requests that traffic journals
	code       atomic.Uint32
	ttftMicros atomic.Uint32
	cached     atomic.Uint32
	refused    atomic.Bool
	broken     atomic.Bool
	// silent has the first server answer nobody.
	silent atomic.Bool
	// crashes is how often Envoy has made the module anew.
	crashes atomic.Int64
}

// modelServer is a vLLM as its metrics page tells of it.
type modelServer struct {
	address string
	waiting atomic.Int64
	// events is what publishes its KV events.
	events *kvpub.Publisher
	// dead answers nothing but errors, renamed lacks a metric, hidden does not list its models.
	dead, renamed, hidden atomic.Bool
}

// ServeHTTP implements http.Handler.
func (s *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.dead.Load():
		w.WriteHeader(http.StatusInternalServerError)
	case r.URL.Path == "/v1/models" && s.hidden.Load():
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/kv_event_sources":
		_, port, _ := net.SplitHostPort(s.events.Address())
		_, _ = fmt.Fprintf(w, `{"0": {"publisher": "zmq", "endpoint": "tcp://*:%s"}}`, port)
	case r.URL.Path == "/v1/models":
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"m"}]}`)
	default:
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprintf(w,
			"vllm:num_requests_waiting %d\nvllm:num_requests_running "+
				"2\nvllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"1000\"} 1\n", s.waiting.Load())
		if !s.renamed.Load() {
			_, _ = io.WriteString(w, "vllm:kv_cache_usage_perc 0.3\n")
		}
	}
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, gateway: harness.NewGateway(t), endpoints: filepath.Join(t.TempDir(), "endpoints.yaml"),
		common: newCommon(t)}
	for range 2 {
		s := &modelServer{events: newPublisher(t)}
		server := httptest.NewServer(s)
		t.Cleanup(server.Close)
		s.address = server.Listener.Addr().String()
		w.servers = append(w.servers, s)
	}
	w.list()
	w.well()
	return w
}

// well has all requests go well.
func (w *world) well() {
	w.code.Store(200)
	w.ttftMicros.Store(50_000)
	w.cached.Store(800)
	w.refused.Store(false)
	w.broken.Store(false)
	w.silent.Store(false)
}

// list writes the file of endpoints, with more lines.
func (w *world) list(more ...string) {
	text := "endpoints:\n"
	for i, s := range w.servers {
		text += fmt.Sprintf("- {name: vllm-%d, address: '%s', engine: vllm}\n", i, s.address)
	}
	w.write(text + strings.Join(more, ""))
}

func (w *world) write(text string) {
	if err := os.WriteFile(w.endpoints, []byte(text), 0o600); err != nil {
		w.t.Error(err)
	}
}

// traffic journals 20 requests each second until it is stopped.
func (w *world) traffic(t *testing.T) (stop func()) {
	t.Helper()
	model, reason := w.gateway.Name(journal.ModelName, "m"), w.gateway.Name(journal.ReasonName, "shed")
	end := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-end:
				return
			case <-time.After(50 * time.Millisecond):
			}
			now := time.Now().UnixNano()
			d := journal.Event{
				Kind: journal.Decision, Time: now, Lease: w.gateway.NextLease(), Model: model, Asked: model,
				Streamed: true,
				Primary:  journal.EndpointID(fmt.Sprint("vllm-", n%2)), Predicted: true, PredictedTokens: 800,
			}
			c := d
			c.Kind, c.Code, c.Ended, c.TTFTMicros = journal.Completion, uint16(w.code.Load()), journal.EndedWhole,
				w.ttftMicros.Load()
			c.Status = c.Code
			if w.broken.Load() {
				c.Status, c.Ended = 502, journal.EndedReset
			}
			c.DurationMicros, c.UsageReported, c.CachedReported = 2*c.TTFTMicros, true, true
			c.InputTokens, c.OutputTokens, c.CachedTokens = 1000, 10, w.cached.Load()
			w.gateway.Append(&d)
			if n%2 == 1 || !w.silent.Load() {
				w.gateway.Append(&c)
			}
			for _, s := range w.servers {
				s.publish(uint64(n))
			}
			if w.refused.Load() {
				w.gateway.Append(&journal.Event{Kind: journal.Refused, Time: now, Code: 429, Reason: reason})
			}
		}
	})
	return func() { close(end); done.Wait() }
}

// envoy serves what an Envoy on Istio says of its modules, and returns where.
func (w *world) envoy(t *testing.T) string {
	t.Helper()
	const name = "envoy_wasm_extensions_istio_io_wasmplugin_pintle_pintle_vm_reload_success"
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
		to.Header().Set("Content-Type", "text/plain; charset=UTF-8")
		_, _ = fmt.Fprintf(to, "# TYPE %s counter\n%s{} %d\n", name, name, w.crashes.Load())
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// trouble is something that has alerts fire.
type trouble struct {
	alerts     []string
	begin, end func()
}

func (w *world) troubles() []trouble {
	first := w.servers[0]
	dead := func(is bool) func() {
		return func() {
			for _, s := range w.servers {
				s.dead.Store(is)
			}
		}
	}
	return append(w.commonTroubles(), []trouble{
		{[]string{"PintleRefusals", "PintleSlowFirstTokens", "PintlePrefixPredictionsOff"}, func() {
			w.refused.Store(true)
			w.ttftMicros.Store(9_000_000)
			w.cached.Store(0)
		}, w.well},
		{[]string{"PintleModuleCrashed"}, func() { w.crashes.Add(1) }, func() {}},
		{[]string{"PintleServerErrors", "PintleEndpointFails"}, func() { w.code.Store(500) }, w.well},
		{[]string{"PintleAnswersBreakOff"}, func() { w.broken.Store(true) }, w.well},
		{[]string{"PintleEndpointSilent"}, func() { w.silent.Store(true) }, w.well},
		{[]string{"PintlePoolSaturated", "PintleMetricMissing", "PintleModelsHidden"}, func() {
			for _, s := range w.servers {
				s.waiting.Store(50)
			}
			first.renamed.Store(true)
			first.hidden.Store(true)
		}, func() {
			for _, s := range w.servers {
				s.waiting.Store(0)
			}
			first.renamed.Store(false)
			first.hidden.Store(false)
		}},
		{[]string{"PintleSampleOld", "PintleNoReadyEndpoints"}, dead(true), dead(false)},
		{[]string{"PintleDiscoveryBroken"}, func() { w.write("endpoints: 7\n") }, func() { w.list() }},
		{[]string{"PintleNeverSampled"}, func() { w.list("- {name: nobody, address: '127.0.0.1:1', engine: vllm}\n") },
			func() { w.list() }},
		{[]string{"PintleNoEndpoints"}, func() { w.write("endpoints: []\n") }, func() { w.list() }},
		{[]string{"PintleEventsMissed"}, func() {
			blocks := make([]uint64, 1000)
			var all []*journal.Event
			for range 200 { // more than the log keeps
				all = append(all, &journal.Event{Kind: journal.Decision, Lease: 1 << 30,
					Chains: []journal.Chain{{ID: 1, Blocks: blocks}}})
			}
			w.gateway.Append(all...)
		}, func() {}},
		{[]string{"PintlePushesTimeOut"}, func() { w.gateway.Stall(true) }, func() { w.gateway.Stall(false) }},
		{[]string{"PintlePushesRefused", "PintleEnvoyNotFed", "PintleJournalNotFollowed"},
			func() { w.gateway.Refuse(401) }, func() { w.gateway.Refuse(0) }},
	}...)
}
