package e2e

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/responses"
	"github.com/pintle-dev/pintle/scoring"
)

// conversations is an Envoy before three stateless servers, with a store.
type conversations struct {
	*harness.Envoy
	endpoints []harness.Endpoint
}

// newConversations has the listeners' stores at addresses. The listener requests has one; brief keeps nothing for long,
// elsewhere is another gateway's, teams tells tenants apart, and without an address a listener's store is unreachable.
func newConversations(t *testing.T, cell harness.Cell, stores map[string]string) *conversations {
	t.Helper()
	c := &conversations{endpoints: harness.StartStateless(t, "a", "b", "c")}
	var addresses []string
	for _, e := range c.endpoints {
		addresses = append(addresses, e.Address)
	}
	dead, err := harness.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	var listeners []*harness.Listener
	edit := authenticated("teams")
	for _, name := range []string{"requests", "brief", "elsewhere", "teams", "unreachable", "ingest"} {
		address, parameters := stores[name], map[string]any{}
		if address == "" {
			address = dead
		}
		if name == "teams" {
			parameters["tenantHeader"] = "x-team"
		}
		before := edit
		edit = func(config string) string { return withCluster("store-"+name, address)(before(config)) }
		listeners = append(listeners, &harness.Listener{Name: name, Ingest: name == "ingest", MaxBodyBytes: 8 << 20,
			// On a busy machine nothing is quick.
			Plugin: map[string]any{"config": storing(parameters), "sidecar": map[string]any{"cluster": "store-" + name,
				"timeout": "20s"}}})
	}
	c.Envoy, err = harness.StartWith(harness.Options{Edit: edit}, cell, addresses, listeners...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	c.LogOnFailure(t)
	c.Publish(t, c.endpoints...)
	return c
}

// storing is a document that chooses at random and keeps conversations.
func storing(parameters map[string]any) map[string]any {
	return map[string]any{
		"featureGates": []string{"prepareDataPlugins"},
		"plugins": []map[string]any{{"type": "random-picker", "parameters": map[string]any{"maxNumOfEndpoints": 1}},
			{"type": "responses-store", "parameters": parameters}},
		"schedulingProfiles": []map[string]any{{"name": "p",
			"plugins": []map[string]any{{"pluginRef": "random-picker"}}}},
	}
}

// inMemory is a store in memory.
func inMemory(ttl time.Duration) scoring.StoreBackend {
	return scoring.StoreBackend{Memory: scoring.StoreMemory{TTL: ttl, MaxEntries: 10_000, MaxEntryBytes: 1 << 20}}
}

// startStore serves a store, and returns where.
func startStore(t *testing.T, backend scoring.StoreBackend) string {
	t.Helper()
	service, err := responses.New(backend, func() string { return harness.Token },
		slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// TestConversations: OpenAI's client goes on with conversations over changing servers that keep nothing.
func TestConversations(t *testing.T) {
	t.Run("killed sidecar", testKilledSidecar)
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			redis := scoring.StoreRedis{Address: "redis://" + harness.StartValkey(t).Address, TTL: time.Hour,
				MaxEntryBytes: 1 << 20}
			inValkey := scoring.StoreBackend{Tiered: &scoring.StoreTiers{Redis: redis}}
			c := newConversations(t, cell, map[string]string{"requests": startStore(t, inValkey),
				"elsewhere": startStore(t, inValkey), "brief": startStore(t, inMemory(time.Second/2)),
				"teams": startStore(t, inMemory(time.Hour))})
			harness.RunOpenAI(t, "responses_client.py", "--kept", c.URL("requests", "/v1"), "--elsewhere",
				c.URL("elsewhere", "/v1"), "--brief", c.URL("brief", "/v1"))
			c.passes(t)
			c.refusesUnclear(t)
			c.tellsTenantsApart(t)
			c.failsWithoutStore(t)
		})
	}
}

// passes: what is the servers' own affair reaches them as it is.
func (c *conversations) passes(t *testing.T) {
	t.Helper()
	for _, more := range []string{`"conversation":"conv_1"`, `"background":true`} {
		got := harness.Send(t, harness.Client(t, false), harness.Request(t, http.MethodPost,
			c.URL("requests", "/v1/responses"), `{"model":"m","input":"a","previous_response_id":"r",`+more+`}`, true))
		if got.Status != http.StatusNotFound || got.Header.Get("X-Pintle-Reason") != "" {
			t.Errorf("%s: got %d %v, want the server's 404", more, got.Status, got.Header)
		}
	}
}

// refusesUnclear: where nobody knows which conversation or which input counts, no server is asked. Two nulls name none.
func (c *conversations) refusesUnclear(t *testing.T) {
	t.Helper()
	for members, want := range map[string]struct {
		status int
		reason string
	}{
		`"input":"a","previous_response_id":"r","previous_response_id":"r"`:   {400, "invalid_body"},
		`"input":"a","previous_response_id":"r","previous_response_id":null`:  {400, "invalid_body"},
		`"previous_response_id":null,"input":"a","previous_response_id":"r"`:  {400, "invalid_body"},
		`"input":"a","previous_response_id":"r","input":"b"`:                  {400, "invalid_body"},
		`"input":{"a":1},"previous_response_id":"r"`:                          {400, "invalid_body"},
		`"input":"a","previous_respons\u0065_id":"r"`:                         {404, "previous_response_not_found"},
		`"input":"a","previous_response_id":7`:                                {404, "previous_response_not_found"},
		`"previous_response_id":null,"input":"a","previous_response_id":null`: {200, ""},
		`"input":"b","input":"a"`:                                             {200, ""},
	} {
		got := harness.Send(t, harness.Client(t, false), harness.Request(t, http.MethodPost,
			c.URL("requests", "/v1/responses"), `{"model":"m",`+members+`}`, false))
		seen := gjson.Get(got.Body, "metadata.seen").String()
		if reason := got.Header.Get("X-Pintle-Reason"); got.Status != want.status || reason != want.reason ||
			(seen == `"a"`) != (want.status == 200) {
			t.Errorf("%s: got %d %s, the server saw %s; want %d %s, and a server that sees \"a\" with 200 alone",
				members, got.Status, reason, seen, want.status, want.reason)
		}
	}
}

// failsWithoutStore: without the store what needs it is refused, and all else is served.
func (c *conversations) failsWithoutStore(t *testing.T) {
	t.Helper()
	for body, status := range map[string]int{
		`{"model":"m","input":"a"}`:                                 http.StatusOK,
		`{"model":"m","input":"a","store":false}`:                   http.StatusOK,
		`{"model":"m","input":"a","previous_response_id":"resp_1"}`: http.StatusServiceUnavailable,
	} {
		got := harness.Send(t, harness.Client(t, false), harness.Request(t, http.MethodPost,
			c.URL("unreachable", "/v1/responses"), body, false))
		if got.Status != status || status == http.StatusServiceUnavailable &&
			(got.Header.Get("X-Pintle-Reason") != "store_unavailable" || got.Header.Get("Retry-After") == "") {
			t.Errorf("%s: got %d %v, want %d", body, got.Status, got.Header, status)
		}
	}
}
