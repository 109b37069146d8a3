package e2e

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/responses"
	"github.com/pintle-dev/pintle/scoring"
)

// conversations is an Envoy before three stateless servers, with a store.
type conversations struct {
	*harness.Envoy
	endpoints []harness.Endpoint
}

// newConversations has the store be at an address, at another for the listener brief, and at none for the listener
// unreachable.
func newConversations(t *testing.T, cell harness.Cell, store, brief string) *conversations {
	t.Helper()
	c := &conversations{endpoints: harness.StartStateless(t, "a", "b", "c")}
	var addresses []string
	for _, e := range c.endpoints {
		addresses = append(addresses, e.Address)
	}
	document := map[string]any{
		"featureGates": []string{"prepareDataPlugins"},
		"plugins": []map[string]any{{"type": "random-picker", "parameters": map[string]any{"maxNumOfEndpoints": 1}},
			{"type": "responses-store"}},
		"schedulingProfiles": []map[string]any{{"name": "p",
			"plugins": []map[string]any{{"pluginRef": "random-picker"}}}},
	}
	// On a busy machine nothing is quick.
	asking := func(cluster string) map[string]any {
		return map[string]any{"config": document, "sidecar": map[string]any{"cluster": cluster, "timeout": "20s"}}
	}
	plugin := asking("pintle-sidecar")
	dead, err := harness.DeadAddress()
	if err != nil {
		t.Fatal(err)
	}
	edit := func(config string) string {
		for name, address := range map[string]string{"pintle-sidecar": store, "brief": brief, "nobody": dead} {
			config = withCluster(name, address)(config)
		}
		return config
	}
	c.Envoy, err = harness.StartWith(harness.Options{Edit: edit}, cell, addresses,
		&harness.Listener{Name: "requests", Plugin: plugin},
		&harness.Listener{Name: "brief", Plugin: asking("brief")},
		&harness.Listener{Name: "unreachable", Plugin: asking("nobody")},
		&harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true, MaxBodyBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	c.LogOnFailure(t)
	c.Publish(t, c.endpoints...)
	return c
}

// newStore serves a store in memory.
func newStore(t *testing.T, ttl time.Duration) string {
	t.Helper()
	memory := scoring.StoreMemory{TTL: ttl, MaxEntries: 10_000, MaxEntryBytes: 1 << 20}
	service, err := responses.New(scoring.StoreBackend{Memory: memory}, func() string { return harness.Token },
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
			c := newConversations(t, cell, newStore(t, time.Hour), newStore(t, time.Second/2))
			harness.RunOpenAI(t, "responses_client.py", "--kept", c.URL("requests", "/v1"), "--brief",
				c.URL("brief", "/v1"))
			c.passes(t)
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
