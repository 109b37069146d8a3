package explain_test

import (
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/yamldoc"
	"github.com/pintle-dev/pintle/scoring"
)

func TestHeaderFlag(t *testing.T) {
	tests := []struct {
		text, name, value string
		ok                bool
	}{
		{"x-user: ann", "x-user", "ann", true},
		{"X-User:ann", "x-user", "ann", true},
		{"  x-user  :  ann  ", "x-user", "ann", true},
		{"x-url: http://a:80/", "x-url", "http://a:80/", true},
		{"x-user:", "x-user", "", true},
		{":path: /v1/messages", ":path", "/v1/messages", true},
		{":path:/v1/messages", ":path", "/v1/messages", true},
		{"x-user", "", "", false},
		{"", "", "", false},
		{":", "", "", false},
		{":path", "", "", false},
		{": ann", "", "", false},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			name, value, ok := explain.HeaderFlag(test.text)
			if ok != test.ok || ok && (name != test.name || value != test.value) {
				t.Errorf("got %q, %q, %v; want %q, %q, %v", name, value, ok, test.name, test.value, test.ok)
			}
		})
	}
}

func TestReadEndpoints(t *testing.T) {
	const now = int64(1_000_000_000_000)
	tests := []struct {
		name, text string
		want       scoring.Pool
	}{
		{"nothing", "", scoring.Pool{}},
		{"no endpoints", "endpoints: []", scoring.Pool{}},
		{
			"everything", `
endpoints:
- name: default/vllm-0
  address: 10.0.0.1:8000
  labels: {zone: east, mif.moreh.io/role: decode}
  engine: vllm
  models: [m1, m2]
  metrics: {waiting: 3, running: 5, kvCacheUsage: 0.4, runningLora: [a, b], waitingLora: [b], maxLora: 4,
    blockSize: 16, numGpuBlocks: 1000, maxRunning: 64, processStart: "1970-01-01T00:00:02.5Z", age: 0.5s}
  state: {inFlight: 2}
- {name: default/vllm-1, address: "10.0.0.2:8000", metrics: {runningLora: [c, a]}}
- {name: default/vllm-2, address: "10.0.0.3:8000"}`,
			scoring.Pool{
				Adapters: []string{"a", "b", "c"},
				Endpoints: []scoring.Endpoint{
					{
						Index: 0, Name: "default/vllm-0", Address: "10.0.0.1:8000", Engine: "vllm",
						Models: []string{"m1", "m2"},
						Labels: []scoring.Label{{Key: "mif.moreh.io/role", Value: "decode"},
							{Key: "zone", Value: "east"}},
						Metrics: scoring.Metrics{
							SampledAt: now - 500_000_000, WaitingRequests: 3, RunningRequests: 5, KVCacheUsage: 0.4,
							RunningLoRA: []uint16{0, 1}, WaitingLoRA: []uint16{1}, MaxLoRA: 4, KVBlockTokens: 16,
							KVBlocks:   1000,
							MaxRunning: 64, ProcessStart: 2500,
						},
					},
					{
						Index: 1, Name: "default/vllm-1", Address: "10.0.0.2:8000",
						Metrics: scoring.Metrics{SampledAt: now, RunningLoRA: []uint16{2, 0}},
					},
					{Index: 2, Name: "default/vllm-2", Address: "10.0.0.3:8000"},
				},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := explain.ReadEndpoints([]byte(test.text), now)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Pool, test.want) {
				t.Errorf("got  %+v\nwant %+v", got.Pool, test.want)
			}
		})
	}
}

func TestStartThatIsNoTime(t *testing.T) {
	const text = `endpoints: [{name: a, address: "10.0.0.1:8000", metrics: {processStart: yesterday}}]`
	_, err := explain.ReadEndpoints([]byte(text), 0)
	if want := `metrics.processStart: "yesterday" is no time`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func explainer(t *testing.T, config, endpoints string) *explain.Explainer {
	t.Helper()
	document, err := yamldoc.Read([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	c, err := pluginconfig.Parse(document.JSON)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := explain.ReadEndpoints([]byte(endpoints), goldenNow)
	if err != nil {
		t.Fatal(err)
	}
	return explain.New(c, pool, goldenSeed)
}

// Counts as large as a server likes are what they are in the filter.
func TestReadEndpointsClampsCounts(t *testing.T) {
	const text = `{"endpoints":[{"name":"a","address":"10.0.0.1:8000","metrics":{"waiting":4294967295,"running":2147483648}}]}`
	fleet, err := explain.ReadEndpoints([]byte(text), 1_000_000_000_000)
	if err != nil {
		t.Fatal(err)
	}
	m := fleet.Endpoints[0].Metrics
	if m.WaitingRequests != math.MaxInt32 || m.RunningRequests != math.MaxInt32 {
		t.Errorf("got %d waiting and %d running, want %d of each", m.WaitingRequests, m.RunningRequests, math.MaxInt32)
	}
}

func TestWriteText(t *testing.T) {
	const config = `
plugins: [{type: by-label, parameters: {label: zone, validValues: [east]}}, {type: multi-factor-selector, parameters: {decisions: [{
    algorithm: {multi_factor: {slo: {max_ttft_ms: 500}}}, modelRefs: [{model: large, quality_score: 0.9, pricing: {prompt_per_1m: 5}},
    {model: small, quality_score: 0.6, pricing: {prompt_per_1m: 0.5}}, {model: slow}, {model: absent}]}]}}, {type: queue-scorer},
  {type: kv-cache-utilization-scorer}, {type: max-score-picker, parameters: {maxNumOfEndpoints: 2}}]`
	const endpoints = `
endpoints:
- {name: a, address: "10.0.0.1:8000", labels: {zone: east}, metrics: {waiting: 8, kvCacheUsage: 0.75}}
- {name: bb, address: "10.0.0.2:8000", labels: {zone: east}, metrics: {waiting: 0, kvCacheUsage: 0.25}}
- {name: ccc, address: "10.0.0.3:8000", labels: {zone: east}, metrics: {waiting: 4, kvCacheUsage: 0.5}}
- {name: d, address: "10.0.0.4:8000", labels: {zone: west}}`
	tests := []struct{ name, endpoints, body, want string }{
		{
			"a pick", endpoints, `{"model": "m", "prompt": "hi"}`, `profile default (primary)
  endpoint  total   kv-cache-utilization-scorer  queue-scorer  
  bb        1.7500  0.7500                       1.0000        picked 1
  ccc       1.0000  0.5000                       0.5000        picked 2
  a         0.2500  0.2500                       0.0000        
  d         removed by by-label

asks for model m
goes to 10.0.0.2:8000, else to 10.0.0.3:8000
`,
		},
		{
			"nobody left", `endpoints: [{name: d, address: "10.0.0.4:8000"}]`, `{"model": "m", "prompt": "hi"}`,
			`profile default
  endpoint  total
  d         removed by by-label

asks for model m
refused with 503 filtered_out: no model server passes the filters for this request
`,
		},
		{
			"refused", endpoints, `{"prompt": "hi"}`,
			"refused with 400 model_missing: the request names no model; set \"model\" to the name of one\n",
		},
		{"no body", `endpoints: [{name: d, address: "10.0.0.4:8000", labels: {zone: east}}]`, ``,
			"goes to 10.0.0.4:8000\n"},
		{
			"a virtual model", `
endpoints: [{name: a, address: "10.0.0.1:8000", models: [large, slow, small], labels: {zone: east}}]
models: [{name: large, inFlight: 3}, {name: slow, ttft: 800ms, tpot: 20ms}]`, `{"model": "auto", "prompt": "hi"}`,
			`model auto stands for small (score)
  model   score                   cost    latency  load    quality
  small   0.6250                  1.0000  0.5000   1.0000  0.0000  inflight 0, prompt_per_1m 0.5, quality_score 0.6
  large   0.3750                  0.0000  0.5000   0.0000  1.0000  inflight 3, prompt_per_1m 5, quality_score 0.9
  absent  removed by not served
  slow    removed by max_ttft_ms  inflight 0, tpot_ms 20, ttft_ms 800

profile default (primary)
  endpoint  total   kv-cache-utilization-scorer  queue-scorer
  a         1.0000  0.5000                       0.5000        picked 1

asks for model small
goes to 10.0.0.1:8000
`,
		},
		{
			"a virtual model of nothing", `endpoints: [{name: d, address: "10.0.0.4:8000", models: [m]}]`,
			`{"model": "auto", "prompt": "hi"}`,
			`model auto stands for nothing (no_model)
  model   score
  absent  removed by not served
  large   removed by not served
  slow    removed by not served
  small   removed by not served

asks for model auto
refused with 503 no_model: no model server serves any of the models behind "auto"
`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got strings.Builder
			x := explainer(t, config, test.endpoints)
			if err := x.Explain(explain.Request{Body: []byte(test.body)}, goldenNow).WriteText(&got); err != nil {
				t.Fatal(err)
			}
			if trim(got.String()) != trim(test.want) {
				t.Errorf("got:\n%s\nwant:\n%s", got.String(), test.want)
			}
		})
	}
}

// TestWriteTextOfAMix: where several strategies decide, the text shows the totals that decided.
func TestWriteTextOfAMix(t *testing.T) {
	const config = `
plugins: [{type: routing-strategy-handler}, {type: queue-scorer}, {type: kv-cache-utilization-scorer}, {type: max-score-picker}]
schedulingProfiles:
- {name: usage, plugins: [{pluginRef: kv-cache-utilization-scorer}]}
- {name: queue, plugins: [{pluginRef: queue-scorer}]}`
	const endpoints = `
endpoints:
- {name: a, address: "10.0.0.1:8000", metrics: {waiting: 8, kvCacheUsage: 0.25}}
- {name: b, address: "10.0.0.2:8000", metrics: {waiting: 0, kvCacheUsage: 0.75}}
- {name: c, address: "10.0.0.3:8000", metrics: {waiting: 2, kvCacheUsage: 0.35}}`
	const want = `profile queue
  endpoint  total   queue-scorer
  b         1.0000  1.0000
  c         0.7500  0.7500
  a         0.0000  0.0000

profile usage (primary)
  endpoint  total   kv-cache-utilization-scorer
  a         1.0000  0.7500
  c         0.8000  0.6500
  b         0.0000  0.2500

mix of usage, queue
  endpoint  total   usage x 0.7500  queue x 0.2500
  c         0.7875  0.8000          0.7500          picked 1
  a         0.7500  1.0000          0.0000
  b         0.2500  0.0000          1.0000

asks for model m
goes to 10.0.0.3:8000
`
	request := explain.Request{
		Headers: map[string]string{"routing-strategy": "usage:3,queue:1"},
		Body:    []byte(`{"model": "m", "prompt": "hi"}`),
	}
	var got strings.Builder
	if err := explainer(t, config, endpoints).Explain(request, goldenNow).WriteText(&got); err != nil {
		t.Fatal(err)
	}
	if trim(got.String()) != trim(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}

// TestVirtualModelsExample: with the example of virtual models a request for a model behind them stays on its servers.
func TestVirtualModelsExample(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("../../docs/examples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	x := explainer(t, read("virtual-models.yaml"), read("virtual-models-endpoints.yaml"))
	for model, want := range map[string]string{"llama-3.1-8b": "default/small-", "llama-3.1-70b": "default/large-"} {
		got := x.Explain(explain.Request{Body: []byte(`{"model": "` + model + `", "prompt": "hi"}`)}, goldenNow)
		for name := range got.Profiles["default"].Totals {
			if !strings.HasPrefix(name, want) {
				t.Errorf("%s: %s is a candidate, want those of %s alone", model, name, want)
			}
		}
	}
	got := x.Explain(explain.Request{Body: []byte(`{"model": "other", "prompt": "hi"}`)}, goldenNow)
	if got.Error == nil || got.Error.Reason != "model_not_found" {
		t.Errorf("a model that nobody has: got %+v, want model_not_found", got.Error)
	}
}

// trim removes white space at the ends of lines.
func trim(text string) string {
	all := strings.Split(text, "\n")
	for i := range all {
		all[i] = strings.TrimRight(all[i], " ")
	}
	return strings.Join(all, "\n")
}

// brokenWriter is a pipe that nobody reads.
type brokenWriter struct{}

var errBroken = errors.New("broken pipe")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteTextFails(t *testing.T) {
	x := explainer(t, ``, ``)
	if err := x.Explain(explain.Request{}, goldenNow).WriteText(brokenWriter{}); !errors.Is(err, errBroken) {
		t.Errorf("error %v, want %v", err, errBroken)
	}
}

// A result stays as it is when the next request is explained.
func TestResultsAreIndependent(t *testing.T) {
	x := explainer(t, `plugins: [{type: queue-scorer}]`, `endpoints: [{name: a, address: "10.0.0.1:8000"}]`)
	body := explain.Request{Body: []byte(`{"model": "m", "prompt": "hi"}`)}
	first := x.Explain(body, goldenNow)
	second := x.Explain(body, goldenNow)
	x.Explain(explain.Request{Body: []byte(`{}`)}, goldenNow)
	if !reflect.DeepEqual(first, second) || len(first.Profiles["default"].Picked) != 1 {
		t.Errorf("the first result is %+v, the second %+v; want them equal, with one pick", first.Profiles["default"],
			second.Profiles["default"])
	}
}
