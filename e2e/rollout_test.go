package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// rollout is the document of llm-d's guides for sets of prefill and decode servers that are rolled out together.
const rollout = `{"apiVersion": "llm-d.ai/v1", "plugins": [
	{"type": "disaggregatedset-rollout-screener", "parameters": {
		"scope": {"labelSelector": "disaggregatedset.x-k8s.io/name=wide-ep"},
		"revisionGating": {"mode": "max-role", "requiredRoles": ["prefill", "decode"]}}},
	{"type": "always-disagg-pd-decider"},
	{"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": "always-disagg-pd-decider"}}},
	{"type": "prefill-filter"}, {"type": "decode-filter"}, {"type": "prefix-cache-scorer"}, {"type": "queue-scorer"},
	{"type": "active-request-scorer"}, {"type": "header-label-affinity-scorer", "parameters": {
		"headerName": "x-disagg-slice", "labelKey": "disaggregatedset.x-k8s.io/slice"}}],
	"schedulingProfiles": [
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}, {"pluginRef": "prefix-cache-scorer", "weight": 3},
			{"pluginRef": "queue-scorer", "weight": 2}, {"pluginRef": "active-request-scorer", "weight": 2}]},
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}, {"pluginRef": "active-request-scorer"},
			{"pluginRef": "header-label-affinity-scorer"}]}]}`

// TestRollout: while a set of servers is rolled out, prefill and decode of a request are of one revision, which the
// answer names, and a revision that lacks a role serves nothing.
func TestRollout(t *testing.T) {
	const prefiller, revision = "x-prefiller-host-port", "x-llm-d-disagg-revision"
	cells := harness.Cells()
	for _, cell := range []harness.Cell{cells[0], cells[len(cells)-1]} {
		t.Run(cell.String(), func(t *testing.T) {
			var servers []*harness.Server
			var addresses []string
			var pool []harness.Endpoint
			revisionOf := map[string]string{}
			for i := range 4 {
				name, role := []string{"old", "new"}[i%2], []string{"prefill", "decode"}[i/2]
				server, err := harness.NewServer(sim.Config{Name: fmt.Sprintf("%s-%s", name, role)})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(server.Close)
				servers, addresses = append(servers, server), append(addresses, server.Address)
				revisionOf[server.Address] = name
				pool = append(pool, harness.Endpoint{Name: server.Name, Address: server.Address, Labels: map[string]string{
					"llm-d.ai/role": role, "disaggregatedset.x-k8s.io/role": role,
					"disaggregatedset.x-k8s.io/name": "wide-ep", "disaggregatedset.x-k8s.io/revision": name,
					"disaggregatedset.x-k8s.io/slice": name + "-0"}})
			}
			plugin := map[string]any{"config": json.RawMessage(rollout)}
			envoy, err := harness.StartWith(harness.Options{}, cell, addresses,
				&harness.Listener{Name: "requests", Plugin: plugin, Carry: []string{prefiller}},
				&harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(envoy.Stop)
			envoy.LogOnFailure(t)

			send := func(headers ...string) harness.Answer {
				request := harness.Request(t, http.MethodPost, envoy.URL("requests", chatPath), chatBody, false)
				for i := 0; i < len(headers); i += 2 {
					request.Header.Set(headers[i], headers[i+1])
				}
				return harness.Send(t, harness.Client(t, false), request)
			}
			// served is the revision that an answer came from, in all its stages.
			served := func(got harness.Answer) string {
				t.Helper()
				for _, server := range servers {
					if server.Name != got.Server() {
						continue
					}
					all, want := server.Requests(), revisionOf[server.Address]
					named := all[len(all)-1].Headers[prefiller]
					if slice := got.Header.Get("x-disagg-slice"); slice != want+"-0" {
						t.Errorf("the client was told of slice %q, want that of %s", slice, server.Name)
					}
					if len(named) != 1 || revisionOf[named[0]] != want || got.Header.Get(revision) != want {
						t.Errorf("%s was told of prefill at %v, and the client of %q; want revision %s", server.Name, named,
							got.Header.Get(revision), want)
					}
					return want
				}
				t.Fatalf("got %d from %q: %s", got.Status, got.Server(), got.Body)
				return ""
			}
			envoy.Publish(t, pool...)
			seen := map[string]bool{}
			for range 40 {
				seen[served(send())] = true
			}
			if len(seen) != 2 {
				t.Errorf("40 requests went to %v, want both revisions", seen)
			}
			for range 8 {
				for _, name := range []string{"old", "new"} {
					if got := served(send(revision, name)); got != name {
						t.Errorf("%s was asked for, and %s served", name, got)
					}
				}
			}
			wantError(t, send(revision, "newer"), http.StatusServiceUnavailable, "no_endpoints")

			envoy.Publish(t, pool[0], pool[2], pool[3]) // the new revision has no prefill server
			for range 16 {
				if got := served(send()); got != "old" {
					t.Errorf("%s served, want the old revision, which has both roles", got)
				}
			}
			wantError(t, send(revision, "new"), http.StatusServiceUnavailable, "no_endpoints")
			envoy.Publish(t, pool[2:]...)
			wantError(t, send(), http.StatusServiceUnavailable, "no_endpoints")
		})
	}
}
