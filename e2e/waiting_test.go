package e2e

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestNothingIsAwaitedForEver: where no snapshot comes, and then none that has a server, requests of all kinds are
// refused once the wait is over, beside those whose clients have left; and when a server has come they are served.
func TestNothingIsAwaitedForEver(t *testing.T) {
	requests := []struct{ method, path, body string }{
		{http.MethodPost, chatPath, chatBody}, {http.MethodGet, "/v1/models", ""}, {http.MethodPost, "/what", "x"},
	}
	server, err := harness.NewScripted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Script(t, func(http.ResponseWriter, *http.Request) {})
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			plugin := map[string]any{"config": harness.Document(1), "startup": map[string]any{"wait": "2s"},
				"empty": map[string]any{"wait": "1s"}}
			envoy := startEnvoy(t, harness.Options{}, cell, []string{server.Address}, plugin)
			send := func(status int) {
				var all sync.WaitGroup
				for i, r := range requests {
					for range 4 {
						request := harness.Request(t, r.method, envoy.URL("requests", r.path), r.body, i%2 == 1)
						all.Go(func() { wantStatus(t, request, status) })
					}
				}
				all.Wait()
			}
			ctx, leave := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer leave()
			for range 8 {
				request := harness.Request(t, http.MethodPost, envoy.URL("requests", chatPath), chatBody, false)
				client := harness.Client(t, false)
				go func() { _, _ = client.Do(request.WithContext(ctx)) }()
			}
			send(http.StatusServiceUnavailable)
			envoy.Publish(t)
			send(http.StatusServiceUnavailable)
			envoy.Publish(t, harness.Endpoint{Name: "scripted", Address: server.Address})
			send(http.StatusOK)
		})
	}
}

// wantStatus sends a request in any goroutine.
func wantStatus(t *testing.T, request *http.Request, want int) {
	response, err := harness.Client(t, false).Do(request)
	if err != nil {
		t.Errorf("%s: %v", request.URL.Path, err)
		return
	}
	defer response.Body.Close()
	reason := ""
	if want != http.StatusOK {
		reason = "no_endpoints"
	}
	if got := response.Header.Get("X-Pintle-Reason"); response.StatusCode != want || got != reason {
		t.Errorf("%s: got %d %q, want %d %q", request.URL.Path, response.StatusCode, got, want, reason)
	}
}

// TestWaitingRoom: so many requests wait for the first snapshot in a worker, and what comes beyond is refused at once.
func TestWaitingRoom(t *testing.T) {
	const most, beyond = 1024, 40
	server, err := harness.NewScripted()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Script(t, func(http.ResponseWriter, *http.Request) {})
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			plugin := map[string]any{"config": harness.Document(1), "startup": map[string]any{"wait": "60s"}}
			envoy := startEnvoy(t, harness.Options{Workers: 1}, cell, []string{server.Address}, plugin)
			client := harness.Client(t, true)
			answers := make(chan int, most+beyond)
			for range most + beyond {
				request := harness.Request(t, http.MethodPost, envoy.URL("requests", chatPath), chatBody, false)
				go func() {
					response, err := client.Do(request)
					if err != nil {
						t.Error(err)
						answers <- 0
						return
					}
					_ = response.Body.Close()
					answers <- response.StatusCode
				}()
			}
			for range beyond {
				if got := <-answers; got != http.StatusServiceUnavailable {
					t.Errorf("no room: got %d, want 503", got)
				}
			}
			envoy.Publish(t, harness.Endpoint{Name: "scripted", Address: server.Address})
			for range most {
				if got := <-answers; got != http.StatusOK {
					t.Fatalf("a request that waited: got %d, want 200", got)
				}
			}
		})
	}
}
