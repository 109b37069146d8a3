package precise_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/scoring/internal/plantest"
)

// making is a document with a token-producer that has such parameters.
func making(parameters string) string {
	return `{"apiVersion": "llm-d.ai/v1", "plugins": [{"name": "t", "type": "token-producer", "parameters": {` +
		parameters + `}}, {"type": "precise-prefix-cache-producer", "parameters": {"indexerConfig": {"tokenizersPoolConfig": {
		"modelName": "n", "workersCount": 7}}}}, {"type": "queue-scorer"}]}`
}

// TestBackends: who makes tokens by a token-producer's parameters. The index says how many at the same time.
func TestBackends(t *testing.T) {
	usual := scoring.TokenBackend{At: "t", Kind: scoring.TokensRendered, Model: "m", Workers: 7,
		URL: "http://localhost:8000", Timeout: 5 * time.Second, MediaTimeout: 30 * time.Second,
		Socket: "/tmp/tokenizer/tokenizer-uds.socket"}
	for _, tc := range []struct {
		name, parameters string
		change           func(b *scoring.TokenBackend)
	}{
		{"a model alone", `"modelName": "m"`, func(*scoring.TokenBackend) {}},
		{"a server", `"modelName": "m", "vllm": {"url": "http://h:1", "timeout": "1ms", "mmTimeout": "2ms"}`,
			func(b *scoring.TokenBackend) {
				b.URL, b.Timeout, b.MediaTimeout = "http://h:1", time.Millisecond, 2*time.Millisecond
			}},
		{"by the former name", `"modelName": "m", "vllm": {"http": "http://h:2"}`,
			func(b *scoring.TokenBackend) { b.URL = "http://h:2" }},
		{"a service", `"modelName": "m", "udsTokenizerConfig": {"socketFile": "/s", "modelTokenizerMap": {"m": "/f"}}`,
			func(b *scoring.TokenBackend) {
				b.Kind, b.Socket = scoring.TokensOfService, "/s"
				b.Files = []scoring.PreciseFile{{Model: "m", Path: "/f"}}
			}},
		{"a service over TCP", `"modelName": "m", "udsTokenizerConfig": {"socketFile": "h:1", "useTCP": true}`,
			func(b *scoring.TokenBackend) { b.Kind, b.Socket, b.TCP = scoring.TokensOfService, "h:1", true }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := usual
			tc.change(&want)
			got := plantest.Plan(t, making(tc.parameters), plantest.Neutral).PreciseIndex()
			if got == nil || !reflect.DeepEqual(got.Tokens, want) {
				t.Errorf("got  %+v\nwant %+v", got.Tokens, want)
			}
		})
	}
}

// TestBackendMistakes: what is wrong with a backend is said by its key.
func TestBackendMistakes(t *testing.T) {
	const at = "plugins[0](t).parameters"
	for _, tc := range []struct{ name, parameters, want string }{
		{"none", ``, ""},
		{"no model", `"vllm": {}`, at + ".modelName: is missing; it is the name of the base model"},
		{"no URL", `"modelName": "m", "vllm": {"url": "h"}`,
			at + `.vllm.url: the value is no URL; one such as http://localhost:8000 is right`},
		{"two", `"modelName": "m", "vllm": {}, "udsTokenizerConfig": {}`,
			at + ".udsTokenizerConfig: stands beside vllm; it is one or the other"},
		{"a former name beside today's", `"modelName": "m", "vllm": {"url": "http://h", "http": "http://h"}`,
			at + `.vllm: unknown key "http"; known are url, timeout, mmTimeout`},
		{"another key", `"modelName": "m", "vllm": {"x": 1}`, at + `.vllm: unknown key "x"; known are url, timeout, mmTimeout`},
		{"another key of a service", `"modelName": "m", "udsTokenizerConfig": {"x": 1}`,
			at + `.udsTokenizerConfig: unknown key "x"; known are socketFile, useTCP, modelTokenizerMap`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := plantest.Mistakes(making(tc.parameters)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
