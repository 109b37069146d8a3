package e2e

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestReconfiguredUnderWay: requests that wait for the first snapshot, and bodies of which a part has come, when the
// configuration is replaced, are served by the plug-in that has begun with them.
func TestReconfiguredUnderWay(t *testing.T) {
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			plugin := alone("active-request-scorer")
			plugin["startup"] = map[string]any{"wait": "25s"}
			l := newLab(t, harness.Options{Dynamic: true, Workers: 1}, cell, plugin)
			l.LogOnFailure(t)
			answers := make(chan string)
			send := func(http2 bool, body io.Reader) {
				client := harness.Client(t, http2)
				go func() {
					response, err := client.Post(l.URL("requests", chatPath), "application/json", body)
					if err != nil {
						answers <- err.Error()
						return
					}
					defer response.Body.Close()
					_, err = io.Copy(io.Discard, response.Body)
					answers <- fmt.Sprint(response.StatusCode, " ", err)
				}()
			}
			var uploads []*io.PipeWriter
			for _, http2 := range []bool{false, true} {
				send(http2, strings.NewReader(chatBody))
				body, upload := io.Pipe()
				send(http2, body)
				_, _ = io.WriteString(upload, chatBody[:10])
				uploads = append(uploads, upload)
			}
			l.wantStat(t, "http.requests.downstream_rq_active", 4)
			plugin["stale"] = map[string]any{"after": "3s"}
			l.Reconfigure(t, nil, l.listeners...)
			// The listener rest has another plug-in.
			l.wantStat(t, "listener_manager.listener_modified", 2)
			l.Publish(t, l.endpoints()...)
			for _, upload := range uploads {
				_, _ = io.WriteString(upload, chatBody[10:])
				_ = upload.Close()
			}
			for range 4 {
				if got := <-answers; got != "200 <nil>" {
					t.Errorf("a request that was under way got %s, want 200", got)
				}
			}
		})
	}
}

// wantStat waits until one of Envoy's statistics has a value.
func (l *lab) wantStat(t *testing.T, name string, value int64) {
	t.Helper()
	harness.WaitFor(t, 20*time.Second, fmt.Sprint(name, " to be ", value), func() (bool, string) {
		got := l.Stats(t, name+"$")[name]
		return got == value, fmt.Sprint(got)
	})
}
