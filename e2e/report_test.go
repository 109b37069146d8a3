package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// TestReportsAreTheRequestsOwn: the access log names the model of a request's path, though its body ends after workers
// have read other clients' headers.
func TestReportsAreTheRequestsOwn(t *testing.T) {
	t.Parallel()
	envoy, file := logsModels(t)
	model := strings.Repeat("n", 200)
	early, err := net.Dial("tcp", envoy.Address("requests"))
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	fmt.Fprintf(early, "POST /v2/models/%s/generate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", model)
	for range 16 { // some on the same worker
		request, err := http.NewRequest(http.MethodPost, envoy.URL("requests", chatPath), strings.NewReader("{"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("authorization", "Bearer "+strings.Repeat("other", 40))
		response, err := harness.Client(t, false).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	fmt.Fprint(early, "0\r\n\r\n")
	harness.WaitFor(t, 20*time.Second, "the log to have the model of the path", func() (bool, string) {
		text, _ := os.ReadFile(file)
		if strings.Contains(string(text), "Bearer") {
			t.Fatalf("the log has another client's header: %q", text)
		}
		return strings.Contains(string(text), "\n"+model+"\n"), fmt.Sprintf("%q", text)
	})
}

// TestReportsOfAnyName: whatever a client calls its model, the access log has the request's.
func TestReportsOfAnyName(t *testing.T) {
	t.Parallel()
	envoy, file := logsModels(t)
	long := strings.Repeat("\u6f22", 100)
	for _, tc := range []struct{ name, path, body, want string }{
		{"cut within a letter", chatPath, `{"model":"` + long + `","messages":[]}`, long[:255]},
		{"no UTF-8", "/v2/models/%FFno-text%C3/generate", "", "no-text"},
	} {
		request, err := http.NewRequest(http.MethodPost, envoy.URL("requests", ""), strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		request.URL.Opaque = "//" + envoy.Address("requests") + tc.path
		request.Header.Set("content-type", "application/json")
		response, err := harness.Client(t, false).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		harness.WaitFor(t, 20*time.Second, "the log to have a model, "+tc.name, func() (bool, string) {
			text, _ := os.ReadFile(file)
			return strings.Contains("\n"+string(text), "\n"+tc.want+"\n"), fmt.Sprintf("%q", text)
		})
	}
}

// logsModels is an Envoy with a server behind it whose access log has the models of requests, each in a line.
func logsModels(t *testing.T) (envoy *harness.Envoy, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "access.log")
	o := harness.Options{Args: []string{"--file-flush-interval-msec", "200"}, Edit: func(text string) string {
		return strings.Replace(text, "stat_prefix: requests\n", fmt.Sprintf(`stat_prefix: requests
          access_log:
          - name: models
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
              path: %q
              log_format: {text_format_source: {inline_string: "%%CEL(filter_state['wasm.pintle']['model'])%%\n"}}
`, file), 1)
	}}
	server, err := harness.NewServer(sim.Config{Name: "sim-0", Models: models})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	plugin := map[string]any{"config": harness.Document(1)}
	cell := harness.Cell{Hold: "buffer", Destination: "original-dst"}
	envoy = startEnvoy(t, o, cell, []string{server.Address}, plugin)
	envoy.Publish(t, harness.Endpoint{Name: "default/sim-0", Address: server.Address})
	return envoy, file
}
