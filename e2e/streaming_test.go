package e2e

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestStreaming: the first event of an answer arrives before the server has sent the second.
func TestStreaming(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.Publish(t, harness.Endpoint{Name: "scripted", Address: f.scripted.Address})
		for _, http2 := range []bool{false, true} {
			seen := make(chan struct{})
			f.scripted.Script(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: one\n\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-seen:
					_, _ = io.WriteString(w, "data: two\n\n")
				case <-time.After(10 * time.Second):
					_, _ = io.WriteString(w, "data: the first event was held back\n\n")
				}
			})
			request := harness.Request(t, http.MethodPost, f.URL("requests", chatPath), chatBody, false)
			response, err := harness.Client(t, http2).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			first, err := bufio.NewReader(response.Body).ReadString('\n')
			close(seen)
			rest, restErr := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil || restErr != nil || first != "data: one\n" ||
				!strings.HasSuffix(string(rest), "data: two\n\n") {
				t.Errorf("HTTP/2 %v: got %q (%v) and then %q (%v)", http2, first, err, rest, restErr)
			}
		}
	})
}

// TestStreamFromServer: a whole stream of a model server arrives in order.
func TestStreamFromServer(t *testing.T) {
	body := strings.Replace(chatBody, "{", `{"stream":true,"stream_options":{"include_usage":true},`, 1)
	inCells(t, func(t *testing.T, f *fixture) {
		got := harness.Send(t, harness.Client(t, false),
			harness.Request(t, http.MethodPost, f.URL("requests", chatPath), body, false))
		wantServer(t, got, "sim-0")
		if !strings.HasSuffix(got.Body, "data: [DONE]\n\n") || !strings.Contains(got.Body, `"completion_tokens":2`) {
			t.Errorf("got %q, want a stream with usage and [DONE]", got.Body)
		}
	})
}
