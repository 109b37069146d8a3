package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// varying are the names in a line of the access log whose values are another request's alone.
var varying = []string{"client.address", "envoy.bytes_received", "envoy.bytes_sent", "envoy.duration_ms",
	"envoy.request_id", "server.address", "time"}

// TestFailedLines: what the documentation shows of the access log is what the shipped configuration writes of a request
// that is refused, and of one whose server cannot be reached. OpenAI's client understands both answers.
func TestFailedLines(t *testing.T) {
	s := loadShipped(t, "envoy.yaml")
	file := filepath.Join(t.TempDir(), "access.log")
	s.text = strings.Replace(s.text, "path: /dev/stdout", "path: "+file, 1)
	envoy, err := harness.StartText(s.text, s.admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	envoy.LogOnFailure(t)
	s.publish(t, []harness.Endpoint{{Name: "default/vllm-0", Address: s.dead, Models: []string{"sim-model"}}})
	body := strings.Replace(chatBody, "sim-model", "other", 1)
	got := harness.Send(t, harness.Client(t, false),
		harness.Request(t, http.MethodPost, "http://"+s.requests+chatPath, body, false))
	wantError(t, got, http.StatusNotFound, "model_not_found")
	harness.RunOpenAI(t, "openai_client.py", "http://"+s.requests+"/v1", "unreachable")

	want := shownLines(t)
	harness.WaitFor(t, 30*time.Second, "the log to be written", func() (bool, string) {
		text, err := os.ReadFile(file)
		return bytes.Count(text, []byte("\n")) == len(want), fmt.Sprintf("%s (%v)", text, err)
	})
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		if got := stable(t, line); !reflect.DeepEqual(got, want[i]) {
			t.Errorf("line %d of the log, without what varies:\n%v\nwant as in docs/operations.md:\n%v", i+1, got,
				want[i])
		}
	}
}

// shownLines are the lines of the access log that the documentation shows.
func shownLines(t *testing.T) (lines []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(), "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1) {
		lines = append(lines, stable(t, found[1]))
	}
	if len(lines) != 2 {
		t.Fatalf("docs/operations.md shows %d lines, want 2", len(lines))
	}
	return lines
}

// stable is a line without the names that are null, and without the values of those that vary.
func stable(t *testing.T, line []byte) map[string]any {
	t.Helper()
	var named map[string]any
	if err := json.Unmarshal(line, &named); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	for name, value := range named {
		if value == nil {
			delete(named, name)
		}
	}
	for _, name := range varying {
		if named[name] != nil {
			named[name] = "..."
		}
	}
	return named
}
