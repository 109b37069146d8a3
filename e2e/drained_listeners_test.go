package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestDrainedListeners: answers that stream while Envoy's listeners drain come to their end. The sidecar hears of them,
// and clients are served, as long as the listeners stay, which they do with skip_exit alone.
func TestDrainedListeners(t *testing.T) {
	for _, stays := range []bool{true, false} {
		t.Run(fmt.Sprintf("listeners stay %v", stays), func(t *testing.T) {
			t.Parallel()
			release, how := make(chan struct{}), "/drain_listeners?graceful"
			if stays {
				how += "&skip_exit"
			}
			envoy, sidecar := startDraining(t, release)
			ask := func(content string, http2 bool) (*http.Response, error) {
				return harness.Client(t, http2).Do(harness.Request(t, http.MethodPost, envoy.URL("requests", chatPath),
					strings.Replace(chatBody, "hello", content, 1), false))
			}
			var streams []*http.Response
			for i := range 4 {
				response, err := ask("slowly", i%2 == 1)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				streams = append(streams, response)
			}
			if err := envoy.Order(how); err != nil {
				t.Fatal(err)
			}
			answered, closed := 0, 0
			harness.WaitFor(t, time.Minute, "the end of draining", func() (bool, string) {
				response, err := ask("hello", false)
				if err != nil {
					return !stays, err.Error()
				}
				defer response.Body.Close()
				if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
					t.Fatalf("got %s %q, %v during the drain, want 200", response.Status, body, err)
				}
				answered++
				if closed++; !response.Close {
					closed = 0
				}
				return stays && closed == 20, fmt.Sprint(closed, " connections in a row are closed")
			})
			close(release)
			for i, response := range streams {
				rest, err := io.ReadAll(response.Body)
				if err != nil || response.StatusCode != http.StatusOK ||
					!strings.HasSuffix(string(rest), "[DONE]\n\n") {
					t.Errorf("stream %d: got %s %q, %v, want 200 and its end", i, response.Status, rest, err)
				}
			}
			if stays {
				wantMetricOf(t, sidecar, `pintle_request_duration_seconds_count{model="sim-model"}`,
					answered+len(streams))
			}
		})
	}
}

// startDraining starts an Envoy that drains within a second, before a server whose answers to "slowly" end with
// release, and its sidecar. All workers know of the follower.
func startDraining(t *testing.T, release <-chan struct{}) (*harness.Envoy, *harness.Sidecar) {
	t.Helper()
	server, err := harness.NewScripted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Script(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, "data: first\n\n")
		_ = http.NewResponseController(w).Flush()
		if strings.Contains(string(body), "slowly") {
			<-release
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	})
	envoy := startEnvoy(t, harness.Options{Args: []string{"--drain-time-s", "1"}}, recoveryCells[0], nil,
		alone("active-request-scorer"))
	told := newBegun(&lastCompletion{})
	_, stop := followedBy(t, envoy, harness.Token, told, 0)
	sidecar := harness.StartSidecarWith(t, fmt.Sprintf("envoy: {ingest: %q, token: %q}\n"+
		"admin: {address: \"127.0.0.1:0\"}\ndiscovery: {static: [{name: a, address: %q, engine: vllm}]}\n",
		envoy.URL("ingest", harness.IngestPath), harness.Token, server.Address))
	told.await(t, envoy.URL("requests", chatPath))
	stop()
	return envoy, sidecar
}
