package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// combined has stages, with prefill first, two producers of matches and places of servers in one document of llm-d's.
const combined = `{
	"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": [
		{"type": "disagg-profile-handler", "parameters": {"stageOrder": "prefill-first",
			"deciders": {"encode": "always-disagg-multimodal-decider"}}},
		{"type": "always-disagg-multimodal-decider"},
		{"type": "prefill-filter"}, {"type": "decode-filter"}, {"type": "encode-filter"},
		{"type": "topology-affinity-filter", "parameters": {"minAffinity": "rack", "topologyProducerName": "places"}},
		{"type": "topology-affinity-scorer", "parameters": {"topologyProducerName": "places"}},
		{"type": "topology-extractor", "name": "places", "parameters": {"hostname": "host", "rack": "rack"}},
		{"type": "prefix-cache-scorer", "name": "near", "parameters": {"prefixMatchInfoProducerName": "gpu"}},
		{"type": "prefix-cache-scorer", "name": "far", "parameters": {"prefixMatchInfoProducerName": "cpu", "matchLengthWeight": 0.3}},
		{"type": "token-producer", "parameters": {"estimate": {"image": {"mode": "dynamic", "dynamic": {"factor": 2048}}}}},
		{"type": "approx-prefix-cache-producer", "name": "gpu"},
		{"type": "approx-prefix-cache-producer", "name": "cpu", "parameters": {"autoTune": false, "blockSizeTokens": 128,
			"lruCapacityPerServer": 82000}}],
	"schedulingProfiles": [
		{"name": "prefill", "plugins": [{"pluginRef": "prefill-filter"}, {"pluginRef": "near"}]},
		{"name": "encode", "plugins": [{"pluginRef": "encode-filter"}]},
		{"name": "decode", "plugins": [{"pluginRef": "decode-filter"}, {"pluginRef": "topology-affinity-filter"},
			{"pluginRef": "topology-affinity-scorer", "weight": 4}, {"pluginRef": "near"}, {"pluginRef": "far"}]}]}`

// dataLayers has all that a document may say of how servers are found and read, and of what requests are.
const dataLayers = `{
	"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": [
		{"type": "header-profile-handler", "parameters": {"headerName": "x-profile", "defaultProfile": "heat"}},
		{"type": "file-discovery", "parameters": {"path": "/endpoints.yaml", "watchFile": true}},
		{"type": "metrics-data-source", "parameters": {"scheme": "http", "path": "/metrics", "interval": "100ms"}},
		{"type": "core-metrics-extractor", "parameters": {"defaultEngine": "mine", "engineConfigs": [{"name": "mine",
			"queuedRequestsSpec": "queued", "customMetrics": [{"attributeKey": "Heat", "metricSpec": "heat{place=inside}"}]}]}},
		{"type": "models-data-source"}, {"type": "models-data-extractor"},
		{"type": "openai-parser"}, {"type": "anthropic-parser"}, {"type": "session-id-producer", "parameters": {"cookieName": "who"}},
		{"name": "cool", "type": "endpoint-attribute-filter", "parameters": {"attribute": "Heat", "onMissing": "Fail", "algorithm":
			{"type": "threshold", "threshold": {"operator": "LessThanOrEqual", "value": 50}}}},
		{"name": "hot", "type": "endpoint-attribute-scorer", "parameters": {"attributeKey": "Heat", "algorithm":
			{"type": "linear_higher_is_better", "normalization": {"fixedRange": {"min": 0, "max": 100}}}}},
		{"type": "session-affinity-scorer", "parameters": {"strategy": "session_id", "sessionIdConfig":
			{"sources": [{"attribute": "SessionID", "producer": "session-id-producer"}]}}},
		{"type": "queue-scorer"}],
	"dataLayer": {"injectDefaults": false, "discovery": {"pluginRef": "file-discovery"}, "sources": [
		{"pluginRef": "metrics-data-source", "extractors": [{"pluginRef": "core-metrics-extractor"}]},
		{"pluginRef": "models-data-source", "extractors": [{"pluginRef": "models-data-extractor"}]}]},
	"requestHandler": {"parsers": [{"pluginRef": "openai-parser"}, {"pluginRef": "anthropic-parser"}]},
	"schedulingProfiles": [
		{"name": "heat", "plugins": [{"pluginRef": "cool"}, {"pluginRef": "hot"}]},
		{"name": "sessions", "plugins": [{"pluginRef": "session-affinity-scorer", "weight": 2}, {"pluginRef": "queue-scorer"}]}]}`

// shares goes by what servers know of a prompt and of others, in Heimdall's ways.
const shares = `{"plugins": [
	{"type": "prefix-share-scorer", "parameters": {"transform": "logistic"}}, {"type": "cached-blocks-scorer"}],
	"schedulingProfiles": [{"name": "default", "plugins": [
		{"pluginRef": "prefix-share-scorer", "weight": 2}, {"pluginRef": "cached-blocks-scorer"}]}]}`

// TestCombinedStages: prefill is chosen first, decode near it, and where nothing is known of places by what servers
// have of the prompt.
func TestCombinedStages(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		roles := []string{"encode-prefill", "decode", "decode", "decode"}
		publish := func(hosts, racks []string) {
			var pool []harness.Endpoint
			for i, role := range roles {
				labels := map[string]string{"llm-d.ai/role": role}
				if hosts != nil {
					labels["host"], labels["rack"] = hosts[i], racks[i]
				}
				pool = append(pool,
					harness.Endpoint{Name: f.servers[i].Name, Address: f.servers[i].Address, Labels: labels})
			}
			f.Publish(t, pool...)
		}
		prefill := []string{f.servers[0].Address}
		near := []string{"r", "r", "r", "s"}
		for _, row := range []struct {
			name, want string
			hosts      []string
		}{
			{"on the same host", "sim-2", []string{"a", "b", "a", "c"}},
			{"on another one of the same host", "sim-1", []string{"a", "a", "b", "c"}},
		} {
			publish(row.hosts, near)
			for _, http2 := range []bool{false, true} {
				got, r := f.sendTo(t, "combined", chatPath, withImage(40), http2)
				wantServer(t, got, row.want)
				wantStage(t, row.name, r, customHeaders[0], prefill, 1)
				wantStage(t, row.name, r, customHeaders[1], prefill, 1)
			}
		}
		publish([]string{"a", "b", "c", "d"}, []string{"r", "s", "s", "r"})
		got, _ := f.sendTo(t, "combined", chatPath, chatBody, false)
		wantServer(t, got, "sim-3") // alone in the rack
		publish(nil, nil)
		prompt := fmt.Sprintf(`{"model":"sim-model","max_tokens":2,"cache_salt":"%d","prompt":%q}`,
			time.Now().UnixNano(), strings.Repeat("one and the same prompt ", 100))
		first, r := f.sendTo(t, "combined", "/v1/completions", prompt, false)
		wantStage(t, "text", r, customHeaders[1], nil, 0)
		for i := range 6 {
			got, _ := f.sendTo(t, "combined", "/v1/completions", prompt, i%2 == 1)
			wantServer(t, got, first.Server())
		}
	})
}

// TestDataLayers: attributes, sessions of a cookie and parsers, all of one document with a data layer.
func TestDataLayers(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		pool := f.pool("sim-1")
		for i, heat := range []float64{70, 20, 40, 0} { // 0 is unknown
			pool[i].Heat = heat
			pool[i].Models = []string{"sim-model"} // else what an earlier test had it list would hold
		}
		f.Publish(t, pool...)
		message := `{"model":"sim-model","max_tokens":2,"system":"be brief","messages":[{"role":"user","content":"hello"}]}`
		for i, request := range [][2]string{{chatPath, chatBody}, {"/v1/messages", message}, {"/v1/responses",
			`{"model":"sim-model","input":"hello"}`}} {
			got, _ := f.sendTo(t, "data-layer", request[0], request[1], i%2 == 1)
			wantServer(t, got, "sim-2")
		}
		session := fmt.Sprintf("a=b; who=%d", time.Now().UnixNano())
		for i := range 4 {
			got, _ := f.sendTo(t, "data-layer", chatPath, chatBody, i%2 == 1, "x-profile", "sessions",
				"cookie", session)
			wantServer(t, got, "sim-1")
			f.Publish(t, f.pool("sim-0")...)
		}
		request := harness.Request(t, http.MethodPost, f.URL("data-layer", "/inference/v1/generate"), chatBody, false)
		got := harness.Send(t, harness.Client(t, false), request)
		if got.Status != http.StatusBadRequest || got.Header.Get("X-Pintle-Reason") != "no_parser" {
			t.Errorf("a path of no parser: got %d %s", got.Status, got.Header.Get("X-Pintle-Reason"))
		}
	})
}

// TestShares: a prompt goes where most of it is known, and what else servers have cached is scored, too.
func TestShares(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		pool := f.pool()[:2]
		for i := range pool {
			pool[i].Blocks = 1 << 20
		}
		f.Publish(t, pool...)
		one := fmt.Sprintf(`{"model":"sim-model","max_tokens":2,"cache_salt":"%d","prompt":%q}`,
			time.Now().UnixNano(), strings.Repeat("a prompt of its own ", 40))
		first, _ := f.sendTo(t, "shares", "/v1/completions", one, false)
		for i := range 4 {
			got, _ := f.sendTo(t, "shares", "/v1/completions", one, i%2 == 1)
			wantServer(t, got, first.Server())
		}
		for _, name := range []string{"prefix-share-scorer", "cached-blocks-scorer"} {
			if text := first.Header.Get("X-Pintle-Explain"); !strings.Contains(text, name) {
				t.Errorf("%s has no score in %s", name, text)
			}
		}
	})
}
