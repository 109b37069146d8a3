package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// TestWhyARequestFailed: what a request's line in the access log says of each way to fail has a row of its own in
// docs/operations.md.
func TestWhyARequestFailed(t *testing.T) {
	tests := []struct{ name, mode, details, flag string }{
		{"full", "full", "via_upstream", ""},
		{"ends before its answer", "reset", "upstream_reset_before_response_started", "UC"},
		{"ends in its answer", "cut", "upstream_reset_after_response_started", ""},
		{"hangs until the client leaves", "hang", "downstream_remote_disconnect", "DC"},
		{"is gone", "", "upstream_reset_before_response_started", "UF"},
	}
	server, err := harness.NewServer(sim.Config{Name: "sim-0", Models: models})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "access.log")
	envoy := loggingEnvoy(t, file)
	dead, err := harness.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(harness.Root(), "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for i, tc := range tests {
		address := server.Address
		if tc.mode == "" {
			address = dead
		} else {
			orderFailure(t, address, tc.mode)
		}
		envoy.Publish(t, harness.Endpoint{Name: fmt.Sprint("default/", i), Address: address},
			harness.Endpoint{Name: fmt.Sprint("default/", i, "-too"), Address: address})
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, envoy.URL("requests", chatPath),
			strings.NewReader(`{"model":"sim-model","messages":[{"role":"user","content":"hello"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if response, err := harness.Client(t, false).Do(request); err == nil {
			_, _ = io.Copy(io.Discard, response.Body) // who closes it before its end has left
			_ = response.Body.Close()
		}
		cancel()
		line := lineOfLog(t, file, i)
		details, _, _ := strings.Cut(line["envoy.response_code_details"], "{")
		if details != tc.details || !strings.Contains(line["envoy.response_flags"], tc.flag) {
			t.Errorf("%s: got %v, want %s and %s", tc.name, line, tc.details, tc.flag)
		}
		if !hasRow(string(page), tc.details, tc.flag) {
			t.Errorf("%s: docs/operations.md has no row for %s with %q", tc.name, tc.details, tc.flag)
		}
	}
}

// loggingEnvoy starts an Envoy that writes the shipped access log to a file.
func loggingEnvoy(t *testing.T, file string) *harness.Envoy {
	t.Helper()
	o := harness.Options{Args: []string{"--file-flush-interval-msec", "200"}, Edit: func(text string) string {
		return logged(text, file, "")
	}}
	plugin := map[string]any{"config": harness.Document(3), "failing": map[string]any{"policy": "ignore"}}
	return startEnvoy(t, o, harness.Cell{Hold: "pause", Destination: "original-dst"}, nil, plugin)
}

func orderFailure(t *testing.T, address, mode string) {
	t.Helper()
	response, err := http.Post("http://"+address+"/sim/fail", "application/json",
		strings.NewReader(fmt.Sprintf(`{"mode":%q}`, mode)))
	if err != nil || response.StatusCode != http.StatusNoContent {
		t.Fatalf("told to fail by %s: got %v, %v", mode, response, err)
	}
	_ = response.Body.Close()
}

// lineOfLog is line n of an access log, once it is there.
func lineOfLog(t *testing.T, file string, n int) map[string]string {
	t.Helper()
	named := map[string]string{}
	harness.WaitFor(t, 30*time.Second, "the log to be written", func() (bool, string) {
		text, err := os.ReadFile(file)
		lines := strings.SplitAfter(string(text), "\n")
		if err != nil || len(lines) < n+2 {
			return false, fmt.Sprint(len(lines)-1, " lines, ", err)
		}
		var of map[string]any
		if err := json.Unmarshal([]byte(lines[n]), &of); err != nil {
			t.Fatalf("%s: %v", lines[n], err)
		}
		for name, value := range of {
			named[name] = fmt.Sprint(value)
		}
		return true, ""
	})
	return named
}

// hasRow reports whether a table's row begins with a cell that names both.
func hasRow(page, details, flag string) bool {
	for line := range strings.Lines(page) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.Contains(cells[1]+cells[2], "`"+details+"`") &&
			(flag == "" || strings.Contains(line, "`"+flag+"`")) {
			return true
		}
	}
	return false
}
