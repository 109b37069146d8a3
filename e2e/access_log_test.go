package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/pintle-dev/pintle/internal/harness"
	formats "github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/internal/sim"
	"github.com/pintle-dev/pintle/journal"
)

// ledger counts requests by what is told of them.
type ledger struct {
	mu sync.Mutex
	// lines are requests by model, endpoint, profile, rank and tokens, or why they were refused.
	lines map[string]int
	all   int
	// ttft is the sum of times to the first token, in milliseconds.
	ttft float64
}

func (l *ledger) add(line string, ttft float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = map[string]int{}
	}
	l.lines[line]++
	l.all++
	l.ttft += ttft
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// Take implements follow.Sink.
func (l *ledger) Take(e *follow.Event) {
	switch e.Kind {
	case journal.Refused:
		l.add("refused "+e.Names.Of(journal.ReasonName, e.Reason), 0)
	case journal.Completion:
		line := fmt.Sprint(e.Names.Of(journal.ModelName, e.Asked), " at ", e.Names.Endpoint(e.Primary), " by ", e.Names.Of(journal.ProfileName, e.Profile))
		if e.UsageReported {
			line += fmt.Sprintf(", %d %d %d", e.InputTokens, e.OutputTokens, e.CachedTokens)
		}
		if e.Tried != 0 {
			line += ", second"
		}
		l.add(line, float64(e.TTFTMicros)/1000)
	}
}

// Caught implements follow.Sink.
func (l *ledger) Caught(string, journal.Position) {}

// addNamed adds what a log line or a span tells.
func (l *ledger) addNamed(of map[string]string) {
	if reason := of["error.type"]; reason != "" {
		l.add("refused "+reason, 0)
		return
	}
	line := fmt.Sprint(of["gen_ai.request.model"], " at ", of["pintle.endpoint"], " by ", of["pintle.profile"])
	if of["gen_ai.usage.input_tokens"] != "" {
		line += fmt.Sprintf(", %s %s %s", of["gen_ai.usage.input_tokens"], of["gen_ai.usage.output_tokens"], of["gen_ai.usage.cache_read.input_tokens"])
	}
	if rank, _ := strconv.Atoi(of["pintle.rank"]); rank > 1 {
		line += ", second"
	}
	ttft, _ := strconv.ParseFloat(of["pintle.ttft_ms"], 64)
	l.add(line, ttft)
}

// collector is an OTLP receiver over HTTP.
type collector struct {
	ledger
	names map[string]bool
}

// ServeHTTP implements http.Handler. The body is an ExportTraceServiceRequest, which is encoded as a TracesData.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var data tracev1.TracesData
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &data) != nil {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	for _, resource := range data.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				c.span(span)
			}
		}
	}
}

func (c *collector) span(s *tracev1.Span) {
	of := map[string]string{}
	for _, a := range s.Attributes {
		if text, ok := a.Value.GetValue().(*commonv1.AnyValue_StringValue); ok {
			of[a.Key] = text.StringValue
			if text.StringValue == "-" || text.StringValue == "" {
				delete(of, a.Key)
			}
		}
	}
	if !strings.HasPrefix(of["http.url"], "http://gateway/") { // readiness and warm-up
		return
	}
	c.addNamed(of)
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range of {
		c.names[name] = true
	}
}

// observed has the listener of requests log and trace as shipped.
func observed(text, log string, collector int) string {
	more := fmt.Sprintf(`stat_prefix: requests
          access_log:
          - name: file
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
              path: %q
              log_format: {json_format: %s}
          tracing:
            custom_tags: %s
            provider:
              name: envoy.tracers.opentelemetry
              typed_config:
                "@type": type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig
                service_name: gateway
                http_service:
                  http_uri: {uri: "http://127.0.0.1:%d/v1/traces", cluster: collector, timeout: 5s}
`, log, formats.AccessLogJSON(), formats.TagsJSON(), collector)
	text = strings.Replace(text, "stat_prefix: requests\n", more, 1)
	return strings.Replace(text, "\n  clusters:\n", fmt.Sprintf(`
  clusters:
  - name: collector
    type: STATIC
    load_assignment:
      cluster_name: collector
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}}]}]
`, collector), 1)
}

// TestAccessLog: the log, the spans and the journal tell the same of a thousand requests, of streams, aborts,
// retries and refusals.
func TestAccessLog(t *testing.T) {
	const requests, clients = 1000, 16
	spans := &collector{names: map[string]bool{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	receiver := &http.Server{Handler: spans}
	go func() { _ = receiver.Serve(listener) }()
	t.Cleanup(func() { _ = receiver.Close() })
	file := filepath.Join(t.TempDir(), "access.log")
	dead, err := harness.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	endpoints := []harness.Endpoint{{Name: "default/dead", Address: dead}}
	hosts := []string{dead}
	for i := range 2 {
		server, err := harness.NewServer(sim.Config{Name: fmt.Sprint("sim-", i), Models: models, TimePerOutputToken: 2 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		endpoints = append(endpoints, harness.Endpoint{Name: "default/" + server.Name, Address: server.Address})
		hosts = append(hosts, server.Address)
	}
	document := harness.Document(3, map[string]any{"type": "prefix-cache-scorer"})
	plugin := map[string]any{"config": document, "failing": map[string]any{"policy": "ignore"}}
	o := harness.Options{Edit: func(text string) string { return observed(text, file, listener.Addr().(*net.TCPAddr).Port) }}
	envoy, err := harness.StartWith(o, harness.Cell{Hold: "pause", Destination: "override-host"}, hosts,
		&harness.Listener{Name: "requests", Plugin: plugin}, &harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	envoy.LogOnFailure(t)
	envoy.Publish(t, endpoints...)
	told := followed(t, envoy)
	before := told.count()

	sendMixed(t, envoy.URL("requests", chatPath), requests, clients)
	harness.WaitFor(t, 20*time.Second, "the journal and the spans to have all", func() (bool, string) {
		journaled, traced := told.count()-before, spans.count()
		return journaled == requests && traced == requests, fmt.Sprint(journaled, " journaled, ", traced, " traced")
	})
	logged := readAccessLog(t, file, requests)
	told.mu.Lock()
	defer told.mu.Unlock()
	for line, n := range told.lines {
		if logged.lines[line] != n {
			t.Errorf("log: %d of %q, the journal has %d", logged.lines[line], line, n)
		}
	}
	if math.Abs(logged.ttft-told.ttft) > 1e-6*told.ttft {
		t.Errorf("log: times to the first token are %v ms in all, in the journal %v", logged.ttft, told.ttft)
	}
	spans.mu.Lock()
	defer spans.mu.Unlock()
	for _, name := range []string{"gen_ai.request.model", "gen_ai.response.model", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens",
		"gen_ai.usage.cache_read.input_tokens", "pintle.endpoint", "pintle.rank", "pintle.profile", "pintle.predicted_cached_tokens", "pintle.ttft_ms",
		"error.type"} {
		if !spans.names[name] {
			t.Errorf("no span has %s", name)
		}
	}
	for line, n := range told.lines {
		if strings.Contains(line, ", ") && spans.lines[line] != n { // those with tokens came to their end
			t.Errorf("spans: %d of %q, the journal has %d", spans.lines[line], line, n)
		}
	}
}

// followed follows an Envoy's journal from now on, all of its workers.
func followed(t *testing.T, envoy *harness.Envoy) *ledger {
	t.Helper()
	l := &ledger{}
	f := &follow.Follower{
		Ingest: config.Ingest{Name: "gateway", URL: "http://" + envoy.Address("ingest") + config.IngestPath},
		Token:  func() string { return harness.Token }, Interval: 20 * time.Millisecond, Sink: l, Log: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	time.Sleep(2500 * time.Millisecond) // workers look every second whether somebody follows
	return l
}

// sendMixed sends answers as a whole and as streams, and some that the client leaves, that are no JSON, or that no
// server takes.
func sendMixed(t *testing.T, url string, requests, clients int) {
	t.Helper()
	var running sync.WaitGroup
	for c := range clients {
		running.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for i := c; i < requests; i += clients {
				sendOne(client, url, i)
			}
		})
	}
	running.Wait()
}

func sendOne(client *http.Client, url string, i int) {
	body := fmt.Sprintf(`{"model":"m-v2","max_tokens":%d,"messages":[{"role":"user","content":%q}]`, 1+i%7, strings.Repeat(fmt.Sprint(i%5, " hello "), 10*(i%5)+1))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch i % 10 {
	case 0, 1, 2, 3:
		body += `}`
	case 4, 5, 6:
		body += `,"stream":true,"stream_options":{"include_usage":true}}`
	case 7: // left after its first event
		body = strings.Replace(body, `"max_tokens":`, `"stream":true,"max_tokens":9`, 1) + `}`
	case 8: // not JSON
	default: // the server does not take it
		body += `,"n":3}`
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return
	}
	request.Host = "gateway"
	response, err := client.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	if i%10 == 7 {
		_, _ = bufio.NewReader(response.Body).ReadString('\n')
		return
	}
	_, _ = io.Copy(io.Discard, response.Body)
}

// readAccessLog reads the lines of the test's requests, of which there must be so many.
func readAccessLog(t *testing.T, file string, want int) *ledger {
	t.Helper()
	var l *ledger
	// Envoy writes its log every ten seconds.
	harness.WaitFor(t, 30*time.Second, "the log to be written", func() (bool, string) {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.HasSuffix(text, []byte("\n")) {
			return false, fmt.Sprint(err)
		}
		l = &ledger{}
		for line := range bytes.Lines(text) {
			var of map[string]any
			if err := json.Unmarshal(line, &of); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if len(of) != len(formats.AccessLog()) {
				t.Fatalf("%s: want %d names", line, len(formats.AccessLog()))
			}
			named := map[string]string{}
			for name, value := range of {
				if value != nil {
					named[name] = fmt.Sprint(value)
				}
			}
			l.addNamed(named)
		}
		return l.count() == want, fmt.Sprint(l.count(), " lines")
	})
	return l
}
