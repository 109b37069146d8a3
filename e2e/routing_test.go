package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestLeastLoaded: requests go to the endpoint with the shortest queue, on all workers, with HTTP/1.1 and HTTP/2.
func TestLeastLoaded(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		for _, http2 := range []bool{false, true} {
			for _, best := range []string{"sim-3", "sim-1", "sim-2"} {
				f.prefer(t, best)
				for range 8 {
					wantServer(t, f.chat(t, "requests", http2), best)
				}
			}
		}
	})
}

// chat sends one chat request to a listener on a new connection.
func (f *fixture) chat(t testing.TB, listener string, http2 bool) harness.Answer {
	t.Helper()
	return harness.Send(t, harness.Client(t, http2),
		harness.Request(t, http.MethodPost, f.URL(listener, chatPath), chatBody, false))
}

// ask sends one chat request. Unlike Send it may be called from any goroutine.
func ask(client *http.Client, url string) (status int, server string, err error) {
	response, err := client.Post(url, "application/json", strings.NewReader(chatBody))
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.Header.Get("X-Sim-Server"), err
}
