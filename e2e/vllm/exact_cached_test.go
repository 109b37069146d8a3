//go:build vllm && linux

package vllm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// withinBlock is the least part of requests whose cached tokens are told to a block before they are sent.
const withinBlock = 0.95

// accessLine is what Envoy's shipped access log has of a request's cached tokens.
type accessLine struct {
	Status    int  `json:"http.response.status_code"`
	Cached    *int `json:"gen_ai.usage.cache_read.input_tokens,string"`
	Predicted *int `json:"pintle.predicted_cached_tokens,string"`
}

// predictsCached sends turns of more conversations than the caches hold, one after another, and holds what Envoy's
// access log says was expected to be cached against what the engine says was.
func predictsCached(t *testing.T, x *exact) {
	x.forget(t)
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	logged := len(x.accessLog(t))
	said := crowd(4)
	for i, talk := range said {
		if err := ask(client, x.base, talk[0]); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	var lines []accessLine
	harness.WaitFor(t, time.Minute, "all requests to be logged", func() (bool, string) {
		lines = x.accessLog(t)[logged:]
		return len(lines) >= len(said), fmt.Sprintf("%d of %d", len(lines), len(said))
	})
	near, cached := 0, 0
	var far []string
	for i, line := range lines {
		if line.Status != http.StatusOK || line.Cached == nil || line.Predicted == nil {
			t.Fatalf("request %d is logged as %+v, want how many tokens were cached, and how many expected", i, line)
		}
		cached += *line.Cached
		if off := *line.Predicted - *line.Cached; off >= -blockTokens && off <= blockTokens {
			near++
			continue
		}
		far = append(far, fmt.Sprintf("%d: %d for %d", i, *line.Predicted, *line.Cached))
	}
	t.Logf("%s: %d of %d requests within a block, with %d cached tokens in the mean; else %s", x.mode, near, len(lines),
		cached/len(lines), strings.Join(far, ", "))
	if float64(near) < withinBlock*float64(len(lines)) {
		t.Errorf("%d of %d requests are within a block, want %v of them", near, len(lines), withinBlock)
	}
	if cached == 0 {
		t.Error("nothing was cached, so nothing is shown")
	}
}

// accessLog is what Envoy has written of requests for models.
func (x *exact) accessLog(t *testing.T) (lines []accessLine) {
	t.Helper()
	text, err := os.ReadFile(x.accesses)
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(text)) {
		var line accessLine
		if !strings.HasSuffix(text, "\n") {
			break // it is being written
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		lines = append(lines, line)
	}
	return lines
}
