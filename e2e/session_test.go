package e2e

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

const tokenHeader = "X-Session-Token"

func token(name string) string { return base64.StdEncoding.EncodeToString([]byte(name)) }

// wantToken checks that the response names the server that gave it.
func wantToken(t testing.TB, got harness.Answer, server string) {
	t.Helper()
	if values := got.Header.Values(tokenHeader); !slices.Equal(values, []string{token(server)}) {
		t.Errorf("got x-session-token %q from %s, want %q", values, got.Server(), token(server))
	}
}

// TestSessionToken: every answer, streamed or not, names its server, and whoever sends the token back stays there.
func TestSessionToken(t *testing.T) {
	stream := strings.Replace(chatBody, "{", `{"stream":true,`, 1)
	inCells(t, func(t *testing.T, f *fixture) {
		f.Publish(t, f.pool()...)
		served := map[string]bool{}
		for i := range 24 {
			for _, body := range []string{chatBody, stream} {
				got, _ := f.sendTo(t, "sessions", chatPath, body, i%2 == 1)
				wantToken(t, got, got.Server())
				if streamed := strings.HasPrefix(got.Header.Get("Content-Type"),
					"text/event-stream"); streamed != (body == stream) {
					t.Fatalf("got content-type %q", got.Header.Get("Content-Type"))
				}
				served[got.Server()] = true
			}
		}
		if len(served) != len(f.servers) {
			t.Errorf("without a token, requests went to %v, want all servers", served)
		}
		for _, s := range f.servers {
			for i := range 20 {
				got, _ := f.sendTo(t, "sessions", chatPath, []string{chatBody, stream}[i/2%2], i%2 == 1, tokenHeader,
					token(s.Name))
				wantServer(t, got, s.Name)
				wantToken(t, got, s.Name)
			}
		}
	})
}

// TestUselessTokens: a token that names no server of the pool changes nothing.
func TestUselessTokens(t *testing.T) {
	tests := []struct{ name, token string }{
		{"forged", token("sim-9")}, {"an address", token("127.0.0.1:1")}, {"empty name", "="},
		{"no base64", "%%% not base64 %%%"},
		{"cut", token("sim-0")[:5]}, {"of a server that has left", token("gone")},
		{"long", strings.Repeat("QUFB", 5000)},
		{"prefix of a name", token("sim-")}, {"binary", token("\x00\xff\r\n")},
		{"two", token("sim-0") + "," + token("sim-1")},
	}
	inCellsAtOnce(t, func(t *testing.T, f *fixture) {
		f.Publish(t, append(f.pool(), harness.Endpoint{Name: "gone", Address: f.dead[0]})...)
		f.Publish(t, f.pool()...)
		for _, test := range tests {
			served := map[string]bool{}
			for i := range 32 {
				got, _ := f.sendTo(t, "sessions", chatPath, chatBody, i%2 == 1, tokenHeader, test.token)
				wantToken(t, got, got.Server())
				served[got.Server()] = true
			}
			if len(served) < 2 {
				t.Errorf("%s: all requests went to %v, want several servers", test.name, served)
			}
		}
	})
}

// TestServersOwnToken: what a server says in our headers does not reach the client.
func TestServersOwnToken(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		f.Publish(t, harness.Endpoint{Name: "scripted", Address: f.scripted.Address})
		f.scripted.Script(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for _, name := range []string{tokenHeader, "X-Decoder-Host-Port"} {
				w.Header()[name] = []string{"one", "two"}
			}
		})
		for _, http2 := range []bool{false, true} {
			got := f.chat(t, "sessions", http2)
			wantToken(t, got, "scripted")
			f.wantResponseHeaders(t, "scripted", got, f.scripted.Address, "")
		}
	})
}

// TestRetriedResponse: after a fail-over the response names the server that answered, whatever the token asked for.
func TestRetriedResponse(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		if !f.Cell.OverrideHost() {
			t.Skip("an ORIGINAL_DST cluster does not fail over")
		}
		endpoints := f.pool()
		endpoints[2].Waiting = 5
		endpoints = append(endpoints, harness.Endpoint{Name: "dead", Address: f.dead[0]})
		f.Publish(t, endpoints...)
		for i := range 10 {
			for _, headers := range [][]string{nil, {tokenHeader, token("dead")}} {
				got, r := f.sendTo(t, "sessions", chatPath, chatBody, i%2 == 1, headers...)
				if list := r.Headers["x-gateway-destination-endpoint"]; len(list) != 1 ||
					!strings.HasPrefix(list[0], f.dead[0]+",") {
					t.Fatalf("server received the list %q, want the dead one first", list)
				}
				wantServer(t, got, "sim-2")
				wantToken(t, got, "sim-2")
				f.wantResponseHeaders(t, "retried", got, f.address("sim-2"), "")
			}
		}
	})
}

// TestNobodyServed: when Envoy answers itself because no server can be reached, the response names none.
func TestNobodyServed(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		var endpoints []harness.Endpoint
		for i := range 4 {
			endpoints = append(endpoints, harness.Endpoint{Name: fmt.Sprint("dead-", i), Address: f.dead[i%2]})
		}
		f.Publish(t, endpoints...)
		for _, http2 := range []bool{false, true} {
			got := f.chat(t, "sessions", http2)
			if got.Status != http.StatusServiceUnavailable || got.Server() != "" {
				t.Fatalf("got %d from %q, want 503 from Envoy", got.Status, got.Server())
			}
			wantNobody(t, "Envoy's own 503", got)
		}
	})
}

// TestStrangerServed: when the ranked list is used up and Envoy's fallback policy finds a server that is not of the
// pool, the response names none, rather than a dead one.
func TestStrangerServed(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		if !f.Cell.OverrideHost() {
			t.Skip("an ORIGINAL_DST cluster has no fallback policy")
		}
		f.Publish(t, harness.Endpoint{Name: "dead", Address: f.dead[0]})
		served := false
		for i := range 12 {
			got := f.chat(t, "sessions", i%2 == 1)
			served = served || got.Server() != ""
			wantNobody(t, fmt.Sprintf("%d from %q", got.Status, got.Server()), got)
		}
		if !served {
			t.Error("no server answered any of 12 requests")
		}
	})
}

func wantNobody(t testing.TB, what string, got harness.Answer) {
	t.Helper()
	for _, name := range []string{tokenHeader, "X-Decoder-Host-Port", "X-Prefiller-Host-Port"} {
		if values := got.Header.Values(name); len(values) != 0 {
			t.Errorf("%s has %s: %q, want none", what, name, values)
		}
	}
}
