//go:build istio

package istio

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
)

// TestResponses: with the overlay a second turn is served with its history by whichever server. Without the sidecar
// those that need it are refused, and no others; what it has stored is there when it comes back.
func TestResponses(t *testing.T) {
	memory := fmt.Sprintf("{file: %q}", filepath.Join(t.TempDir(), "responses"))
	port := freePort(t)
	g := newGateway(t, render(t, "overlays/responses"), settings{change: func(g *gateway) { g.keep(port, memory) }})
	first := g.respond(t, "once upon a time", "")
	ids := map[string]string{}
	for i, server := range g.servers {
		g.prefer(t, i)
		second := g.waitStored(t, "and then?", first.ID)
		history := `[{"type":"message","role":"user","content":"once upon a time"},{"id":"msg`
		received := server.Requests()
		last := received[len(received)-1]
		if !strings.Contains(last.Body, `"input":`+history) || strings.Contains(last.Body, "previous_response_id") ||
			!strings.Contains(last.Body, `"role":"user","content":"and then?"`) {
			t.Errorf("server %d got %s, want the turn behind the one before", i, last.Body)
		}
		ids[server.Name] = second.ID
	}
	g.sidecar.Kill()
	if got := g.turn(t, "and now?", first.ID); got.Status != http.StatusServiceUnavailable ||
		got.Header.Get("X-Pintle-Reason") != "store_unavailable" || got.Header.Get("Retry-After") == "" {
		t.Errorf("without the sidecar: got %d %v, want 503 store_unavailable with retry-after", got.Status, got.Header)
	}
	if got := g.turn(t, "something else", ""); got.Status != http.StatusOK {
		t.Errorf("a first turn without the sidecar: got %d, want 200", got.Status)
	}
	g.startSidecar(t, nil)
	for _, id := range ids {
		g.waitStored(t, "and now?", id)
	}
}

// TestConversations: OpenAI's client goes on with conversations over changing servers that keep nothing.
func TestConversations(t *testing.T) {
	port := freePort(t)
	g := newGateway(t, render(t, "overlays/responses"), settings{servers: harness.StartStateless(t, "a", "b", "c"),
		change: func(g *gateway) {
			g.keep(port, "{}")
			plugin := g.find("WasmPlugin", "pintle")
			// On a busy machine nothing is quick.
			plugin.Set(map[string]any{"timeout": "20s"}, "spec", "pluginConfig", "sidecar")
			// Each turn goes to another server, though one has it cached.
			const picker = 5
			plugin.Set("random-picker", "spec", "pluginConfig", "config", "plugins", picker, "type")
			plugin.Set("random-picker", "spec", "pluginConfig", "config", "schedulingProfiles", 0, "plugins", picker,
				"pluginRef")
		}})
	base := "http://" + g.requests + "/v1"
	harness.RunOpenAI(t, "responses_client.py", "--kept", base)
	g.keep(port, "{ttl: 1s}")
	g.sidecar.Stop()
	g.startSidecar(t, nil)
	harness.WaitFor(t, pushLimit, "the store", func() (bool, string) {
		got := harness.Send(t, harness.Client(t, false),
			harness.Request(t, http.MethodGet, base+"/responses/resp_never", "", false))
		return got.Status == http.StatusNotFound, fmt.Sprintf("%d %s", got.Status, got.Body)
	})
	harness.RunOpenAI(t, "responses_client.py", "--brief", base)
}

func freePort(t *testing.T) int {
	t.Helper()
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	return ports[0]
}

// keep has the sidecar, when it starts, keep conversations in memory by an inMemoryConfig, and answer at a port.
func (g *gateway) keep(port int, memory string) {
	g.find("EnvoyFilter", "pintle-sidecar").Set(port, "spec", "configPatches", 0, "patch", "value",
		"load_assignment", "endpoints", 0, "lb_endpoints", 0, "endpoint", "address", "socket_address", "port_value")
	config := g.find("ConfigMap", "pintle-sidecar")
	text, _ := config.At("data", "sidecar.yaml").(string)
	section := fmt.Sprintf("responses: {address: 127.0.0.1:%d, storeConfig: {inMemoryConfig: %s}}", port, memory)
	config.Set(regexp.MustCompile(`(?s)responses:.*`).ReplaceAllLiteralString(text, section), "data", "sidecar.yaml")
}

// response is what a test looks at in one.
type response struct{ ID string }

// turn sends a turn of a conversation.
func (g *gateway) turn(t *testing.T, text, previous string) harness.Answer {
	t.Helper()
	body := map[string]any{"model": "sim-model", "input": text, "max_output_tokens": 2}
	if previous != "" {
		body["previous_response_id"] = previous
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return harness.Send(t, harness.Client(t, false),
		harness.Request(t, http.MethodPost, "http://"+g.requests+"/v1/responses", string(encoded), false))
}

// respond sends a turn that is served.
func (g *gateway) respond(t *testing.T, text, previous string) (r response) {
	t.Helper()
	got := g.turn(t, text, previous)
	if err := json.Unmarshal([]byte(got.Body), &r); got.Status != http.StatusOK || err != nil {
		t.Fatalf("%q after %q: got %d %s, want 200 and a response", text, previous, got.Status, got.Body)
	}
	return r
}

// waitStored sends a turn until what it goes on with is stored, which happens behind the answer's end.
func (g *gateway) waitStored(t *testing.T, text, previous string) (r response) {
	t.Helper()
	harness.WaitFor(t, pushLimit, "the turn before to be stored", func() (bool, string) {
		got := g.turn(t, text, previous)
		err := json.Unmarshal([]byte(got.Body), &r)
		return got.Status == http.StatusOK && err == nil, fmt.Sprintf("%d %s", got.Status, got.Body)
	})
	return r
}
