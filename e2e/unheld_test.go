package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// unheld are the routes of docs/configuration.md on which Envoy's buffer filter holds nothing.
const unheld = `              routes:
              - match: {prefix: /inference.GRPCInferenceService/, grpc: {}}
                route: {cluster: model-servers, timeout: 0s}
                typed_per_filter_config: &unheld
                  envoy.filters.http.buffer:
                    "@type": type.googleapis.com/envoy.extensions.filters.http.buffer.v3.BufferPerRoute
                    disabled: true
              - match: {path: /v1/realtime}
                route: {cluster: model-servers, timeout: 0s}
                typed_per_filter_config: *unheld
              - match: {path: /v1/audio/transcriptions}
                route: {cluster: model-servers, timeout: 0s}
                typed_per_filter_config: *unheld
`

// newUnheld is an Envoy with websockets and small bodies before one server.
func newUnheld(t *testing.T, cell harness.Cell) (envoy *harness.Envoy, server *harness.Scripted) {
	t.Helper()
	server, err := harness.NewScripted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	edit := func(config string) string {
		if cell.Buffer() {
			config = strings.Replace(config, "              routes:\n", unheld, 1)
		}
		return strings.Replace(config, "use_remote_address: true\n",
			"use_remote_address: true\n          upgrade_configs: [{upgrade_type: websocket}]\n", 1)
	}
	plugin := map[string]any{"config": harness.Document(1)}
	envoy, err = harness.StartWith(harness.Options{Edit: edit}, cell, []string{server.Address},
		&harness.Listener{Name: "requests", Plugin: plugin, MaxBodyBytes: smallBody},
		&harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true, MaxBodyBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	envoy.LogOnFailure(t)
	envoy.Publish(t, harness.Endpoint{Name: "a", Address: server.Address})
	return envoy, server
}

// TestUnheld: websockets, calls of gRPC that stream both ways, and forms that are longer than any body that may wait
// reach a server as they come. With Envoy's buffer filter they do on routes of their own.
func TestUnheld(t *testing.T) {
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			envoy, server := newUnheld(t, cell)
			t.Run("websocket", func(t *testing.T) {
				server.Script(t, echoRaw)
				wantEcho(t, envoy.Address("requests"))
			})
			t.Run("gRPC", func(t *testing.T) {
				server.Script(t, echoFrames)
				wantBothWays(t, envoy.URL("requests", "/inference.GRPCInferenceService/ModelStreamInfer"))
			})
			t.Run("form", func(t *testing.T) {
				server.Script(t, func(w http.ResponseWriter, r *http.Request) {
					n, _ := io.Copy(io.Discard, r.Body)
					_, _ = fmt.Fprint(w, n)
				})
				request := harness.Request(t, http.MethodPost, envoy.URL("requests", "/v1/audio/transcriptions"),
					strings.Repeat("x", 5*smallBody), true)
				request.Header.Set("Content-Type", "multipart/form-data; boundary=x")
				got := harness.Send(t, harness.Client(t, false), request)
				if want := fmt.Sprint(5 * smallBody); got.Status != http.StatusOK || got.Body != want {
					t.Errorf("got %d %s, want 200 and %s bytes at the server", got.Status, got.Body, want)
				}
			})
		})
	}
}

// wantEcho checks that what is said by a websocket comes back.
func wantEcho(t *testing.T, address string) {
	t.Helper()
	c := harness.Dial(t, address)
	c.Say(t, "GET /v1/realtime HTTP/1.1\r\nhost: e2e\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n")
	answer := make([]byte, len("hello"))
	reader := bufio.NewReader(c)
	response, err := http.ReadResponse(reader, nil)
	if err == nil && response.StatusCode == http.StatusSwitchingProtocols {
		c.Say(t, "hello")
		_, err = io.ReadFull(reader, answer)
	}
	if string(answer) != "hello" {
		t.Errorf("got %v, %q, %v, want hello", response, answer, err)
	}
}

// echoRaw takes an upgrade, and gives back what it gets.
func echoRaw(w http.ResponseWriter, _ *http.Request) {
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n")
	_, _ = io.Copy(c, buffered)
}

// echoFrames gives back each part of the body when it comes.
func echoFrames(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	part := make([]byte, 100)
	for {
		n, err := r.Body.Read(part)
		_, _ = w.Write(part[:n])
		_ = http.NewResponseController(w).Flush()
		if err != nil {
			return
		}
	}
}

// wantBothWays checks that a part of the body is answered before the next one is sent.
func wantBothWays(t *testing.T, url string) {
	t.Helper()
	body, sent := io.Pipe()
	// Without an answer to its first part the call would wait for ever.
	defer time.AfterFunc(20*time.Second, func() { _ = sent.Close() }).Stop()
	request, err := http.NewRequest(http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/grpc")
	go func() { _, _ = io.WriteString(sent, "one") }()
	response, err := harness.Client(t, true).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	part := make([]byte, len("one"))
	for _, next := range []string{"two", ""} {
		if _, err := io.ReadFull(response.Body, part); err != nil {
			t.Fatalf("no answer to a part of the call: %v", err)
		}
		if next == "" {
			break
		}
		if _, err := io.WriteString(sent, next); err != nil {
			t.Fatalf("the call has ended before its client: %v", err)
		}
	}
	_ = sent.Close()
	if string(part) != "two" {
		t.Errorf("got %q, want two", part)
	}
}
