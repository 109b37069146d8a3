package e2e

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// routing are the headers by which a client could try to name its server.
var routing = []string{"x-envoy-original-dst-host", "x-gateway-destination-endpoint"}

// forgeries are ways to write a routing header into an HTTP/1.1 request; %s is the address that nobody may reach.
var forgeries = []struct{ name, lines string }{
	{"lower case", "x-envoy-original-dst-host: %s\r\nx-gateway-destination-endpoint: %s\r\n"},
	{"upper case", "X-ENVOY-ORIGINAL-DST-HOST: %s\r\nX-GATEWAY-DESTINATION-ENDPOINT: %s\r\n"},
	{"twice",
		"x-envoy-original-dst-host: %s\r\nX-Envoy-Original-Dst-Host: %s\r\nx-gateway-destination-endpoint: %s\r\n" +
			"X-Gateway-Destination-Endpoint: %s\r\n"},
	{"list", "x-envoy-original-dst-host: %s, %s\r\nx-gateway-destination-endpoint: %s,%s\r\n"},
	{"padded", "x-envoy-original-dst-host:  \t%s \r\nx-gateway-destination-endpoint:\t %s\t\r\n"},
	{"hop by hop", "connection: x-envoy-original-dst-host, " +
		"x-gateway-destination-endpoint\r\nx-envoy-original-dst-host: %s\r\n" +
		"x-gateway-destination-endpoint: %s\r\n"},
}

// forgedRequests are requests of every kind that Pintle tells apart; the forged lines stand for HEADERS.
var forgedRequests = []struct{ name, method, text string }{
	{"chat", "POST", "POST " + chatPath + " HTTP/1.1\r\nhost: e2e\r\nHEADERScontent-length: 83\r\n\r\n" + chatBody},
	{"chat in chunks", "POST", "POST " + chatPath +
		" HTTP/1.1\r\nhost: e2e\r\nHEADERStransfer-encoding: chunked\r\n\r\n53\r\n" + chatBody + "\r\n0\r\n\r\n"},
	{"forged trailers", "POST", "POST " + chatPath +
		" HTTP/1.1\r\nhost: e2e\r\ntransfer-encoding: chunked\r\n\r\n53\r\n" + chatBody + "\r\n0\r\nHEADERS\r\n"},
	{"chat without body", "POST", "POST " + chatPath + " HTTP/1.1\r\nhost: e2e\r\nHEADERScontent-length: 0\r\n\r\n"},
	{"broken JSON", "POST", "POST " + chatPath + " HTTP/1.1\r\nhost: e2e\r\nHEADERScontent-length: 1\r\n\r\n{"},
	{"unknown path", "POST", "POST /v2/what HTTP/1.1\r\nhost: e2e\r\nHEADERScontent-length: 2\r\n\r\n{}"},
	{"snapshot", "POST", "POST " + harness.IngestPath + " HTTP/1.1\r\nhost: e2e\r\nHEADERSauthorization: Bearer " +
		harness.Token + "\r\ncontent-length: 4\r\n\r\nPNTL"},
	{"GET", "GET", "GET /v1/models/sim-model HTTP/1.1\r\nhost: e2e\r\nHEADERS\r\n"},
	{"HEAD", "HEAD", "HEAD /metrics HTTP/1.1\r\nhost: e2e\r\nHEADERS\r\n"},
	{"OPTIONS", "OPTIONS", "OPTIONS * HTTP/1.1\r\nhost: e2e\r\nHEADERS\r\n"},
	{"DELETE", "DELETE", "DELETE /v1/x HTTP/1.1\r\nhost: e2e\r\nHEADERScontent-length: 1\r\n\r\nx"},
	{"upgrade", "GET", "GET /v1/realtime HTTP/1.1\r\nhost: e2e\r\nHEADERSupgrade: websocket\r\n\r\n"},
}

// TestForgedHeaders: no client can name the server that its request goes to, nor tell a server of another choice than
// ours.
func TestForgedHeaders(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		trap := harness.NewTrap(t)
		served := 0
		for _, forgery := range forgeries {
			for _, request := range forgedRequests {
				for _, listener := range []string{"requests", "ingest"} {
					c := harness.Dial(t, f.Address(listener))
					c.Say(t, strings.ReplaceAll(request.text, "HEADERS",
						strings.ReplaceAll(forgery.lines, "%s", trap.Address)))
					if got := c.Hear(t, request.method); got.Server() != "" {
						served++
					}
					if trap.Visitors() > 0 {
						t.Fatalf("%s, %s, listener %s: the forged address was reached", forgery.name, request.name,
							listener)
					}
				}
			}
			f.wantOurChoice(t, forgery.name)
			f.forget(t)
		}
		if served < len(forgeries)*8 {
			t.Errorf("servers answered %d requests; most must reach one", served)
		}
	})
}

// TestForgedConnect: a CONNECT is no way around it.
func TestForgedConnect(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		trap := harness.NewTrap(t)
		c := harness.Dial(t, f.Address("requests"))
		lines := strings.ReplaceAll(forgeries[0].lines, "%s", trap.Address)
		c.Say(t, "CONNECT "+trap.Address+" HTTP/1.1\r\nhost: "+trap.Address+"\r\n"+lines+"\r\nhello")
		if got := c.Hear(t, http.MethodConnect); got.Status < 400 {
			t.Errorf("got %d, want an error", got.Status)
		}
	})
}

// TestForgedHeadersHTTP2 is the same with HTTP/2.
func TestForgedHeadersHTTP2(t *testing.T) {
	requests := []struct{ method, path, body string }{
		{http.MethodPost, chatPath, chatBody}, {http.MethodPost, chatPath, ""}, {http.MethodPost, chatPath, "{"},
		{http.MethodPost, harness.IngestPath, "PNTL"}, {http.MethodGet, "/v1/models/sim-model", ""},
		{http.MethodDelete, "/v1/x", "x"},
		{http.MethodOptions, "/", ""}, {http.MethodPut, chatPath, chatBody},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		trap := harness.NewTrap(t)
		client := harness.Client(t, true)
		for _, test := range requests {
			for _, chunked := range []bool{false, true} {
				request := harness.Request(t, test.method, f.URL("requests", test.path), test.body, chunked)
				for _, name := range routing {
					request.Header[http.CanonicalHeaderKey(name)] = []string{trap.Address,
						trap.Address + "," + trap.Address}
				}
				harness.Send(t, client, request)
			}
		}
		f.wantOurChoice(t, "HTTP/2")
	})
}

// wantOurChoice checks the routing headers of all requests that servers received.
func (f *fixture) wantOurChoice(t *testing.T, what string) {
	t.Helper()
	all := f.received("")
	if len(all) == 0 {
		t.Errorf("%s: servers received nothing", what)
	}
	ours := map[string]bool{}
	for _, address := range f.addresses() {
		ours[address] = true
	}
	for _, r := range all {
		for _, name := range routing {
			values := r.Headers[name]
			if len(values) > 1 {
				t.Errorf("%s: %s %s: server received %d headers %s, want at most one", what, r.Method, r.Path,
					len(values), name)
			}
			for _, value := range values {
				for address := range strings.SplitSeq(value, ",") {
					if _, _, err := net.SplitHostPort(address); err != nil || !ours[address] {
						t.Errorf("%s: %s %s: server received %s: %q, want addresses of the pool", what, r.Method,
							r.Path, name, value)
					}
				}
			}
		}
		if len(r.Headers[routing[1]]) != 1 {
			t.Errorf("%s: %s %s: server received no %s, want ours", what, r.Method, r.Path, routing[1])
		}
	}
}
