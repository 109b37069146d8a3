package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/responses"
	"github.com/pintle-dev/pintle/scoring"
)

// stateless is a model server without memory. It answers with the items that it got, and refuses previous_response_id,
// as engines do that have not given the response themselves.
type stateless struct {
	name  string
	count *atomic.Int64
}

func (s stateless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Input        json.RawMessage
		Instructions *string
		Stream       bool
		Previous     *string `json:"previous_response_id"`
		Tools        []any
	}
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &request); err != nil || request.Previous != nil {
		http.Error(w, `{"error":{"message":"Response not found.","code":404}}`, http.StatusNotFound)
		return
	}
	n := s.count.Add(1)
	text := map[string]any{"type": "output_text", "text": fmt.Sprintf("answer %d", n), "annotations": []any{},
		"logprobs": nil}
	output := map[string]any{"type": "message", "id": fmt.Sprintf("msg_%d", n), "role": "assistant",
		"status": "completed", "content": []any{text}}
	if len(request.Tools) > 0 && !strings.Contains(string(request.Input), "function_call_output") {
		output = map[string]any{"type": "function_call", "id": fmt.Sprintf("fc_%d", n),
			"call_id": fmt.Sprintf("call_%d", n), "name": "weather", "arguments": "{}", "status": "completed"}
	}
	answer := map[string]any{
		"id": fmt.Sprintf("resp_%s_%d", s.name, n), "object": "response", "created_at": 1, "model": "m",
		"status": "completed", "instructions": request.Instructions, "previous_response_id": nil,
		"parallel_tool_calls": true, "tools": []any{}, "tool_choice": "auto", "output": []any{output},
		"metadata": map[string]string{"seen": string(request.Input), "server": s.name},
	}
	if !request.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, kind := range []string{"response.created", "response.in_progress", "response.completed"} {
		text, _ := json.Marshal(map[string]any{"type": kind, "sequence_number": i, "response": answer})
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, text)
		_ = http.NewResponseController(w).Flush()
	}
}

// conversations is an Envoy before three stateless servers, with a store.
type conversations struct {
	*harness.Envoy
	endpoints []harness.Endpoint
}

// newConversations has the store be at an address, at another for the listener brief, and at none for the listener
// unreachable.
func newConversations(t *testing.T, cell harness.Cell, store, brief string) *conversations {
	t.Helper()
	c := &conversations{}
	var addresses []string
	count := &atomic.Int64{}
	for _, name := range []string{"a", "b", "c"} {
		server := httptest.NewServer(stateless{name, count})
		t.Cleanup(server.Close)
		address := server.Listener.Addr().String()
		addresses = append(addresses, address)
		c.endpoints = append(c.endpoints, harness.Endpoint{Name: name, Address: address})
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
	packages, err := pythonPackages()
	if err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(), "PYTHONPATH="+packages, "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=127.0.0.1")
	t.Run("killed sidecar", testKilledSidecar)
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			c := newConversations(t, cell, newStore(t, time.Hour), newStore(t, time.Second/2))
			harness.RunCases(t, environment, "python3", "e2e/clients/responses_client.py", c.URL("requests", "/v1"),
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
