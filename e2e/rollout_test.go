package e2e

import (
	"encoding/json"
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

// revisions are an Envoy of one test's own before prefill and decode servers of two revisions, old and new.
type revisions struct {
	*harness.Envoy
	servers []*harness.Server
	pool    []harness.Endpoint // old and new prefill, old and new decode
	of      map[string]string  // address to revision
}

const prefiller, revision = "x-prefiller-host-port", "x-llm-d-disagg-revision"

func newRevisions(t *testing.T, cell harness.Cell) *revisions {
	t.Helper()
	const set = "disaggregatedset.x-k8s.io/"
	r := &revisions{of: map[string]string{}}
	var addresses []string
	for i := range 4 {
		name, role := []string{"old", "new"}[i%2], []string{"prefill", "decode"}[i/2]
		server, err := harness.NewServer(sim.Config{Name: name + "-" + role})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		r.servers, addresses = append(r.servers, server), append(addresses, server.Address)
		r.of[server.Address] = name
		r.pool = append(r.pool, harness.Endpoint{Name: server.Name, Address: server.Address,
			Labels: map[string]string{"llm-d.ai/role": role, set + "role": role, set + "name": "wide-ep",
				set + "revision": name, set + "slice": name + "-0"}})
	}
	plugin := map[string]any{"config": json.RawMessage(rollout)}
	var err error
	r.Envoy, err = harness.StartWith(harness.Options{}, cell, addresses,
		&harness.Listener{Name: "requests", Plugin: plugin, Carry: []string{prefiller}},
		&harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	r.LogOnFailure(t)
	return r
}

// send sends a chat with headers, each a name and a value.
func (r *revisions) send(t *testing.T, headers ...string) harness.Answer {
	t.Helper()
	request := harness.Request(t, http.MethodPost, r.URL("requests", chatPath), chatBody, false)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return harness.Send(t, harness.Client(t, false), request)
}

// served is the revision that a chat came from, in all its stages, as the answer says.
func (r *revisions) served(t *testing.T, headers ...string) string {
	t.Helper()
	got := r.send(t, headers...)
	for _, server := range r.servers {
		if server.Name != got.Server() {
			continue
		}
		all, want := server.Requests(), r.of[server.Address]
		if named := all[len(all)-1].Headers[prefiller]; len(named) != 1 || r.of[named[0]] != want {
			t.Errorf("%s was told of prefill at %v, want a server of its revision", server.Name, named)
		}
		told := got.Header.Get(revision) + " " + got.Header.Get("x-disagg-slice")
		if told != want+" "+want+"-0" {
			t.Errorf("the client of %s was told of revision and slice %q", server.Name, told)
		}
		return want
	}
	t.Fatalf("got %d from %q: %s", got.Status, got.Server(), got.Body)
	return ""
}

// TestRollout: while a set of servers is rolled out, prefill and decode of a request are of one revision, which the
// answer names, and a revision that lacks a role serves nothing.
func TestRollout(t *testing.T) {
	cells := harness.Cells()
	for _, cell := range []harness.Cell{cells[0], cells[len(cells)-1]} {
		t.Run(cell.String(), func(t *testing.T) {
			r := newRevisions(t, cell)
			r.Publish(t, r.pool...)
			seen := map[string]bool{}
			for range 40 {
				seen[r.served(t)] = true
			}
			if len(seen) != 2 {
				t.Errorf("40 requests went to %v, want both revisions", seen)
			}
			for range 8 {
				for _, name := range []string{"old", "new"} {
					if got := r.served(t, revision, name); got != name {
						t.Errorf("%s was asked for, and %s served", name, got)
					}
				}
			}
			wantError(t, r.send(t, revision, "newer"), http.StatusServiceUnavailable, "no_endpoints")

			r.Publish(t, r.pool[0], r.pool[2], r.pool[3]) // the new revision has no prefill server
			for range 16 {
				if got := r.served(t); got != "old" {
					t.Errorf("%s served, want the old revision, which has both roles", got)
				}
			}
			wantError(t, r.send(t, revision, "new"), http.StatusServiceUnavailable, "no_endpoints")
			r.Publish(t, r.pool[2:]...)
			wantError(t, r.send(t), http.StatusServiceUnavailable, "no_endpoints")
		})
	}
}
