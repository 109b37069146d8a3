//go:build vllm && linux

package vllm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/e2e/servers"
	"github.com/pintle-dev/pintle/internal/harness"
)

const chatPath = "/v1/chat/completions"

// chat is a request that takes as long as its answer has tokens.
func chat(modelName, text string, tokens int, stream bool) string {
	body, err := json.Marshal(map[string]any{
		"model": modelName, "messages": []message{{"user", text}}, "max_tokens": tokens, "stream": stream,
		"temperature": 0, "ignore_eos": true,
	})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return string(body)
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// endless is how many tokens an answer has that a test breaks off.
const endless = contextTokens - 1000

// openStream sends a request for a long answer and returns once its first event is there. The returned function breaks
// it off.
func openStream(t testing.TB, base, body string) context.CancelFunc {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	response := send(t, ctx, base, body)
	if _, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("stream from %s: %s, %v", base, response.Status, err)
	}
	return func() {
		cancel()
		_ = response.Body.Close()
	}
}

func send(t testing.TB, ctx context.Context, base, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+chatPath, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	client := harness.Client(t, false)
	client.Timeout = 0
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// occupy keeps n requests in an engine, past Envoy, and returns once it counts them. The returned function ends them
// and waits until the engine is idle.
func occupy(t testing.TB, e *engine, n int) (release func()) {
	t.Helper()
	end := servers.Occupy(t, e.url(chatPath), n, func(i int) string {
		return chat(model, fmt.Sprintf("occupation %d", i), endless, true)
	})
	released := false
	release = func() { // no sync.OnceFunc, which makes a panic of a test that ends in it
		if released {
			return
		}
		released = true
		end()
		e.wantRequests(t, 0)
	}
	t.Cleanup(release)
	e.wantRequests(t, n)
	return release
}

// wantRequests waits until an engine counts n requests.
func (e *engine) wantRequests(t testing.TB, n int) {
	t.Helper()
	harness.WaitFor(t, 30*time.Second, fmt.Sprintf("engine %s to have %d requests", e.name, n), func() (bool, string) {
		now := loadOf(t, e.page(t, "/metrics"))
		return int(now.Running+now.Waiting) == n, fmt.Sprintf("%+v", now)
	})
}
