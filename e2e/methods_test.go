package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestMethods: requests that are no inference go to some server, with any method, with and without a body.
func TestMethods(t *testing.T) {
	tests := []struct{ method, path, body string }{
		{http.MethodGet, "/v1/models/sim-model", ""},
		{http.MethodHead, "/v1/models", ""},
		{http.MethodOptions, chatPath, ""},
		{http.MethodDelete, "/v1/responses/resp_1", `{"reason":"done"}`},
		{http.MethodPut, chatPath, chatBody},
		{http.MethodPatch, "/v1/models", "{"},
		{http.MethodPost, chatPath, ""},
		{http.MethodGet, chatPath, chatBody},
		{http.MethodPost, "/v1/models/sim-model/completions", "no JSON"},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		for _, http2 := range []bool{false, true} {
			client := harness.Client(t, http2)
			for _, test := range tests {
				for _, chunked := range []bool{false, true} {
					f.forget(t)
					got := harness.Send(t, client,
						harness.Request(t, test.method, f.URL("requests", test.path), test.body, chunked))
					name := fmt.Sprintf("%s %s HTTP/2 %v chunked %v", test.method, test.path, http2, chunked)
					if got.Server() == "" {
						t.Fatalf("%s: got %d from Envoy, want an answer of a server; %s", name, got.Status, got.Body)
					}
					if received := f.only(t, got.Server()); received.Method != test.method ||
						received.Body != test.body {
						t.Errorf("%s: server received %s with body %q", name, received.Method, received.Body)
					}
				}
			}
		}
	})
}

// TestListModels: the list of models is some server's.
func TestListModels(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		for _, http2 := range []bool{false, true} {
			got := harness.Send(t, harness.Client(t, http2),
				harness.Request(t, http.MethodGet, f.URL("requests", "/v1/models"), "", false))
			if got.Status != http.StatusOK || got.Server() == "" || !strings.Contains(got.Body, `"sim-model"`) {
				t.Errorf("HTTP/2 %v: got %d from %q: %s", http2, got.Status, got.Server(), got.Body)
			}
		}
	})
}

// TestEmptyBody: a POST without a byte, however it is framed, goes to some server.
func TestEmptyBody(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		for _, framing := range []string{"content-length: 0\r\n\r\n", "transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
			"\r\n"} {
			c := harness.Dial(t, f.Address("requests"))
			c.Say(t, "POST "+chatPath+" HTTP/1.1\r\nhost: e2e\r\n"+framing)
			wantAnyServer(t, c.Hear(t, http.MethodPost))
		}
	})
}

// TestKeepAlive: one connection carries requests of all kinds one after the other.
func TestKeepAlive(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.prefer(t, "sim-1")
		c := harness.Dial(t, f.Address("requests"))
		for range 20 {
			c.Say(t, "GET /v1/models HTTP/1.1\r\nhost: e2e\r\n\r\n")
			wantAnyServer(t, c.Hear(t, http.MethodGet))
			c.Say(t, post(chatPath, chatBody))
			wantServer(t, c.Hear(t, http.MethodPost), "sim-1")
		}
	})
}

// post is a request as bytes.
func post(path, body string, headers ...string) string {
	var lines strings.Builder
	for _, h := range headers {
		lines.WriteString(h + "\r\n")
	}
	return fmt.Sprintf("POST %s HTTP/1.1\r\nhost: e2e\r\n%scontent-length: %d\r\n\r\n%s", path, lines.String(),
		len(body), body)
}

// TestPipelining: requests that are sent without waiting are answered in order.
func TestPipelining(t *testing.T) {
	const requests = 8
	inCells(t, func(t *testing.T, f *fixture) {
		var all string
		for i := range requests {
			all += post(chatPath,
				fmt.Sprintf(`{"model":"sim-model","messages":[{"role":"user","content":"x"}],"max_tokens":%d}`, i+1))
		}
		c := harness.Dial(t, f.Address("requests"))
		c.Say(t, all)
		for i := range requests {
			got := c.Hear(t, http.MethodPost)
			wantServer(t, got, "sim-0")
			var answer struct {
				Usage struct {
					Completion int `json:"completion_tokens"`
				} `json:"usage"`
			}
			if err := json.Unmarshal([]byte(got.Body), &answer); err != nil || answer.Usage.Completion != i+1 {
				t.Fatalf("answer %d: got %d tokens, want %d; %v", i, answer.Usage.Completion, i+1, err)
			}
		}
	})
}

// TestProxiedContinue: where Envoy leaves 100 Continue to the servers, as Istio has it do, a held request gets none; a
// client that goes on without one is served.
func TestProxiedContinue(t *testing.T) {
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			o := harness.Options{Edit: func(config string) string {
				return strings.ReplaceAll(config, "use_remote_address: true\n",
					"use_remote_address: true\n          proxy_100_continue: true\n")
			}}
			l := newLab(t, o, cell, alone("queue-scorer"))
			l.LogOnFailure(t)
			l.Publish(t, l.endpoints()...)
			client := harness.Client(t, false)
			client.Transport.(*http.Transport).ExpectContinueTimeout = time.Second
			request := harness.Request(t, http.MethodPost, l.URL("requests", chatPath), chatBody, false)
			request.Header.Set("Expect", "100-continue")
			began := time.Now()
			wantAnyServer(t, harness.Send(t, client, request))
			if took := time.Since(began); took < time.Second {
				t.Errorf("the client was served after %v, want it to have waited for nothing for a second", took)
			}
		})
	}
}
