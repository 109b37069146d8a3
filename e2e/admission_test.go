package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/snapshot"
)

const objectiveHeader = "X-Gateway-Inference-Objective"

// TestShedding: a saturated pool refuses requests whose objective has a priority below 0, and no others.
func TestShedding(t *testing.T) {
	rules := snapshot.Topology{Objectives: []snapshot.Objective{{Name: "batch", Priority: -1},
		{Name: "chat", Priority: 5}}}
	tests := []struct {
		objective string
		shed      bool
	}{{"batch", true}, {"chat", false}, {"", false}, {"unknown", false}, {"BATCH", false}, {"batch2", false}}
	inCells(t, func(t *testing.T, f *fixture) {
		for _, waiting := range []uint32{5, 4, 50, 0} {
			endpoints := f.pool()
			for i := range endpoints {
				endpoints[i].Waiting = waiting
			}
			f.PublishWith(t, rules, endpoints...)
			for _, test := range tests {
				for _, http2 := range []bool{false, true} {
					got := f.withObjective(t, test.objective, http2)
					if test.shed && waiting >= 5 {
						wantError(t, got, http.StatusTooManyRequests, "shed")
					} else if got.Status != http.StatusOK || got.Server() == "" {
						t.Errorf("%d waiting, objective %q: got %d %s, want 200", waiting, test.objective, got.Status,
							got.Body)
					}
				}
			}
		}
		f.PublishWith(t, rules, f.pool("sim-0", "sim-1")...)
		// the mean of 0, 0, 2 and 2
		wantError(t, f.withObjective(t, "batch", false), http.StatusTooManyRequests, "shed")
		f.PublishWith(t, rules, f.pool("sim-0", "sim-1", "sim-2")...)
		if got := f.withObjective(t, "batch", false); got.Status != http.StatusOK {
			t.Errorf("three of four idle: got %d %s, want 200", got.Status, got.Body)
		}
	})
}

// TestShedReachesNobody: servers hear nothing of a request that is shed, and the connection goes on.
func TestShedReachesNobody(t *testing.T) {
	rules := snapshot.Topology{Objectives: []snapshot.Objective{{Name: "batch", Priority: -1}}}
	inCells(t, func(t *testing.T, f *fixture) {
		f.PublishWith(t, rules, f.pool()...)
		c := harness.Dial(t, f.Address("admission"))
		for range 3 {
			c.Say(t, post(chatPath, longChat(100_000), "x-gateway-inference-objective: batch"))
			wantError(t, c.Hear(t, http.MethodPost), http.StatusTooManyRequests, "shed")
			if got := f.received(""); len(got) != 0 {
				t.Fatalf("servers received %d requests, want none", len(got))
			}
			c.Say(t, post(chatPath, chatBody))
			wantAnyServer(t, c.Hear(t, http.MethodPost))
			f.forget(t)
		}
	})
}

func (f *fixture) withObjective(t *testing.T, objective string, http2 bool) harness.Answer {
	t.Helper()
	request := harness.Request(t, http.MethodPost, f.URL("admission", chatPath), chatBody, false)
	if objective != "" {
		request.Header.Set(objectiveHeader, objective)
	}
	return harness.Send(t, harness.Client(t, http2), request)
}

// TestDiscovery: requests go to servers that list their model and to those whose list is not known.
func TestDiscovery(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		endpoints := f.pool("sim-1", "sim-2") // the others serve what these do not, though their queues are longer
		for i, models := range [][]string{{"m-v1"}, {"m-v2", "sim-model"}, {"m-v2"}, nil} {
			endpoints[i].Models = models
		}
		for _, listener := range []string{"discovery", "requests"} { // with and without the data layer
			f.Publish(t, endpoints...)
			f.wantModelAt(t, listener, "m-v1", "sim-0", "sim-3")
			f.wantModelAt(t, listener, "m-v2", "sim-1", "sim-2")
			f.wantModelAt(t, listener, "sim-model", "sim-1")
			f.wantModelAt(t, listener, longModel, "sim-3")

			f.PublishWith(t, snapshot.Topology{Rewrites: rewrites}, endpoints[:3]...)
			f.wantModelAt(t, listener, "m-v1", "sim-0")
			f.wantModelAt(t, listener, "odd", "") // becomes a model that nobody has
			f.wantModelAt(t, listener, "nope", "")
			f.wantModelAt(t, listener, "m-v", "")
		}
	})
}

// wantModelAt checks that requests for a model go to these servers, to each of them, and that with "" they are refused.
func (f *fixture) wantModelAt(t *testing.T, listener, model string, servers ...string) {
	t.Helper()
	left := map[string]bool{}
	for _, server := range servers {
		left[server] = true
	}
	body := strings.Replace(chatBody, "sim-model", model, 1)
	const requests = 40 // all of which one of two servers has once in 2^39
	for i := range requests {
		request := harness.Request(t, http.MethodPost, f.URL(listener, chatPath), body, false)
		got := harness.Send(t, harness.Client(t, i%2 == 1), request)
		if servers[0] == "" {
			wantError(t, got, http.StatusNotFound, "model_not_found")
			continue
		}
		if _, want := left[got.Server()]; !want || got.Status != http.StatusOK {
			t.Fatalf("%s, model %s: got %d from %q, want 200 from one of %q; %s", listener, model, got.Status,
				got.Server(), servers, got.Body)
		}
		left[got.Server()] = false
	}
	for server, missing := range left {
		if missing && server != "" {
			t.Errorf("%s, model %s: %s got none of %d requests", listener, model, server, requests)
		}
	}
}
