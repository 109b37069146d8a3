package e2e

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/recording"
	formats "github.com/pintle-dev/pintle/internal/shipped"
	status "github.com/pintle-dev/pintle/internal/sidecar/traffic"
	"github.com/pintle-dev/pintle/internal/sim"
)

// logged has the listener of requests write the access log that is shipped. What more its connection manager has
// follows.
func logged(text, file, more string) string {
	return strings.Replace(text, "stat_prefix: requests\n", fmt.Sprintf(`stat_prefix: requests
          access_log:
          - name: file
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
              path: %q
              log_format: {json_format: %s}
`, file, formats.AccessLogJSON())+more, 1)
}

// observed has the listener of requests log and trace as shipped.
func observed(text, log string, collector int) string {
	text = logged(text, log, fmt.Sprintf(`          - name: costs
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
              path: %q
              log_format: {text_format_source: {inline_string: "%%CEL(filter_state['wasm.pintle']['cost'])%%\n"}}
          tracing:
            custom_tags: %s
            provider:
              name: envoy.tracers.opentelemetry
              typed_config:
                "@type": type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig
                service_name: gateway
                http_service:
                  http_uri: {uri: "http://127.0.0.1:%d/v1/traces", cluster: collector, timeout: 5s}
`, log+".costs", formats.TagsJSON(), collector))
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
		server, err := harness.NewServer(sim.Config{
			Name: fmt.Sprint("sim-", i), Models: models, TimePerOutputToken: 2 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		endpoints = append(endpoints, harness.Endpoint{Name: "default/" + server.Name, Address: server.Address})
		hosts = append(hosts, server.Address)
	}
	document := harness.Document(3, map[string]any{"type": "prefix-cache-scorer"})
	document["plugins"] = append(document["plugins"].([]map[string]any), map[string]any{
		"type": "request-attribute-reporter", "parameters": map[string]any{"attributes": []map[string]any{{
			"key": map[string]any{"name": "cost"}, "expression": "usage.prompt_tokens + 100 * usage.completion_tokens",
			"condition": "has(usage.completion_tokens)"}}}})
	plugin := map[string]any{
		"dialect": "heimdall", "config": document, "failing": map[string]any{"policy": "ignore"},
		"shadow": map[string]any{"config": map[string]any{"plugins": []any{map[string]any{"type": "random-picker"}}}},
	}
	o := harness.Options{Args: []string{"--file-flush-interval-msec", "200"}, Edit: func(text string) string {
		return observed(text, file, listener.Addr().(*net.TCPAddr).Port)
	}}
	envoy := startEnvoy(t, o, harness.Cell{Hold: "pause", Destination: "override-host"}, hosts, plugin)
	envoy.Publish(t, endpoints...)
	told := &ledger{}
	b := newBegun(told)
	followed(t, envoy, b)
	recorder := &recording.Recorder{File: &recording.File{Path: filepath.Join(t.TempDir(), "recording"), Size: 1 << 30}}
	followed(t, envoy, recorder)
	shown := status.New(status.Options{})
	followed(t, envoy, shown)
	probes := b.await(t, envoy.URL("requests", chatPath))

	torn := filepath.Join(t.TempDir(), "torn")
	killed := killedRecorder(t, envoy, torn)
	sendMixed(t, envoy.URL("requests", chatPath), requests, clients)
	<-killed
	harness.WaitFor(t, 20*time.Second, "the journal and the spans to have all", func() (bool, string) {
		journaled, traced := told.count(), spans.count()
		return journaled == requests && traced == requests, fmt.Sprint(journaled, " journaled, ", traced, " traced")
	})
	wantRecording(t, recorder, told.lines)
	wantReplayed(t, envoy, torn, requests)
	wantShadow(t, envoy, shown, requests)
	logged := readAccessLog(t, file, requests)
	told.mu.Lock()
	defer told.mu.Unlock()
	for line, n := range told.lines {
		if logged.lines[line] != n {
			t.Errorf("log: %d of %q, the journal has %d", logged.lines[line], line, n)
		}
	}
	wantCosts(t, file+".costs", requests+probes, told.lines)
	if math.Abs(logged.ttft-told.ttft) > 1e-6*told.ttft {
		t.Errorf("log: times to the first token are %v ms in all, in the journal %v", logged.ttft, told.ttft)
	}
	spans.mu.Lock()
	defer spans.mu.Unlock()
	for _, name := range []string{
		"gen_ai.request.model", "gen_ai.response.model", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens",
		"gen_ai.usage.cache_read.input_tokens", "pintle.endpoint", "pintle.rank", "pintle.profile",
		"pintle.predicted_cached_tokens", "pintle.ttft_ms", "error.type", "pintle.shadow_endpoint",
	} {
		if !spans.names[name] {
			t.Errorf("no span has %s", name)
		}
	}
	for line, n := range told.lines {
		// What was left before its tokens came ends a span before its log line.
		unfinished := strings.HasSuffix(strings.TrimSuffix(line, ", second"), " by default")
		if !unfinished && spans.lines[line] != n {
			t.Errorf("spans: %d of %q, the journal has %d", spans.lines[line], line, n)
		}
	}
}
