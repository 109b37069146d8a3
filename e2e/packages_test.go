package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/snapshot"
)

// inFlightTokens is what llm-d's guide to optimized baselines goes by, with a little weight for the queue to settle
// ties.
const inFlightTokens = `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": [
	{"type": "approx-prefix-cache-producer"}, {"type": "inflight-load-producer"}, {"type": "prefix-cache-affinity-filter"},
	{"type": "token-load-scorer", "parameters": {"queueThresholdTokens": 4000}}, {"type": "queue-scorer"}],
	"schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "prefix-cache-affinity-filter"},
		{"pluginRef": "token-load-scorer"}, {"pluginRef": "queue-scorer", "weight": 0.1}]}]}`

// packages has a profile for each way to choose, which a header names, and admits by load and by path.
const packages = `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": [
	{"type": "header-profile-handler", "parameters": {"headerName": "x-profile", "defaultProfile": "turns"}},
	{"type": "agent-identity"}, {"type": "queue-scorer"}, {"type": "max-score-picker"}, {"type": "round-robin"},
	{"type": "header-based-testing-filter"}, {"type": "label-selector-filter", "parameters": {"matchLabels": {"tier": "gold"}}},
	{"name": "sessions", "type": "session-affinity-filter", "parameters": {"strategy": "session_id", "sessionIdConfig":
		{"sources": [{"attribute": "agent-identity"}, {"body": "metadata.user_id"}]}}},
	{"name": "hash", "type": "session-affinity-scorer", "parameters": {"strategy": "consistent_hash", "sessionIdConfig":
		{"sources": [{"body": "prompt_cache_key"}]}}},
	{"type": "utilization-filter", "parameters": {"conditions": [{"metric": "waiting-queue", "maxValue": 5}]}},
	{"type": "endpoint-attribute-filter", "parameters": {"attribute": "Heat", "onMissing": "Fail", "algorithm":
		{"type": "topK", "topK": {"k": 3, "higherIsBetter": false}}}},
	{"type": "endpoint-attribute-scorer", "parameters": {"attributeKey": "Heat/core-metrics-extractor", "algorithm":
		{"type": "linear_higher_is_better"}}},
	{"name": "range", "type": "endpoint-attribute-filter", "parameters": {"attribute": "Heat", "algorithm":
		{"type": "range", "range": {"min": 20, "max": 40}}}},
	{"name": "highest", "type": "endpoint-attribute-filter", "parameters": {"attribute": "Heat", "algorithm":
		{"type": "topK", "topK": {"k": 2, "higherIsBetter": true}}}},
	{"name": "lower-half", "type": "endpoint-attribute-filter", "parameters": {"attribute": "Heat", "algorithm":
		{"type": "percentile", "percentile": {"percentile": 50, "higherIsBetter": false}}}},
	{"name": "upper-half", "type": "endpoint-attribute-filter", "parameters": {"attribute": "Heat", "algorithm":
		{"type": "percentile", "percentile": {"percentile": 50, "higherIsBetter": true}}}},
	{"name": "coolest", "type": "endpoint-attribute-scorer", "parameters": {"attributeKey": "Heat/core-metrics-extractor",
		"algorithm": {"type": "linear_lower_is_better"}}},
	{"type": "latency-scorer"}, {"type": "latency-slo-admitter", "parameters": {"unmet": "refuse"}},
	{"type": "probabilistic-admitter"}, {"type": "destination-endpoint-served-verifier"}, {"type": "utilization-detector", "parameters": {"queueDepthThreshold": 999999999}}],
	"flowControl": {"saturationDetector": {"pluginRef": "utilization-detector"}},
	"requestHandler": {"parsers": [{"pluginRef": "openai-parser"}]},
	"schedulingProfiles": [
		{"name": "turns", "plugins": [{"pluginRef": "round-robin"}]},
		{"name": "named", "plugins": [{"pluginRef": "header-based-testing-filter"}, {"pluginRef": "max-score-picker"}]},
		{"name": "gold", "plugins": [{"pluginRef": "label-selector-filter"}, {"pluginRef": "max-score-picker"}]},
		{"name": "sessions", "plugins": [{"pluginRef": "sessions"}, {"pluginRef": "queue-scorer"}, {"pluginRef": "max-score-picker"}]},
		{"name": "hash", "plugins": [{"pluginRef": "hash"}, {"pluginRef": "max-score-picker"}]},
		{"name": "soon", "plugins": [{"pluginRef": "latency-scorer"}, {"pluginRef": "max-score-picker"}]},
		{"name": "idle", "plugins": [{"pluginRef": "utilization-filter"}, {"pluginRef": "max-score-picker"}]},
		{"name": "cool", "plugins": [{"pluginRef": "endpoint-attribute-filter"}, {"pluginRef": "endpoint-attribute-scorer"},
			{"pluginRef": "max-score-picker"}]},
		{"name": "range", "plugins": [{"pluginRef": "range"}, {"pluginRef": "endpoint-attribute-scorer"}]},
		{"name": "range, coolest", "plugins": [{"pluginRef": "range"}, {"pluginRef": "coolest"}]},
		{"name": "highest", "plugins": [{"pluginRef": "highest"}, {"pluginRef": "coolest"}]},
		{"name": "lower half", "plugins": [{"pluginRef": "lower-half"}, {"pluginRef": "endpoint-attribute-scorer"}]},
		{"name": "upper half", "plugins": [{"pluginRef": "upper-half"}, {"pluginRef": "coolest"}]}]}`

// parallel reaches all ranks of a host through the port PORT.
const parallel = `{"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": [
	{"type": "data-parallel-profile-handler", "parameters": {"primaryPort": PORT}}, {"type": "queue-scorer"}]}`

// TestProfilesByHeader has each profile choose the server that its plug-ins stand for.
func TestProfilesByHeader(t *testing.T) {
	withKey := func(key string) string { return strings.Replace(chatBody, "{", "{"+key+",", 1) }
	inCells(t, func(t *testing.T, f *fixture) {
		pool := f.pool("sim-1")
		pool[2].Labels = map[string]string{"tier": "gold"}
		for i, heat := range []float64{70, 20, 10, 40} {
			pool[i].Heat = heat
		}
		f.Publish(t, pool...)
		rows := []struct {
			name, profile, body, want string
			headers                   []string
		}{
			{"by its address", "named", chatBody, "sim-3",
				[]string{"test-epp-endpoint-selection", f.servers[3].Address}},
			{"by a label", "gold", chatBody, "sim-2", nil},
			{"by its queue", "idle", chatBody, "sim-1", nil},
			{"by an attribute", "cool", chatBody, "sim-3", nil},
			{"up to the greatest value that passes", "range", chatBody, "sim-3", nil},
			{"from the least one on", "range, coolest", chatBody, "sim-1", nil},
			{"of the two highest", "highest", chatBody, "sim-3", nil},
			{"up to the one in the middle", "lower half", chatBody, "sim-1", nil},
			{"from the one in the middle on", "upper half", chatBody, "sim-1", nil},
			{"a session without an endpoint", "sessions", chatBody, "sim-1", nil},
		}
		for _, row := range rows {
			for _, http2 := range []bool{false, true} {
				got, _ := f.sendTo(t, "packages", chatPath, row.body, http2,
					append(row.headers, "x-profile", row.profile)...)
				if got.Server() != row.want {
					t.Errorf("%s: got %s, want %s", row.name, got.Server(), row.want)
				}
				served := got.Header.Get("X-Conformance-Test-Served-Endpoint")
				if at := slices.IndexFunc(pool, func(e harness.Endpoint) bool { return e.Address == served }); at < 0 ||
					pool[at].Name != row.want {
					t.Errorf("%s: the answer names %q, want %s", row.name, served, row.want)
				}
			}
		}
		session := fmt.Sprint(time.Now().UnixNano())
		agent := []string{"x-profile", "sessions", "x-claude-code-session-id", session}
		user := withKey(`"metadata":{"user_id":"` + session + `"}`)
		for i := range 8 { // the second to eighth when another server is the best
			got, _ := f.sendTo(t, "packages", chatPath, chatBody, i%2 == 1, agent...)
			wantServer(t, got, "sim-1")
			got, _ = f.sendTo(t, "packages", chatPath, user, i%2 == 1, "x-profile", "sessions")
			wantServer(t, got, "sim-1")
			f.Publish(t, f.pool("sim-0")...)
		}
		servers := map[string]bool{}
		for key := range 12 {
			first, _ := f.sendTo(t, "packages", chatPath, withKey(fmt.Sprintf(`"prompt_cache_key":"k%d"`, key)), false,
				"x-profile", "hash")
			again, _ := f.sendTo(t, "packages", chatPath, withKey(fmt.Sprintf(`"prompt_cache_key":"k%d"`, key)), true,
				"x-profile", "hash")
			wantServer(t, again, first.Server())
			servers[first.Server()] = true
		}
		turns := map[string]int{}
		for i := range 8 {
			got, _ := f.sendTo(t, "packages", chatPath, chatBody, i%2 == 1)
			turns[got.Server()]++
		}
		if len(servers) < 3 || fmt.Sprint(turns) != "map[sim-0:2 sim-1:2 sim-2:2 sim-3:2]" {
			t.Errorf("twelve sessions hash to %v, and eight turns give %v", servers, turns)
		}
	})
}

// TestPackagesRefuse: what is not let in is told why, by the header of llm-d, too.
func TestPackagesRefuse(t *testing.T) {
	tests := []struct {
		name, path, header, value string
		status                    int
		reason, dropped           string
	}{
		{"an unknown profile", chatPath, "x-profile", "none", 429, "unknown_profile", ""},
		{"no server that the header names", chatPath, "x-profile", "named", 429, "filtered_out", "rejected-saturated"},
		{"a path of no parser", "/v1/messages", "x-profile", "turns", 400, "no_parser", ""},
		{"a priority below 0 at loaded servers", chatPath, "x-llm-d-inference-objective", "batch", 429, "shed",
			"rejected-saturated"},
	}
	inCells(t, func(t *testing.T, f *fixture) {
		f.PublishWith(t, snapshot.Topology{Objectives: []snapshot.Objective{{Name: "batch", Priority: -1}}},
			f.pool()...)
		for _, tc := range tests {
			for _, http2 := range []bool{false, true} {
				request := harness.Request(t, http.MethodPost, f.URL("packages", tc.path), chatBody, false)
				request.Header.Set(tc.header, tc.value)
				got := harness.Send(t, harness.Client(t, http2), request)
				reason, dropped := got.Header.Get("X-Pintle-Reason"), got.Header.Get("X-Llm-D-Request-Dropped-Reason")
				if got.Status != tc.status || reason != tc.reason || dropped != tc.dropped {
					t.Errorf("%s: got %d %s %s, want %d %s %s", tc.name, got.Status, reason, dropped, tc.status,
						tc.reason, tc.dropped)
				}
			}
		}
	})
}

// TestDataParallel: the request goes to the primary port of the chosen rank's host, and a header names the rank.
func TestDataParallel(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		for i, best := range f.dead {
			f.Publish(t, harness.Endpoint{Name: "rank-0", Address: f.dead[0], Waiting: uint32(i)},
				harness.Endpoint{Name: "rank-1", Address: f.dead[1], Waiting: uint32(1 - i)})
			got, r := f.sendTo(t, "parallel", chatPath, chatBody, i == 1, rankHeaders[0], forgedStage)
			wantServer(t, got, "sim-0")
			wantStage(t, "chat", r, rankHeaders[0], []string{best}, 1)
		}
	})
}

// TestTokensInFlight: what one worker has sent keeps all of them from a server until its answer begins.
func TestTokensInFlight(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		held, begin, end := make(chan bool, 1), make(chan bool), make(chan bool)
		f.scripted.Script(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Sim-Server", "scripted")
			if len(body) > 4000 {
				held <- true
				<-begin
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				<-end
			}
			_, _ = io.WriteString(w, "{}")
		})
		pool := append(f.pool()[:1], harness.Endpoint{Name: "scripted", Address: f.scripted.Address})
		f.Publish(t, pool...)
		// Each prompt is new, as one that a server has seen stays there.
		asked := 0
		short := func() string {
			asked++
			return fmt.Sprintf(`{"model":"sim-model","prompt":"%d %d"}`, time.Now().UnixNano(), asked)
		}
		ask := func(body string, http2 bool) harness.Answer {
			return harness.Send(t, harness.Client(t, http2),
				harness.Request(t, http.MethodPost, f.URL("tokens", "/v1/completions"), body, false))
		}
		long := strings.Replace(completion(8000), "{", fmt.Sprintf(`{"stream":true,"cache_salt":"%d",`, time.Now().UnixNano()), 1)
		done := make(chan bool)
		go func() {
			defer close(done)
			ask(long, false)
		}()
		// A test that ends early lets the server go on, and waits for the answer.
		letGo, finish := sync.OnceFunc(func() { close(begin) }), sync.OnceFunc(func() { close(end) })
		defer func() { letGo(); finish(); <-done }()
		awaited(t, "a server to have the long prompt", held)
		for i := range 12 {
			wantServer(t, ask(short(), i%2 == 1), "sim-0")
		}
		letGo()
		harness.WaitFor(t, 10*time.Second, "the prompt is computed", func() (bool, string) {
			got := ask(short(), false).Server()
			return got == "scripted", got
		})
		for i := range 12 {
			wantServer(t, ask(short(), i%2 == 1), "scripted")
		}
	})
}

// TestPredictedLatency: a server that answers later than another one is left alone once its answers have told, and what
// it cannot answer in time is refused while it has something to do.
func TestPredictedLatency(t *testing.T) {
	inCells(t, func(t *testing.T, f *fixture) {
		held, end := make(chan bool, 1), make(chan bool)
		const late = 25 * time.Millisecond
		f.scripted.Script(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Sim-Server", "scripted")
			w.Header().Set("Content-Type", "text/event-stream")
			time.Sleep(late)
			_, _ = io.WriteString(w, "data: {}\n\n")
			_ = http.NewResponseController(w).Flush()
			if strings.Contains(string(body), "held") {
				held <- true
				<-end
			}
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
		})
		scripted := harness.Endpoint{Name: "scripted", Address: f.scripted.Address}
		f.Publish(t, append(f.pool()[:1], scripted)...)
		asked := 0
		ask := func(word string, headers ...string) harness.Answer {
			asked++
			request := harness.Request(t, http.MethodPost, f.URL("packages", "/v1/completions"), fmt.Sprintf(
				`{"model":"sim-model","stream":true,"max_tokens":2,"prompt":"%s %d %d %s"}`, word, time.Now().UnixNano(), asked,
				strings.Repeat("word ", 400)), false)
			request.Header.Set("x-profile", "soon")
			for i := 0; i < len(headers); i += 2 {
				request.Header.Set(headers[i], headers[i+1])
			}
			return harness.Send(t, harness.Client(t, false), request)
		}
		row := 0
		for sent := 0; row < 10; sent++ {
			if row++; ask("short").Server() != "sim-0" {
				row = 0
			}
			if sent == 200 {
				t.Fatal("of 200 requests no ten in a row went to the faster server")
			}
		}
		f.Publish(t, scripted)
		done := make(chan bool)
		go func() {
			defer close(done)
			ask("held")
		}()
		finish := sync.OnceFunc(func() { close(end) })
		defer func() { finish(); <-done }()
		awaited(t, "the server to have the request", held)
		got := ask("short", "x-slo-ttft-ms", "1")
		if got.Status != http.StatusTooManyRequests || got.Header.Get("X-Pintle-Reason") != "slo_unmet" ||
			got.Header.Get("Retry-After") == "" ||
			got.Header.Get("X-Llm-D-Request-Dropped-Reason") != "rejected-saturated" {
			t.Errorf("an objective that the busy server cannot meet: got %d %v", got.Status, got.Header)
		}
		if got := ask("short", "x-slo-ttft-ms", "600000"); got.Server() != "scripted" {
			t.Errorf("an objective that can be met: got %d", got.Status)
		}
	})
}
