package main_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/hostcalls/wazerohost"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/snapshot"
)

// explainedDocuments are configurations that explain and the module decide by.
var explainedDocuments = []struct{ name, extra, document string }{
	{"heimdall", `"stale":{"after":"2s","policy":"neutral"},`, `{"plugins":[{"type":"decode-filter"},
		{"type":"queue-scorer"},{"type":"kv-cache-utilization-scorer"},{"type":"prefix-cache-scorer"},
		{"type":"lora-affinity-scorer"},{"type":"active-request-scorer"},{"type":"context-length-aware"}]}`},
	{"llm-d", `"subset":"header",`, `{"apiVersion":"llm-d.ai/v1alpha1","kind":"EndpointPickerConfig","plugins":[
		{"type":"queue-scorer"},{"type":"running-requests-size-scorer"},{"type":"prefix-cache-scorer"},
		{"type":"lora-affinity-scorer"},{"type":"token-load-scorer"},{"type":"session-affinity-scorer"}]}`},
	{"adapters", `"stale":{"after":"2s","policy":"neutral"},`, `{"plugins":[{"type":"lora-placement-filter"},
		{"type":"queue-scorer"},{"type":"lora-affinity-scorer"}]}`},
	{"excluding", `"stale":{"after":"1s","policy":"exclude"},"management":"pass","unreadable":"pass",`,
		`{"plugins":[{"type":"queue-scorer"},{"type":"least-request"},{"type":"openai-parser"},
		{"type":"max-score-picker","parameters":{"maxNumOfEndpoints":3}}]}`},
	{"stages", `"load":{"correction":false},`, `{"plugins":[{"type":"disagg-profile-handler","parameters":{
		"deciders":{"prefill":"always-disagg-pd-decider"}}},{"type":"always-disagg-pd-decider"},
		{"type":"disagg-headers-handler"},{"type":"prefill-filter"},{"type":"decode-filter"},{"type":"queue-scorer"},
		{"type":"max-score-picker"}],"schedulingProfiles":[{"name":"prefill","plugins":[{"pluginRef":"prefill-filter"},
		{"pluginRef":"queue-scorer"}]},{"name":"decode","plugins":[{"pluginRef":"decode-filter"},
		{"pluginRef":"queue-scorer"}]}]}`},
}

// explainedRequest is a request, and what is known of it for either side.
type explainedRequest struct {
	headers wazerohost.Headers
	body    string
}

func randomRequest(r *rand.Rand) (q explainedRequest) {
	paths := []string{"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/tokenize",
		"/v1/audio/speech", "/v1/audio/transcriptions", "/v1/models/m", "/v2/models/m/generate", "/sleep", "/metrics",
		"/v1/messages", "/v1/messages/count_tokens", "/rerank", "/generate"}
	path := paths[0]
	if r.IntN(2) == 0 {
		path = paths[r.IntN(len(paths))]
	}
	text := strings.Repeat([]string{"ab ", "xyz", "ä "}[r.IntN(3)], r.IntN(1500))
	model := []string{"m", "a", "b", "absent"}[r.IntN(4)]
	bodies := []string{
		fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, model, text),
		fmt.Sprintf(`{"model":%q,"prompt":%q,"input":%q,"query":"q","documents":[%q]}`, model, text, text, text),
		fmt.Sprintf(`{"model":%q,"prompt":%q}`, model, text), `{"prompt":"x"}`, "no JSON", "",
	}
	q.body = bodies[r.IntN(len(bodies))]
	if r.IntN(3) > 0 {
		q.body = bodies[r.IntN(2)]
	}
	q.headers = wazerohost.Headers{{":path", path}, {":method", []string{"POST", "POST", "POST", "GET"}[r.IntN(4)]}}
	for _, h := range [][2]string{{"content-encoding", "gzip"}, {"content-encoding", "identity"},
		{"x-gateway-destination-endpoint-subset", "10.0.0.1, 10.0.0.3:8000"}, {"mif-prefill-endpoint", "6.6.6.6:6"},
		{"x-session-token", "ZGVmYXVsdC92bGxtLTE="}, {"x-gateway-model-name-rewrite", "m"}} {
		if r.IntN(6) == 0 {
			q.headers = append(q.headers, h)
		}
	}
	return q
}

// randomFleet is a fleet as the sidecar sends it, and as explain reads it.
func randomFleet(r *rand.Rand, round int) (*pool, string) {
	p, document := &pool{}, []any{}
	p.Load.Adapters = []string{"a", "b", "c"}
	for i := range 1 + r.IntN(6) {
		e := snapshot.Endpoint{Name: fmt.Sprintf("default/vllm-%d-%d", round, i), Address: address(i), Engine: "vllm"}
		labels := map[string]string{}
		for _, l := range [][]string{{"mif.moreh.io/context-length-range", "0-200", "200-4000"},
			{"mif.moreh.io/role", "decode", "prefill", "both"}} {
			if n := r.IntN(len(l)); n > 0 {
				labels[l[0]] = l[n]
				e.Labels = append(e.Labels, snapshot.Label{Key: l[0], Value: l[n]})
			}
		}
		entry := map[string]any{"name": e.Name, "address": e.Address, "engine": e.Engine, "labels": labels}
		if r.IntN(3) == 0 {
			e.Models = []string{"m", "a"}[:1+r.IntN(2)]
			entry["models"] = e.Models
		}
		load := snapshot.EndpointLoad{AgeMillis: snapshot.NoSample}
		if r.IntN(6) > 0 {
			load, entry["metrics"] = randomLoad(r, p.Load.Adapters)
		}
		p.Topology.Endpoints, p.Load.Endpoints = append(p.Topology.Endpoints, e), append(p.Load.Endpoints, load)
		document = append(document, entry)
	}
	text, _ := json.Marshal(map[string]any{"endpoints": document})
	return p, string(text)
}

// randomLoad is the load of an endpoint, for both sides.
func randomLoad(r *rand.Rand, adapters []string) (snapshot.EndpointLoad, map[string]any) {
	load := snapshot.EndpointLoad{WaitingRequests: uint32(r.IntN(20)), RunningRequests: uint32(r.IntN(30)),
		KVCacheUsage: float64(r.IntN(100)) / 100, MaxLoRA: uint32(r.IntN(3)), KVBlockTokens: 16,
		KVBlocks: uint32(r.IntN(3)) * 1000, AgeMillis: uint32(r.IntN(3) * 900),
		RunningLoRA: []uint16{0, 1}[:r.IntN(3)], WaitingLoRA: []uint16{1, 2}[:r.IntN(3)]}
	names := func(list []uint16) []string {
		all := []string{}
		for _, i := range list {
			all = append(all, adapters[i])
		}
		return all
	}
	return load, map[string]any{"waiting": load.WaitingRequests, "running": load.RunningRequests,
		"kvCacheUsage": load.KVCacheUsage, "maxLora": load.MaxLoRA, "blockSize": 16, "numGpuBlocks": load.KVBlocks,
		"age": fmt.Sprintf("%dms", load.AgeMillis), "runningLora": names(load.RunningLoRA),
		"waitingLora": names(load.WaitingLoRA)}
}

// rounded is a score as the header has it.
func rounded(score float64) string { return strconv.FormatFloat(score, 'g', 4, 64) }

// steps are the scores and what was filtered out, a line each, sorted.
func (e *explanation) steps() []string {
	var all []string
	for _, s := range e.Scores {
		all = append(all, fmt.Sprintf("%v %v %v %s", s[0], s[1], s[2], rounded(s[3].(float64))))
	}
	for _, f := range e.FilteredOut {
		all = append(all, fmt.Sprintf("%v %v removed by %v", f[0], f[1], f[2]))
	}
	slices.Sort(all)
	return all
}

func stepsOf(x *explain.Explanation) []string {
	var all []string
	for name, p := range x.Profiles {
		for scorer, scores := range p.Scores {
			for endpoint, score := range scores {
				all = append(all, fmt.Sprintf("%s %s %s %s", name, endpoint, scorer, rounded(score)))
			}
		}
		for endpoint, filter := range p.FilteredOut {
			all = append(all, fmt.Sprintf("%s %s removed by %s", name, endpoint, filter))
		}
	}
	slices.Sort(all)
	return all
}

// byChance reports whether the decision could have been another: several endpoints are as good, or none was judged.
func byChance(x *explain.Explanation) bool {
	if x.Primary == "" {
		return true
	}
	for _, p := range x.Profiles {
		totals := slices.Sorted(maps.Values(p.Totals))
		if len(slices.CompactFunc(totals, func(a, b float64) bool { return b-a < 1e-9 })) < len(p.Totals) {
			return true
		}
	}
	return false
}

// TestExplainDecidesAlike: what explain says of a request is what the module does with it, whatever its path, method,
// headers and body, and whatever came before it.
func TestExplainDecidesAlike(t *testing.T) {
	m := modes[3]
	for _, tc := range explainedDocuments {
		t.Run(tc.name, func(t *testing.T) {
			configuration := m.configuration(tc.document, tc.extra+`"debug":true,`)
			config, err := pluginconfig.Parse([]byte(configuration))
			if err != nil {
				t.Fatal(err)
			}
			g := newGateway(t, m, 1, configuration)
			r := rand.New(rand.NewPCG(7, 7))
			for round := range 150 {
				g.sameRound(r, config, round)
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
		})
	}
}

// both has the module and explain decide a request. Its answer has begun, and does not end.
func (g *gateway) both(x *explain.Explainer, q explainedRequest) (*wazerohost.Stream, *explain.Explanation) {
	headers := map[string]string{}
	for _, h := range q.headers {
		if _, ok := headers[h[0]]; !ok {
			headers[h[0]] = h[1]
		}
	}
	result := x.Explain(explain.Request{Headers: headers, Body: []byte(q.body)}, g.clock.Now().UnixNano())
	s := g.workers[0].requests.Request(q.headers, q.body == "")
	if q.body != "" && !s.Ended() {
		s.Body([]byte(q.body), true)
	}
	if s.Sent() {
		s.Respond(wazerohost.Headers{{":status", "200"}}, false)
	}
	return s, result
}

// sameDecision reports whether both came to the same.
func (g *gateway) sameDecision(s *wazerohost.Stream, x *explain.Explanation) bool {
	if x.Error != nil {
		got := s.ResponseHeaders()
		if s.Sent() || got.Get(":status") != strconv.Itoa(x.Error.Status) ||
			got.Get("x-pintle-reason") != x.Error.Reason {
			g.t.Errorf("the module: sent %v, %v; explain: %+v", s.Sent(), got, *x.Error)
			return false
		}
		return true
	}
	if !s.Sent() {
		g.t.Errorf("the module: %v; explain: goes to %v", s.ResponseHeaders(), x.Destination)
		return false
	}
	if x.Primary == "" {
		if s.ResponseHeaders().Has("x-pintle-explain") {
			g.t.Errorf("the module judged the request, and explain did not")
			return false
		}
		return true
	}
	e := explained(g.t, s)
	if got, want := strings.Join(e.steps(), "\n"), strings.Join(stepsOf(x), "\n"); got != want && e.Omitted == 0 {
		g.t.Errorf("the module:\n%s\nexplain:\n%s", got, want)
		return false
	}
	if got, want := g.ranked(s), strings.Join(x.Destination, ","); got != want && !byChance(x) {
		g.t.Errorf("the module goes to %s, explain to %s", got, want)
		return false
	}
	for name, want := range x.RequestHeaders {
		if got := s.UpstreamHeaders().Get(name); got != want && !byChance(x) {
			g.t.Errorf("the module sends %s: %q, explain %q", name, got, want)
			return false
		}
	}
	return true
}
