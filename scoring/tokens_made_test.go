package scoring_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
)

// TestWhoMakesTokens: a token-producer's backend takes the place of the index's own, but for how many prompts are made
// tokens of at a time. In the older dialect it needs its feature gate. Of several the first counts, which is said.
func TestWhoMakesTokens(t *testing.T) {
	const (
		h, l   = scoring.DialectHeimdall, scoring.DialectLLMD
		gate   = `"featureGates": ["prepareDataPlugins"], `
		url    = `, {"type": "token-producer", "parameters": {"modelName": "n", "vllm": {"url": "http://render:8000"}}}`
		socket = `, {"name": "second", "type": "token-producer", "parameters": {"modelName": "o",
			"udsTokenizerConfig": {"socketFile": "/s"}}}`
		estimate = `, {"name": "estimate", "type": "token-producer"}`
		off      = ": is off, as prepareDataPlugins is not among the featureGates"
	)
	own := scoring.TokenBackend{Kind: scoring.TokensOfEngine, Model: "m"}
	rendered := scoring.TokenBackend{Kind: scoring.TokensRendered, Model: "n", URL: "http://render:8000"}
	service := scoring.TokenBackend{Kind: scoring.TokensOfService, Model: "o", Socket: "/s"}
	for _, tc := range []struct {
		name     string
		dialect  scoring.Dialect
		head     string
		plugins  string
		want     scoring.TokenBackend
		warnings []string
	}{
		{"nobody else", h, gate, "", own, nil},
		{"an estimate", h, gate, estimate, own, nil},
		{"a server", h, gate, url, rendered, nil},
		{"a service", h, gate, socket, service, nil},
		{"a server without the gate", h, "", url, own, []string{"token-producer" + off}},
		{"two without the gate", h, "", url + socket, own, []string{"token-producer" + off, "second" + off}},
		{"a server in llm-d's dialect", l, "", url, rendered, nil},
		{"two", l, "", url + socket, rendered, []string{"second: makes no tokens, as token-producer does"}},
		{"an estimate before a service", l, "", estimate + socket, service, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan, err := read(`{`+tc.head+`"plugins": [{"name": "index", "type": "precise-prefix-cache-scorer",
				"parameters": {"indexerConfig": {"tokenizersPoolConfig": {"modelName": "m", "workersCount": 7}}}}`+
				tc.plugins+`]}`, tc.dialect)
			if err != nil {
				t.Fatal(err)
			}
			got := &plan.PreciseIndex().Tokens
			if got.Kind != tc.want.Kind || got.Model != tc.want.Model || got.Workers != 7 ||
				tc.want.URL != "" && got.URL != tc.want.URL || tc.want.Socket != "" && got.Socket != tc.want.Socket {
				t.Errorf("tokens are made by %+v, want %+v by 7 workers", *got, tc.want)
			}
			want := append([]string{"index: the sidecar has to read this document, too: pintle sidecar -plugins FILE"},
				tc.warnings...)
			if got := strings.Join(plan.Warnings(), "\n"); got != strings.Join(want, "\n") {
				t.Errorf("warnings\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}
		})
	}
}

// TestIdleTokenizers: where a token-producer makes the tokens, it is said that what the index has for that does not.
func TestIdleTokenizers(t *testing.T) {
	for _, tc := range []struct {
		name, pool, producer string
		idle                 bool
	}{
		{"nothing else", ``, `"modelName": "m"`, false},
		{"files", `, "local": {}`, `"modelName": "m"`, true},
		{"files beside an estimate", `, "local": {}`, ``, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plan, err := read(`{"plugins": [{"name": "index", "type": "precise-prefix-cache-scorer", "parameters": {
				"indexerConfig": {"tokenizersPoolConfig": {"modelName": "m"`+tc.pool+`}}}}, {"type": "token-producer",
				"parameters": {`+tc.producer+`}}]}`, scoring.DialectLLMD)
			if err != nil {
				t.Fatal(err)
			}
			const said = "index: its tokenizersPoolConfig makes no tokens, as token-producer does"
			if got := slices.Contains(plan.Warnings(), said); got != tc.idle {
				t.Errorf("warnings %q, want %q: %v", plan.Warnings(), said, tc.idle)
			}
		})
	}
}
