package e2e

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// filter is a filter of Envoy's in a configuration, with the fields that follow its type.
func filter(name, kind string, fields ...string) string {
	text := "          - name: envoy.filters.http." + name + "\n            typed_config:\n" +
		"              \"@type\": type.googleapis.com/envoy.extensions.filters.http." + kind + "\n"
	for _, field := range fields {
		text += "              " + field + "\n"
	}
	return text
}

// authorizes asks a service about the body, as far as it is not longer than most.
func authorizes(partial bool, most int) string {
	return filter("ext_authz", "ext_authz.v3.ExtAuthz", "transport_api_version: V3",
		`http_service: {server_uri: {uri: "http://authz", cluster: authz, timeout: 5s}}`,
		fmt.Sprintf("with_request_body: {max_request_bytes: %d, allow_partial_message: %v}", most, partial))
}

// lua runs a function of a request's handle and its body, once that has come.
func lua(code string) string {
	return filter("lua", "lua.v3.Lua", "default_source_code:", "  inline_string: |",
		"    function envoy_on_request(handle)", "      local body = handle:body()",
		"      if body then "+code+" end", "    end")
}

// What stands beside Pintle in other deployments: filters that read the body or write it, hold the headers, answer by
// themselves, or change the answer.
var (
	readsBody  = lua(`handle:headers():add("x-length", tostring(body:length()))`)
	writesBody = lua(`local text = string.gsub(body:getBytes(0, body:length()), "sim_model", "sim-model")
                      handle:headers():replace("content-length", tostring(#text))
                      body:setBytes(text)`)
	holdsBody = filter("buffer", "buffer.v3.Buffer", "max_request_bytes: 33554432")
	readsJSON = filter("json_to_metadata", "json_to_metadata.v3.JsonToMetadata", "request_rules:", "  rules:",
		"  - selectors: [{key: model}]", "    on_present: {metadata_namespace: envoy.lb, key: model}")
	delays     = filter("fault", "fault.v3.HTTPFault", "delay: {fixed_delay: 0.02s, percentage: {numerator: 100}}")
	aborts     = filter("fault", "fault.v3.HTTPFault", "abort: {http_status: 418, percentage: {numerator: 100}}")
	compresses = filter("compressor", "compressor.v3.Compressor", "compressor_library:", "  name: gzip",
		`  typed_config: {"@type": type.googleapis.com/envoy.extensions.compression.gzip.compressor.v3.Gzip}`)
	paces = filter("bandwidth_limit", "bandwidth_limit.v3.BandwidthLimit", "stat_prefix: paces",
		"enable_mode: REQUEST_AND_RESPONSE", "limit_kbps: 20000", "fill_interval: 0.02s")
	// Where taps write is said when the test runs.
	taps = filter("tap", "tap.v3.Tap", "common_config: {static_config: {match: {any_match: true}, output_config: "+
		"{sinks: [{format: JSON_BODY_AS_BYTES, file_per_tap: {path_prefix: TAPS}}]}}}")
	wholeBody = authorizes(false, 1<<20)
	partBody  = authorizes(true, 1000)
)

// chains are the filters before and behind Pintle, by the name of their listener.
var chains = []struct{ name, before, behind string }{
	{"reads before", readsBody, ""}, {"reads behind", "", readsBody},
	{"writes before", writesBody, ""}, {"writes behind", "", writesBody},
	{"holds before", holdsBody, ""},
	{"JSON before", readsJSON, ""}, {"JSON behind", "", readsJSON},
	{"delays before", delays, ""}, {"delays behind", "", delays},
	{"paces before", paces, ""}, {"paces behind", "", paces},
	{"taps before", taps, ""}, {"taps behind", "", taps},
	{"compresses before", compresses, ""}, {"compresses behind", "", compresses},
	{"authorizes before", wholeBody, ""}, {"authorizes behind", "", wholeBody},
	{"authorizes by a part before", partBody, ""}, {"authorizes by a part behind", "", partBody},
	{"aborts before", aborts, ""}, {"aborts behind", "", aborts},
}

// besideOthers puts the chains into their listeners.
func besideOthers(config string) string {
	for _, c := range chains {
		config = beside(config, c.name, c.before, c.behind)
	}
	return config
}

// beside puts filters before and behind Pintle into a listener.
func beside(config, listener, before, behind string) string {
	const router = "          - name: envoy.filters.http.router\n"
	head, rest, _ := strings.Cut(config, "stat_prefix: "+listener+"\n")
	rest = strings.Replace(rest, "          http_filters:\n", "          http_filters:\n"+before, 1)
	return head + "stat_prefix: " + listener + "\n" + strings.Replace(rest, router, behind+router, 1)
}

// newNeighbours is an Envoy with a listener for each chain.
func newNeighbours(t *testing.T, cell harness.Cell, l *lab) {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "yes")
	}))
	t.Cleanup(service.Close)
	dir := t.TempDir()
	o := harness.Options{Module: "pintle-failpoint.wasm", Edit: func(config string) string {
		address := service.Listener.Addr().String()
		config = besideOthers(withCluster("authz", address)(withCluster("consult", address)(config)))
		return strings.ReplaceAll(config, "TAPS", filepath.Join(dir, "tap"))
	}}
	plugin := map[string]any{"config": harness.Document(1), "stale": map[string]any{"after": "1h"}}
	l.listeners = []*harness.Listener{{Name: "rest", Plugin: alone("active-request-scorer")},
		{Name: "ingest", Plugin: plugin, Ingest: true, MaxBodyBytes: 8 << 20}}
	for _, c := range chains {
		l.listeners = append(l.listeners, &harness.Listener{Name: c.name, Plugin: plugin})
	}
	var err error
	if l.Envoy, err = harness.StartWith(o, cell, nil, l.listeners...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	l.LogOnFailure(t)
}

// TestNeighbours: beside other filters, before and behind it, Pintle decides by the body and hands it on whole, whether
// it goes on at once or asks somebody first; and what another filter answers frees what was decided.
func TestNeighbours(t *testing.T) {
	const asks = `"ask-the-cluster consult"`
	bodies := map[string]string{
		"short": chatBody, "300 KB": longChat(300_000),
		"asked about":         strings.Replace(chatBody, `"hello"`, asks, 1),
		"300 KB, asked about": strings.Replace(longChat(300_000), `}]}`, `},{"role":"user","content":`+asks+`}]}`, 1),
	}
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			l := &lab{}
			server, err := harness.NewScripted()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Close)
			server.Script(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				w.Header().Set("X-Sim-Server", "best")
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"sha":%q,"usage":{"prompt_tokens":7,"completion_tokens":3}}`, sha(string(body)))
			})
			newNeighbours(t, cell, l)
			l.Publish(t, harness.Endpoint{Name: "busy", Address: l.dead(t), Waiting: 99},
				harness.Endpoint{Name: "best", Address: server.Address})
			for _, c := range chains {
				for name, body := range bodies {
					for _, http2 := range []bool{false, true} {
						for _, trailers := range []bool{false, true} {
							what := fmt.Sprintf("%s, %s, HTTP/2 %v, trailers %v", c.name, name, http2, trailers)
							l.passBeside(t, what, c.name, body, http2, trailers)
						}
					}
				}
			}
			l.Publish(t, harness.Endpoint{Name: "best", Address: server.Address})
			l.wantRest(t, 20*time.Second)
		})
	}
}

func (l *lab) dead(t *testing.T) string {
	t.Helper()
	address, err := harness.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// passBeside sends a request to a chain, and checks what the server got and the client was told.
func (l *lab) passBeside(t *testing.T, what, chain, body string, http2, trailers bool) {
	t.Helper()
	sent := body
	if strings.HasPrefix(chain, "writes") {
		sent = strings.Replace(body, "sim-model", "sim_model", 1)
	}
	request := harness.Request(t, http.MethodPost, l.URL(chain, chatPath), sent, trailers)
	if trailers {
		request.Trailer = http.Header{"X-Checksum": {"abc"}}
	}
	request.Header.Set("Accept-Encoding", "gzip")
	got := harness.Send(t, harness.Client(t, http2), request)
	if strings.HasPrefix(chain, "aborts") {
		if got.Status != http.StatusTeapot || got.Server() != "" {
			t.Errorf("%s: got %d from %q, want 418 of Envoy", what, got.Status, got.Server())
		}
		return
	}
	got.Body = unzipped(t, got)
	if got.Status != http.StatusOK || got.Server() != "best" || !strings.Contains(got.Body, sha(body)) {
		t.Errorf("%s: got %d from %q: %.200s, want 200, and the body at the best server", what, got.Status,
			got.Server(), got.Body)
	}
}

// unzipped is the answer's body as it was before it was compressed, if it was.
func unzipped(t *testing.T, got harness.Answer) string {
	t.Helper()
	if got.Header.Get("Content-Encoding") != "gzip" {
		return got.Body
	}
	z, err := gzip.NewReader(strings.NewReader(got.Body))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}
