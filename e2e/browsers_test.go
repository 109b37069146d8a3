package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// withCORS lets a browser's page of https://app ask, by Envoy's filter in front of Pintle.
func withCORS(config string) string {
	return strings.NewReplacer(
		"          http_filters:\n          - &pintle\n",
		"          http_filters:\n"+filter("cors", "cors.v3.Cors")+"          - &pintle\n",
		"            - name: model-servers\n", `            - name: model-servers
              typed_per_filter_config:
                envoy.filters.http.cors:
                  "@type": type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy
                  allow_origin_string_match: [{exact: "https://app"}]
                  allow_methods: POST
                  expose_headers: x-pintle-reason
`).Replace(config)
}

// TestBrowsers: with Envoy's filter for CORS in front of Pintle a page is told what it may ask while no server is
// known, and can read what Pintle refuses and what servers answer.
func TestBrowsers(t *testing.T) {
	t.Parallel()
	s := loadShipped(t, "envoy.yaml")
	s.text = withCORS(s.text)
	s.start(t)
	url := "http://" + s.requests + chatPath
	send := func(method, body string) harness.Answer {
		request := harness.Request(t, method, url, body, false)
		request.Header.Set("Origin", "https://app")
		if method == http.MethodOptions {
			request.Header.Set("Access-Control-Request-Method", "POST")
		}
		got := harness.Send(t, harness.Client(t, false), request)
		if allowed := got.Header.Get("Access-Control-Allow-Origin"); allowed != "https://app" {
			t.Errorf("%s %s: got %d with access-control-allow-origin %q, want https://app", method, body, got.Status,
				allowed)
		}
		return got
	}
	if got := send(http.MethodOptions, ""); got.Status != http.StatusOK {
		t.Errorf("preflight: got %d %s, want 200", got.Status, got.Header.Get("X-Pintle-Reason"))
	}
	wantError(t, send(http.MethodPost, chatBody), http.StatusServiceUnavailable, "no_endpoints")
	s.publish(t, []harness.Endpoint{{Name: "sim-0", Address: s.servers[0].Address}})
	wantServer(t, send(http.MethodPost, chatBody), "sim-0")
	wantError(t, send(http.MethodPost, "{"), http.StatusBadRequest, "invalid_body")
}
