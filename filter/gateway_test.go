package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/snapshot"
)

// module is at modulePath. These tests drive it in a host that refuses what Envoy refuses.
var module = sync.OnceValues(func() ([]byte, error) { return os.ReadFile(modulePath) })

// mode is one way to run the filter.
type mode struct{ hold, destination string }

func (m mode) String() string { return m.hold + "/" + m.destination }

var modes = []mode{
	{"buffer", "original-dst"}, {"buffer", "override-host"},
	{"pause", "original-dst"}, {"pause", "override-host"},
}

// eachMode runs a test in every mode.
func eachMode(t *testing.T, f func(t *testing.T, m mode)) {
	t.Helper()
	for _, m := range modes {
		t.Run(m.String(), func(t *testing.T) { f(t, m) })
	}
}

// options are the filters that stand around the plug-in in a mode's shipped configuration.
func (m mode) options(clock *wazerohost.Clock) wazerohost.Options {
	o := wazerohost.Options{Now: clock.Now, Seed: 1, BufferLimit: 8 << 20}
	if m.hold == "pause" {
		o.AllowOnHeadersStopIteration = true
		return o
	}
	o.BufferFilter = true
	o.HeaderMutations = []wazerohost.HeaderMutation{
		{Header: "x-gateway-destination-endpoint", FilterState: "wasm.picked"}}
	for _, name := range pluginHeaders {
		o.HeaderMutations = append(o.HeaderMutations,
			wazerohost.HeaderMutation{Header: name, FilterState: "wasm." + name})
	}
	return o
}

// pluginHeaders are the request headers that plug-ins add.
var pluginHeaders = []string{"mif-prefill-endpoint", "mif-encode-endpoints", "x-data-parallel-host-port"}

const (
	token           = "test-token"
	requestListener = "127.0.0.1:10000"
	ingestListener  = "127.0.0.1:15099"
	ingestPath      = "/pintle/v1/snapshot"
	byQueue         = `{"plugins":[{"type":"queue-scorer"}]}`
)

// startTime is when a test's clock starts.
var startTime = time.Unix(1_800_000_000, 0)

// gateway is one Envoy with workers that all carry the same two listeners.
type gateway struct {
	t       testing.TB
	mode    mode
	host    *wazerohost.Host
	clock   *wazerohost.Clock
	workers []*worker
	last    snapshot.Position
}

type worker struct {
	*wazerohost.Worker
	requests, ingest *wazerohost.Plugin
}

// configuration is a plug-in configuration around an EndpointPickerConfig. extra are further top-level members, each
// followed by a comma. Unless they say otherwise, no request waits for the first snapshot.
func (m mode) configuration(document, extra string) string {
	if !strings.Contains(extra, `"startup"`) {
		extra += `"startup":{"wait":"0s"},`
	}
	return fmt.Sprintf(`{%s"hold":%q,"destination":%q,"ingest":{"port":15099,"token":%q},"config":%s}`, extra, m.hold,
		m.destination, token, document)
}

// newGateway starts an Envoy with n workers.
func newGateway(t testing.TB, m mode, n int, configuration string) *gateway {
	t.Helper()
	return newGatewayIn(t, m, n, configuration, nil)
}

// newGatewayIn is newGateway in an environment.
func newGatewayIn(t testing.TB, m mode, n int, configuration string, environment map[string]string) *gateway {
	t.Helper()
	clock := wazerohost.NewClock(startTime)
	options := m.options(clock)
	options.Env = environment
	g := &gateway{t: t, mode: m, clock: clock, host: newHost(t, options)}
	g.start(n, configuration)
	return g
}

// start starts n workers with the two listeners.
func (g *gateway) start(n int, configuration string) {
	t := g.t
	t.Helper()
	for range n {
		w, err := g.host.Worker()
		if err != nil {
			t.Fatalf("Worker: %v", err)
		}
		g.workers = append(g.workers, &worker{
			Worker: w,
			requests: startPlugin(t, w,
				wazerohost.PluginConfig{Configuration: configuration, Listener: requestListener}),
			ingest: startPlugin(t, w, wazerohost.PluginConfig{Configuration: configuration, Listener: ingestListener}),
		})
	}
}

func newHost(t testing.TB, o wazerohost.Options) *wazerohost.Host {
	t.Helper()
	return newHostOf(t, module, o)
}

// newHostOf is newHost with another module.
func newHostOf(t testing.TB, module func() ([]byte, error), o wazerohost.Options) *wazerohost.Host {
	t.Helper()
	wasm, err := module()
	if err != nil {
		t.Fatalf("%v; run make build", err)
	}
	o.Fail = func(m string) { t.Error(m) }
	host, err := wazerohost.New(context.Background(), wasm, o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() { _ = host.Close() })
	return host
}

func startPlugin(t testing.TB, w *wazerohost.Worker, c wazerohost.PluginConfig) *wazerohost.Plugin {
	t.Helper()
	p, err := w.Start(c)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	return p
}

// pool is a topology and its load. The endpoints are default/vllm-0 at 10.0.0.1:8000 and so on, with so many waiting
// requests.
type pool struct {
	snapshot.Topology
	snapshot.Load
}

func newPool(waiting ...uint32) *pool {
	p := &pool{}
	for i, n := range waiting {
		p.Topology.Endpoints = append(p.Topology.Endpoints, snapshot.Endpoint{
			Name: fmt.Sprintf("default/vllm-%d", i), Address: address(i), Engine: "vllm",
		})
		p.Load.Endpoints = append(p.Load.Endpoints, snapshot.EndpointLoad{WaitingRequests: n})
	}
	return p
}

func address(i int) string { return fmt.Sprintf("10.%d.%d.%d:8000", i/255>>8, i/255&255, i%255+1) }

// label gives endpoint i a label.
func (p *pool) label(i int, key, value string) *pool {
	e := &p.Topology.Endpoints[i]
	e.Labels = append(e.Labels, snapshot.Label{Key: key, Value: value})
	return p
}

// message encodes both records.
func (p *pool) message(t testing.TB, at snapshot.Position) []byte {
	t.Helper()
	m, err := snapshot.AppendTopology(nil, &p.Topology, at)
	if err != nil {
		t.Fatalf("AppendTopology: %v", err)
	}
	return append(m, p.loadMessage(t, at)...)
}

// loadMessage encodes the load alone.
func (p *pool) loadMessage(t testing.TB, at snapshot.Position) []byte {
	t.Helper()
	p.Load.Topology = p.Topology.ID()
	m, err := snapshot.AppendLoad(nil, &p.Load, at)
	if err != nil {
		t.Fatalf("AppendLoad: %v", err)
	}
	return m
}

// next is the position of the next snapshot.
func (g *gateway) next() snapshot.Position {
	g.last = snapshot.Position{Epoch: 1, Sequence: g.last.Sequence + 1}
	return g.last
}

// publish posts a pool to the first worker, as the sidecar would.
func (g *gateway) publish(p *pool) {
	g.t.Helper()
	s := g.workers[0].post(p.message(g.t, g.next()))
	if got := s.ResponseHeaders().Get(":status"); got != "204" {
		g.t.Fatalf("snapshot: got status %s and %q, want 204", got, s.ResponseBody())
	}
}

// post sends a snapshot to the ingest listener.
func (w *worker) post(message []byte) *wazerohost.Stream {
	s := w.ingest.Request(ingestHeaders(), false)
	s.Body(message, true)
	return s
}

func ingestHeaders() wazerohost.Headers {
	return wazerohost.Headers{{":path", ingestPath}, {"authorization", "Bearer " + token}}
}

const completion = `{"model":"m","prompt":"hello"}`

// ask sends a completion request, headers added.
func (w *worker) ask(headers ...[2]string) *wazerohost.Stream {
	return w.askBody(completion, headers...)
}

func (w *worker) askBody(body string, headers ...[2]string) *wazerohost.Stream {
	s := w.requests.Request(
		append(wazerohost.Headers{{":path", "/v1/completions"}, {"content-length", fmt.Sprint(len(body))}}, headers...),
		false)
	s.Body([]byte(body), true)
	return s
}

// makeBusy has a worker decide so much in a second that it holds back what becomes of requests.
func (g *gateway) makeBusy(w *worker, ask func()) {
	w.Tick()
	for range 300 {
		ask()
	}
	g.clock.Advance(time.Second)
	w.Tick()
	ask()
}

// ranked returns the endpoints that the router goes by, best first; "" when the request did not leave. It checks that
// every way in which the decision is told says the same.
func (g *gateway) ranked(s *wazerohost.Stream) string {
	g.t.Helper()
	if !s.Sent() {
		return ""
	}
	headers := s.UpstreamHeaders()
	list := strings.Join(headers.Values("x-gateway-destination-endpoint"), " and ")
	first, _, _ := strings.Cut(list, ",")
	state, hasState := s.FilterState(wazerohost.OriginalDst)
	dst, hasHeader := headers.Get("x-envoy-original-dst-host"), headers.Has("x-envoy-original-dst-host")
	if g.mode.destination == "override-host" && (hasState || hasHeader) {
		g.t.Errorf("%v: got filter state %q and x-envoy-original-dst-host %q, want neither", g.mode, state.Value, dst)
	}
	if g.mode.destination == "original-dst" && !hasState && !hasHeader {
		g.t.Errorf("%v: got neither filter state nor x-envoy-original-dst-host, want one", g.mode)
	}
	if hasState && (state.Value != first || state.Span != 1) || hasHeader && dst != first {
		g.t.Errorf("%v: got filter state %+v, x-envoy-original-dst-host %q, ranked list %q, want one decision", g.mode,
			state, dst, list)
	}
	if g.mode.hold == "pause" && (hasState || s.Property("picked") != "") || g.mode.hold == "buffer" &&
		s.Property("picked") != list {
		g.t.Errorf("%v: got filter state %+v and property picked %q for the ranked list %q", g.mode, state,
			s.Property("picked"), list)
	}
	return list
}

// distinct asks n times and returns the different answers, sorted.
func (g *gateway) distinct(n int, ask func() *wazerohost.Stream) []string {
	g.t.Helper()
	var all []string
	for range n {
		s := ask()
		all = append(all, g.ranked(s))
		s.Finish()
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wantRanked fails unless the request left for these endpoints.
func (g *gateway) wantRanked(s *wazerohost.Stream, want ...string) {
	g.t.Helper()
	if got := g.ranked(s); got != strings.Join(want, ",") {
		g.t.Errorf("endpoints: got %q, want %q (response %v %s)", got, strings.Join(want, ","), s.ResponseHeaders(),
			s.ResponseBody())
	}
	if s.Stuck() {
		g.t.Errorf("the request is stuck: %v", s)
	}
}

// envelope is the body of an error.
type envelope struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	} `json:"error"`
	Current *struct{ Epoch, Sequence uint64 } `json:"current"`
}

// wantError fails unless the request was answered with this error.
func wantError(t testing.TB, s *wazerohost.Stream, status int, reason string) envelope {
	t.Helper()
	h := s.ResponseHeaders()
	if h.Get(":status") != fmt.Sprint(status) || h.Get("x-pintle-reason") != reason ||
		h.Get("content-type") != "application/json" {
		t.Errorf("answer: got %v, want status %d, reason %s and application/json", h, status, reason)
	}
	var e envelope
	decoder := json.NewDecoder(strings.NewReader(string(s.ResponseBody())))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		t.Errorf("body %q: %v", s.ResponseBody(), err)
	}
	if e.Error.Code != reason || e.Error.Message == "" || e.Error.Type == "" {
		t.Errorf("error: got %+v, want code %s, a message and a type", e.Error, reason)
	}
	if s.Sent() || !s.Ended() {
		t.Errorf("a refused request: got sent %v, ended %v, want it ended and never sent", s.Sent(), s.Ended())
	}
	return e
}
