package e2e

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// bursts has a profile for each of llm-d's packages of bursts, of media and of GPUs, which a header names.
const bursts = `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": [
	{"type": "header-profile-handler", "parameters": {"headerName": "x-profile", "defaultProfile": "burst"}},
	{"type": "token-producer", "parameters": {"modelName": "m", "vllm": {"url": "http://127.0.0.1:1"}}},
	{"type": "burst-prefix-cache-producer", "parameters": {"windowDurationMs": 10000, "maxPerReplica": 3,
		"minColocateBlocks": 0, "balanceBy": "requests"}},
	{"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "burst-prefix-cache-producer"}},
	{"type": "mm-embeddings-cache-producer", "parameters": {"cacheSizeInMBPerServer": 2048}},
	{"type": "mm-embeddings-cache-scorer"},
	{"name": "gpus", "type": "dcgm-data-source", "parameters": {"port": 9400, "interval": "1s"}}, {"type": "dcgm-extractor"},
	{"type": "endpoint-attribute-filter", "parameters": {"attribute": "GPUUtilization", "producer": "dcgm-extractor",
		"fallbackOnEmpty": true, "algorithm": {"type": "threshold", "threshold": {"operator": "LessThanOrEqual", "value": 0.9}}}},
	{"type": "endpoint-attribute-scorer", "parameters": {"attributeKey": "GPUUtilization/dcgm-extractor", "algorithm":
		{"type": "linear_lower_is_better", "normalization": {"fixedRange": {"min": 0, "max": 1}}}}},
	{"type": "queue-scorer", "parameters": {"ignored": true}}, {"type": "max-score-picker"}],
	"dataLayer": {"sources": [{"pluginRef": "gpus", "extractors": [{"pluginRef": "dcgm-extractor"}]}]},
	"schedulingProfiles": [
		{"name": "burst", "plugins": [{"pluginRef": "prefix-cache-scorer", "weight": 2}, {"pluginRef": "queue-scorer"}]},
		{"name": "media", "plugins": [{"pluginRef": "mm-embeddings-cache-scorer", "weight": 4}, {"pluginRef": "queue-scorer"}]},
		{"name": "gpu", "plugins": [{"pluginRef": "endpoint-attribute-filter"},
			{"pluginRef": "endpoint-attribute-scorer", "weight": 2}, {"pluginRef": "queue-scorer"}]}]}`

// TestBursts: equal prompts of a burst go together, three to a server, images go where they were, and busy GPUs get
// nothing, whichever worker decides.
func TestBursts(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		// 20 bytes are 5 tokens: what a byte makes is learnt, for all configurations.
		unique := fmt.Sprintf("%020d", time.Now().UnixNano())
		ask := func(profile, body string, i int) string {
			path := "/v1/completions"
			if profile == "media" {
				path = chatPath
			}
			got, _ := f.sendTo(t, "bursts", path, body, i%2 == 1, "x-profile", profile)
			return got.Server()
		}
		prompt := `{"model":"sim-model","prompt":"` + unique + `","max_tokens":2}`
		first := ask("burst", prompt, 0)
		burst := map[string]int{first: 1}
		for _, s := range f.servers {
			if s.Name != first {
				f.Publish(t, f.pool(s.Name)...)
			}
		}
		for i := range 5 {
			burst[ask("burst", prompt, i)]++
		}
		if burst[first] != 3 || len(burst) != 2 {
			t.Errorf("six equal prompts went to %v, want three to %s and three to another", burst, first)
		}
		image := func(name string) string {
			return `{"model":"sim-model","max_tokens":2,"messages":[{"role":"user","content":[{"type":"image_url",` +
				`"image_url":{"url":"http://images/` + unique + name + `"}}]}]}`
		}
		f.Publish(t, f.pool("sim-2")...)
		first = ask("media", image("a"), 0)
		f.Publish(t, f.pool("sim-3")...)
		for i := range 4 {
			if again, other := ask("media", image("a"), i), ask("media", image(fmt.Sprint(i)), i); first != "sim-2" ||
				again != "sim-2" || other != "sim-3" {
				t.Errorf("an image went to %s, then to %s, another to %s, want sim-2 twice and sim-3", first, again,
					other)
			}
		}
		pool := f.pool("sim-0")
		for i, use := range []float64{0.95, 0.5, 0.1, 0.6} {
			pool[i].GPU = use
		}
		f.Publish(t, pool...)
		for i := range 4 {
			if got := ask("gpu", prompt, i); got != "sim-2" {
				t.Errorf("got %s, want sim-2, whose GPU is idle", got)
			}
		}
	})
}

// TestSubsets: only servers that the subset hint names are candidates; it comes in a header that is trusted, else in
// metadata as a list or as text, and no server sees it.
func TestSubsets(t *testing.T) {
	const header = "x-gateway-destination-endpoint-subset"
	tests := []struct {
		name, listener, header string
		status                 int
	}{
		{"a list that names the servers' host", "subset", "", 200},
		{"a header that does not", "subset", "10.9.9.9:8000", 503},
		{"a header that does", "subset", "10.9.9.9,127.0.0.1:1", 200},
		{"a text that names others", "elsewhere", "", 503},
		{"a header that is not trusted", "elsewhere", "127.0.0.1", 503},
		{"a header that nobody asked for", "weighted", "10.9.9.9", 200},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		for i, tc := range tests {
			request := harness.Request(t, http.MethodPost, f.URL(tc.listener, chatPath), chatBody, false)
			if tc.header != "" {
				request.Header.Set(header, tc.header)
			}
			got := harness.Send(t, harness.Client(t, i%2 == 1), request)
			if reason := got.Header.Get("X-Pintle-Reason"); got.Status != tc.status ||
				tc.status == 503 && reason != "no_endpoints" {
				t.Errorf("%s: got %d %s, want %d", tc.name, got.Status, reason, tc.status)
			}
			for _, r := range f.received("") {
				if values, there := r.Headers[header]; there {
					t.Errorf("%s: the server received %s: %q", tc.name, header, values)
				}
			}
		}
	})
}

// TestTokenIDs: a prompt of token ids goes where it went before, however the ids are written.
func TestTokenIDs(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		ids := fmt.Sprint(time.Now().UnixNano() % 1e9)
		for i := range 200 {
			ids += fmt.Sprint(", ", i)
		}
		ask := func(prompt string, http2 bool) harness.Answer {
			body := `{"model":"sim-model","max_tokens":2,"prompt":` + prompt + `}`
			return harness.Send(t, harness.Client(t, http2),
				harness.Request(t, http.MethodPost, f.URL("prefix", "/v1/completions"), body, false))
		}
		first := ask("["+ids+"]", false)
		for i := range 6 {
			again := ask("[["+ids+fmt.Sprint(",", i)+"]]", i%2 == 1)
			wantServer(t, again, first.Server())
		}
	})
}

// TestGrowingBlocks: where blocks grow, a few of them tell how much of a long prompt is the same.
func TestGrowingBlocks(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		said := strings.Repeat(fmt.Sprintf("%020d", time.Now().UnixNano()), 100)
		for i, tc := range []struct {
			same  int // bytes
			score float64
		}{
			{0, 0}, {2000, 1}, {1000, 768. / 1792}, {300, 256. / 1792}, // of 4 blocks of 64 bytes, 4 of 128, 4 of 256
		} {
			body := fmt.Sprintf(`{"model":"sim-model","max_tokens":2,"prompt":"%s%s"}`, said[:tc.same],
				strings.Repeat(string(rune('a'+i)), 2000-tc.same))
			if i == 0 {
				body = fmt.Sprintf(`{"model":"sim-model","max_tokens":2,"prompt":"%s"}`, said)
			}
			got := harness.Send(t, harness.Client(t, i%2 == 1),
				harness.Request(t, http.MethodPost, f.URL("growing", "/v1/completions"), body, false))
			best := 0.0
			for _, score := range scores(t, got) {
				best = max(best, score)
			}
			if math.Abs(best-tc.score) > 0.001 {
				t.Errorf("%d of 2,000 bytes are known: got a score of %v, want %v", tc.same, best, tc.score)
			}
		}
	})
}
