package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// withoutPintle has routes on which the filter is disabled, to another cluster and to the model servers' own, and what
// docs/configuration.md says for these.
var withoutPintle = strings.NewReplacer("              routes:\n", `              routes:
              - match: {prefix: /elsewhere}
                route: {cluster: elsewhere}
                typed_per_filter_config: &off
                  pintle: {"@type": type.googleapis.com/envoy.config.route.v3.FilterConfig, disabled: true}
              - match: {prefix: /here}
                route: {cluster: model-servers}
                typed_per_filter_config: *off
`, "use_remote_address: true\n", `use_remote_address: true
          early_header_mutation_extensions:
          - name: envoy.http.early_header_mutation.header_mutation
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation
              mutations: [{remove: x-envoy-original-dst-host}, {remove: x-gateway-destination-endpoint}]
`)

// TestDisabledOnARoute: on a route where the filter is disabled, requests are none of its affair, and clients cannot
// name their server where the header by which they could is removed before.
func TestDisabledOnARoute(t *testing.T) {
	for _, cell := range harness.Cells() {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			elsewhere, err := harness.NewScripted()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(elsewhere.Close)
			elsewhere.Script(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Sim-Server", "other")
			})
			trap := harness.NewTrap(t)
			o := harness.Options{Edit: func(config string) string {
				return withCluster("elsewhere", elsewhere.Address)(withoutPintle.Replace(config))
			}}
			l := newLab(t, o, cell, alone("queue-scorer"))
			l.LogOnFailure(t)
			endpoints := l.endpoints()
			endpoints[0].Models, endpoints[1].Models, endpoints[2].Models = models, models, models
			l.Publish(t, endpoints...)
			client := harness.Client(t, false)
			send := func(path string) harness.Answer {
				body := strings.Replace(chatBody, "sim-model", "of-others", 1)
				request := harness.Request(t, http.MethodPost, l.URL("requests", path+chatPath), body, false)
				for _, name := range routing {
					request.Header.Set(name, trap.Address)
				}
				return harness.Send(t, client, request)
			}
			wantServer(t, send("/elsewhere"), "other")
			wantError(t, send(""), http.StatusNotFound, "model_not_found")
			got := send("/here")
			reason := got.Header.Get("X-Pintle-Reason")
			if reason != "" || (got.Server() != "") != cell.OverrideHost() {
				t.Errorf("got %d %s from %q, want a server of the cluster with override_host, and else none",
					got.Status, reason, got.Server())
			}
		})
	}
}
