package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestFullServer: a server that says it is full, and one that is dead, cost a try and no request, with either shipped
// file.
func TestFullServer(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
	}{
		{"envoy.yaml", 503}, {"envoy.yaml", 429},
		{"envoy.override-host.yaml", 503}, {"envoy.override-host.yaml", 429},
	} {
		t.Run(fmt.Sprint(test.name, " ", test.status), func(t *testing.T) {
			t.Parallel()
			full, err := harness.NewScripted()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(full.Close)
			asked := make(chan string, 1000)
			full.Script(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked <- string(body)
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, `{"error":{"message":"The engine is currently busy"}}`)
			})
			s := loadShipped(t, test.name)
			dead := s.dead
			s.text = strings.ReplaceAll(s.text, port(dead), port(full.Address))
			s.start(t)
			s.publish(t, []harness.Endpoint{
				{Name: "full", Address: full.Address}, {Name: "dead", Address: dead, Waiting: 1},
				{Name: "sim-0", Address: s.servers[0].Address, Waiting: 20},
				{Name: "sim-1", Address: s.servers[1].Address, Waiting: 40},
			})
			for i := range 20 {
				got := harness.Send(t, harness.Client(t, i%2 == 1), s.chat(t))
				if got.Status != http.StatusOK || got.Server() != "sim-0" {
					t.Errorf("request %d: got %d from %q, want 200 from sim-0: %s", i, got.Status, got.Server(),
						got.Body)
				}
			}
			if len(asked) == 0 {
				t.Error("the full server was never asked, so that nothing was tried again")
			}
			for range len(asked) {
				if body := <-asked; body != chatBody {
					t.Errorf("the full server received %q, want %q", body, chatBody)
				}
			}
			if test.name != "envoy.yaml" {
				return // beyond the list's end the cluster's own policy goes on
			}
			s.publish(t, []harness.Endpoint{{Name: "full", Address: full.Address}})
			if got := harness.Send(t, harness.Client(t, false),
				s.chat(t)); got.Status != test.status || !strings.Contains(got.Body, "busy") {
				t.Errorf("no other server: got %d %s, want the full server's own answer", got.Status, got.Body)
			}
		})
	}
}

// TestRequestID: servers see the request id that the client gave.
func TestRequestID(t *testing.T) {
	s := loadShipped(t, "envoy.yaml")
	s.start(t)
	s.publish(t, []harness.Endpoint{{Name: "sim-0", Address: s.servers[0].Address}})
	request := s.chat(t)
	request.Header.Set("X-Request-Id", "my-id-7")
	request.Header.Set("X-Prefiller-Host-Port", "6.6.6.6:6")
	wantServer(t, harness.Send(t, harness.Client(t, false), request), "sim-0")
	for _, r := range s.servers[0].Requests() {
		if got := strings.Join(r.Headers["x-request-id"], " "); got != "my-id-7" {
			t.Errorf("request id: the server received %q, want the client's", got)
		}
		if got := r.Headers["x-prefiller-host-port"]; len(got) != 0 {
			t.Errorf("x-prefiller-host-port: the server received %q, want none", got)
		}
	}
}

// start runs the file.
func (s *shipped) start(t *testing.T) *harness.Envoy {
	t.Helper()
	envoy, err := harness.StartText(s.text, s.admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	envoy.LogOnFailure(t)
	return envoy
}

// chat is a request for the file's listener.
func (s *shipped) chat(t *testing.T) *http.Request {
	t.Helper()
	return harness.Request(t, http.MethodPost, "http://"+s.requests+chatPath, chatBody, false)
}
