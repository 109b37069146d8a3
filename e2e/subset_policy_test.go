package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestSubsetPolicy: within Envoy's subset policy override_host takes no entry of the ranked list, for which the first
// one is blamed, and where that policy is what override_host falls back to, the list goes before what the route asks
// for. So docs/configuration.md has requests narrowed down otherwise.
func TestSubsetPolicy(t *testing.T) {
	tests := []struct {
		name   string
		within bool
		want   string // how many of eight requests go where
	}{
		{"override_host within", true, "map[server-1:4 server-2:4]"},
		{"override_host around", false, "map[server-0:8]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var hosts []string
			var endpoints []harness.Endpoint
			for i := range 3 {
				server, err := harness.NewScripted()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(server.Close)
				name := fmt.Sprint("server-", i)
				server.Script(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Sim-Server", name) })
				hosts = append(hosts, server.Address)
				endpoints = append(endpoints, harness.Endpoint{Name: name, Address: server.Address, Waiting: uint32(i)})
			}
			o := harness.Options{Workers: 1, Edit: func(config string) string { return inSubsets(config, test.within) }}
			plugin := map[string]any{"config": harness.Document(3), "debug": true,
				"failing": map[string]any{"halfLife": "1h"}}
			envoy := startEnvoy(t, o, harness.Cell{Hold: "pause", Destination: "override-host"}, hosts, plugin)
			envoy.Publish(t, endpoints...)
			went, last := map[string]int{}, harness.Answer{}
			for range 8 {
				last = harness.Send(t, harness.Client(t, false), harness.Request(t, http.MethodPost,
					envoy.URL("requests", chatPath), chatBody, false))
				went[last.Server()]++
			}
			if got := fmt.Sprint(went); got != test.want {
				t.Errorf("the requests went to %s, want %s", got, test.want)
			}
			if blamed := len(explained(t, last).FilteredOut) > 0; blamed != test.within {
				t.Errorf("the first choice counts as failing: %v, want %v", blamed, test.within)
			}
		})
	}
}

// inSubsets has the route ask for the stage new, which all members of the cluster but the first one have, and puts the
// subset policy around override_host or in it.
func inSubsets(config string, around bool) string {
	const (
		policies = "policies:\n"
		member   = "        - endpoint: {"
		untimed  = "                  timeout: 0s\n"
		match    = "                  metadata_match: {filter_metadata: {envoy.lb: {stage: new}}}\n"
		subset   = `      - typed_extension_config:
          name: envoy.load_balancing_policies.subset
          typed_config:
            "@type": type.googleapis.com/envoy.extensions.load_balancing_policies.subset.v3.Subset
            fallback_policy: NO_FALLBACK
            subset_selectors: [{keys: [stage]}]
            subset_lb_policy:
              policies:
`
	)
	config = strings.Replace(config, untimed, untimed+match, 1)
	config = strings.ReplaceAll(config, member, "        - metadata: {filter_metadata: {envoy.lb: {stage: new}}}\n"+
		"          endpoint: {")
	config = strings.Replace(config, "stage: new}}}\n          endpoint", "stage: old}}}\n          endpoint", 1)
	head, rest, _ := strings.Cut(config, policies)
	policy, tail, _ := strings.Cut(rest, "    load_assignment:\n")
	outer := ""
	if !around {
		outer, policy, _ = strings.Cut(policy, policies)
		outer += policies
		policy = indented(subset) + indented(policy)
	} else {
		policy = subset + indented(policy)
	}
	return head + policies + outer + policy + "    load_assignment:\n" + tail
}

// indented is text by eight columns further to the right.
func indented(text string) string {
	return "        " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n        ") + "\n"
}
