//go:build istio

package istio

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestRouting: whatever the destination, requests are steered as in an Envoy of one's own.
func TestRouting(t *testing.T) {
	tests := []struct {
		name string
		test func(t *testing.T, g *gateway)
	}{
		{"load", testLoad}, {"prompt", testPrompt}, {"errors", testErrors}, {"no body", testNoBody},
		{"forged headers", testForged},
		{"long bodies", testLongBodies}, {"ingest listener", testIngest}, {"chain", testChain},
		{"full server", testFullServer}, {"connecting", testConnecting}, {"timeouts", testTimeouts},
		{"dead server", testDeadServer},
	}
	for _, overlay := range []string{"file", "override-host", "inference-pool", "gateway-api",
		"gateway-api-override-host"} {
		t.Run(overlay, func(t *testing.T) {
			g := newGateway(t, render(t, "overlays/"+overlay), settings{})
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) { test.test(t, g) })
			}
		})
	}
}

// testLoad: what the sidecar scrapes decides, on all workers.
func testLoad(t *testing.T, g *gateway) {
	for _, best := range []int{2, 0, 1} {
		g.prefer(t, best)
	}
}

// testPrompt: among equal servers a prompt goes where it went before, so the body was read.
func testPrompt(t *testing.T, g *gateway) {
	for _, s := range g.servers {
		s.PinWaiting(t, 0)
	}
	seen := map[string]bool{}
	for i := range 16 {
		body := fmt.Sprintf(`{"model":"sim-model","messages":[{"role":"user","content":"%d %s"}],"max_tokens":2}`, i,
			strings.Repeat("tell me more ", 500))
		first := g.chat(t, body)
		seen[first.Server()] = true
		for range 4 {
			if got := g.chat(t, body); got.Status != http.StatusOK || got.Server() != first.Server() {
				t.Errorf("prompt %d: got %d from %q, want %q, which has seen it", i, got.Status, got.Server(),
					first.Server())
			}
		}
	}
	if len(seen) < 2 {
		t.Errorf("all prompts went to %v, want them spread", seen)
	}
}

// testErrors: what cannot be routed is answered by Pintle.
func testErrors(t *testing.T, g *gateway) {
	for _, test := range []struct{ body, reason string }{{"{", "invalid_body"}, {`{"messages":[]}`, "model_missing"}} {
		if got := g.chat(t, test.body); got.Status != http.StatusBadRequest ||
			got.Header.Get("X-Pintle-Reason") != test.reason {
			t.Errorf("%s: got %d %q, want 400 %q", test.body, got.Status, got.Header.Get("X-Pintle-Reason"),
				test.reason)
		}
	}
}

// testNoBody: requests that have nothing to be judged by are steered, too: their headers can still be written when they
// come.
func testNoBody(t *testing.T, g *gateway) {
	passed := g.counter(t, "pintle.requests.passed")
	requests := []struct{ method, path string }{
		{http.MethodGet, "/v1/models"}, {http.MethodHead, "/v1/models"}, {http.MethodOptions, chatPath},
		{http.MethodPost, chatPath}, {http.MethodDelete, "/v1/responses/1"},
	}
	for _, r := range requests {
		for _, http2 := range []bool{false, true} {
			got := harness.Send(t, harness.Client(t, http2),
				harness.Request(t, r.method, "http://"+g.requests+r.path, "", false))
			if got.Server() == "" {
				t.Errorf("%s %s, HTTP/2 %v: got %d, want an answer of a server", r.method, r.path, http2, got.Status)
			}
		}
	}
	// Statistics of workers reach the admin page a little later.
	want := passed + int64(2*len(requests))
	harness.WaitFor(t, pushLimit, "the requests counted", func() (bool, string) {
		got := g.counter(t, "pintle.requests.passed")
		return got == want, fmt.Sprintf("%d, want %d", got, want)
	})
}

// counter is one of Pintle's statistics.
func (g *gateway) counter(t testing.TB, name string) int64 {
	t.Helper()
	return g.Stats(t, strings.ReplaceAll(name, ".", `\.`)+"$")["wasmcustom."+name]
}

// routingHeaders are those by which a client could try to name its server.
var routingHeaders = []string{"x-envoy-original-dst-host", "x-gateway-destination-endpoint"}

// testForged: no client can name the server that its request goes to.
func testForged(t *testing.T, g *gateway) {
	trap := harness.NewTrap(t)
	g.prefer(t, 1)
	g.forget(t)
	forged := func(method, path, body string) *http.Request {
		r := harness.Request(t, method, "http://"+g.requests+path, body, false)
		for _, name := range routingHeaders {
			r.Header[http.CanonicalHeaderKey(name)] = []string{trap.Address, g.servers[2].Address}
		}
		return r
	}
	for range 6 {
		for _, http2 := range []bool{false, true} {
			client := harness.Client(t, http2)
			if got := harness.Send(t, client, forged(http.MethodPost, chatPath, chatBody)); got.Server() != "sim-1" {
				t.Errorf("chat: got %d from %q, want sim-1", got.Status, got.Server())
			}
			harness.Send(t, client, forged(http.MethodGet, "/v1/models", ""))
			harness.Send(t, client, forged(http.MethodPost, "/v2/what", "{}"))
			harness.Send(t, client, forged(http.MethodPost, chatPath, ""))
		}
	}
	const tries = "x-envoy-max-retries" // which an HTTPRoute sets for Envoy
	received := 0
	for _, s := range g.servers {
		for _, r := range s.Requests() {
			if r.Path == "/metrics" {
				continue
			}
			received++
			if got := r.Headers[tries]; got != nil {
				t.Errorf("%s %s: server received %s: %q, want none", r.Method, r.Path, tries, got)
			}
			if got := r.Headers[routingHeaders[1]]; len(got) != 1 || !g.owns(got[0]) {
				t.Errorf("%s %s: server received %s: %q, want our choice", r.Method, r.Path, routingHeaders[1], got)
			}
			if got := r.Headers[routingHeaders[0]]; len(got) > 1 || len(got) == 1 && !g.owns(got[0]) {
				t.Errorf("%s %s: server received %s: %q, want none or our choice", r.Method, r.Path, routingHeaders[0],
					got)
			}
		}
	}
	if received == 0 {
		t.Error("servers received nothing")
	}
}

// owns reports whether a ranked list names servers of the gateway and nothing else.
func (g *gateway) owns(list string) bool {
	for address := range strings.SplitSeq(list, ",") {
		if !slices.ContainsFunc(g.servers, func(s *harness.Server) bool { return s.Address == address }) {
			return false
		}
	}
	return true
}

// forget empties the servers' logs.
func (g *gateway) forget(t testing.TB) {
	t.Helper()
	for _, s := range g.servers {
		request, err := http.NewRequest(http.MethodDelete, "http://"+s.Address+"/sim/requests", nil)
		if err != nil {
			t.Fatal(err)
		}
		harness.Send(t, harness.Client(t, false), request)
	}
}

// testLongBodies: the buffer filter's limit is the one that counts, whatever Istio sets on the listener.
func testLongBodies(t *testing.T, g *gateway) {
	for _, test := range []struct {
		bytes  int
		status int
		server bool
	}{{20 << 20, http.StatusBadRequest, true}, {34 << 20, http.StatusRequestEntityTooLarge, false}} {
		body := `{"model":"sim-model","messages":[{"role":"user","content":"` + strings.Repeat("x", test.bytes) + `"}]}`
		for _, http2 := range []bool{false, true} {
			got, err := g.try(harness.Client(t, http2), body)
			// The model server finds 20 MiB too long for its context; that is its own answer.
			if err != nil || got.Status != test.status || (got.Server() != "") != test.server {
				t.Errorf("%d bytes, HTTP/2 %v: got %d from %q, %v, want %d", test.bytes, http2, got.Status,
					got.Server(), err, test.status)
			}
		}
	}
}

// testIngest: snapshots are taken on the ingest listener and with the token alone, and nothing else is there.
func testIngest(t *testing.T, g *gateway) {
	if status, answer := harness.Post(t, g.ingest, "Bearer another-token",
		strings.NewReader("PNTL")); status != http.StatusUnauthorized {
		t.Errorf("another token: got %d %s, want 401", status, answer)
	}
	if status, answer := harness.Post(t, g.ingest, "Bearer "+ingestToken,
		strings.NewReader("PNTL")); status != http.StatusBadRequest {
		t.Errorf("no snapshot: got %d %s, want 400", status, answer)
	}
	got := harness.Send(t, harness.Client(t, false),
		harness.Request(t, http.MethodPost, "http://"+g.ingest+chatPath, chatBody, false))
	if got.Status != http.StatusNotFound {
		t.Errorf("a chat request there: got %d from %q, want 404", got.Status, got.Server())
	}
	request := harness.Request(t, http.MethodPost, "http://"+g.requests+harness.IngestPath, "PNTL", false)
	request.Header.Set("Authorization", "Bearer "+ingestToken)
	if got := harness.Send(t, harness.Client(t, false), request); got.Server() == "" {
		t.Errorf("a snapshot to the requests' listener: got %d, want an ordinary request", got.Status)
	}
}

// testChain: istiod puts Pintle before the filters that hold the request and name its server, and Envoy has refused
// nothing.
func testChain(t *testing.T, g *gateway) {
	dump, err := g.Admin("/config_dump?resource=dynamic_listeners")
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, name := range []string{"pintle~istio-translated-wasmplugin", `"pintle.buffer"`, `"pintle.header_mutation"`,
		`"envoy.filters.http.router"`} {
		next := strings.Index(dump[at+1:], name)
		if next < 0 {
			t.Fatalf("%s is missing in the chain, or stands too early", name)
		}
		at += 1 + next
	}
	for name, n := range g.Stats(t, "update_rejected|config_fail") {
		if n != 0 {
			t.Errorf("%s: got %d, want 0", name, n)
		}
	}
}
