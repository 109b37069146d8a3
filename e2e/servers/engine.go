package servers

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Await waits until a server that has been started says at /health that it is ready. who is what it is called, done is
// closed when it has ended, and log is what it has said last.
func Await(who, base string, limit time.Duration, done <-chan struct{}, log func() string) error {
	client := http.Client{Timeout: 5 * time.Second}
	for deadline := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		response, err := client.Get(base + "/health")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-done:
			return fmt.Errorf("%s ended at its start:\n%s", who, log())
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not ready after %v:\n%s", who, limit, log())
		}
	}
}

// Occupy keeps n requests, whose answers are streams, in a server. The returned function ends them; it may be called
// again, and is at the end of the test.
func Occupy(t testing.TB, url string, n int, body func(i int) string) (release func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var held sync.WaitGroup
	for i := range n {
		held.Go(func() {
			// a constant method
			request, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body(i)))
			request.Header.Set("Content-Type", "application/json")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return // it was ended, or whoever counts the server's requests tells
			}
			defer response.Body.Close()
			for lines := bufio.NewReader(response.Body); err == nil; _, err = lines.ReadString('\n') {
			}
		})
	}
	release = func() {
		cancel()
		held.Wait()
	}
	t.Cleanup(release)
	return release
}
