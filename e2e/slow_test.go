package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// TestSlowUploads: with either version of HTTP a request whose headers or body do not come to their end in time is
// answered by 408, however steadily its bytes drip, and others on the same connection go on. An answer may take longer
// than that.
func TestSlowUploads(t *testing.T) {
	s := loadShipped(t, "envoy.yaml")
	for from, to := range map[string]string{"request_headers_timeout: 10s": "request_headers_timeout: 1s",
		"request_timeout: 120s": "request_timeout: 2s"} {
		if !strings.Contains(s.text, from) {
			t.Fatalf("envoy.yaml has no %s", from)
		}
		s.text = strings.Replace(s.text, from, to, 1)
	}
	server, err := harness.NewServer(sim.Config{Name: "slow", TimePerOutputToken: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	s.start(t)
	s.publish(t, []harness.Endpoint{{Name: "slow", Address: server.Address}})
	url := "http://" + s.requests + chatPath

	t.Run("headers", func(t *testing.T) {
		t.Parallel()
		c := harness.Dial(t, s.requests)
		c.Say(t, "POST "+chatPath+" HTTP/1.1\r\nhost: e2e\r\nx-slow: ")
		if got := c.Hear(t, http.MethodPost); got.Status != http.StatusRequestTimeout {
			t.Errorf("got %d %s, want 408", got.Status, got.Body)
		}
	})
	for _, test := range []struct {
		name  string
		http2 bool
	}{{"body", false}, {"body of a stream", true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := harness.Client(t, test.http2)
			stop := make(chan struct{})
			defer close(stop)
			request := harness.Request(t, http.MethodPost, url, "", false)
			request.Body, request.ContentLength, request.GetBody = io.NopCloser(&dripping{stop: stop}), 1<<20, nil
			done := make(chan int, 1)
			go func() {
				response, err := client.Do(request)
				if err != nil {
					t.Error(err)
					done <- 0
					return
				}
				_ = response.Body.Close()
				done <- response.StatusCode
			}()
			for {
				select {
				case status := <-done:
					if status != http.StatusRequestTimeout {
						t.Errorf("got %d, want 408", status)
					}
					return
				case <-time.After(200 * time.Millisecond):
					wantServer(t, harness.Send(t, client, s.chat(t)), "slow")
				}
			}
		})
	}
	t.Run("answer", func(t *testing.T) {
		t.Parallel()
		began := time.Now()
		body := `{"model":"sim-model","stream":true,"max_tokens":70,"messages":[{"role":"user","content":"slowly"}]}`
		got := harness.Send(t, harness.Client(t, false), harness.Request(t, http.MethodPost, url, body, false))
		wantServer(t, got, "slow")
		if took := time.Since(began); took < 3*time.Second || !strings.Contains(got.Body, "[DONE]") {
			t.Errorf("got an answer of %d bytes after %v, want a whole one that takes longer than a request may",
				len(got.Body), took)
		}
	})
}

// dripping is a body of a byte at a time.
type dripping struct{ stop chan struct{} }

func (d *dripping) Read(p []byte) (int, error) {
	select {
	case <-d.stop:
		return 0, io.ErrUnexpectedEOF
	case <-time.After(50 * time.Millisecond):
		p[0] = ' '
		return 1, nil
	}
}

// TestSilentAnswers: an answer that is not streamed may take longer than Envoy's own five minutes, in which nothing of
// it moves.
func TestSilentAnswers(t *testing.T) {
	for _, name := range []string{"envoy.yaml", "envoy.override-host.yaml"} {
		t.Run(name, func(t *testing.T) {
			s := loadShipped(t, name)
			dump, err := s.start(t).Admin("/config_dump")
			if err != nil || !strings.Contains(dump, `"stream_idle_timeout": "3600s"`) {
				t.Errorf("%v; want a stream_idle_timeout of 3600s in the configuration in force", err)
			}
		})
	}
}
