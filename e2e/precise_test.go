package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/internal/sidecar/precise"
	maketokens "github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/scoring"
)

// oneServer has every question asked of one server.
type oneServer struct{ maketokens.Server }

func (o oneServer) For(string, int) []maketokens.Server { return []maketokens.Server{o.Server} }

func (oneServer) SGLang(string) bool { return false }

// newPrefixes serves what the sidecar knows of the beginnings of prompts: of the prompt "of N" server N has all blocks.
func newPrefixes(t *testing.T, names []string) string {
	t.Helper()
	// The prompt is found in the body; a prompt is eight tokens, all the same.
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, prompt, _ := strings.Cut(string(body), "of ")
		fmt.Fprintf(w, `{"tokens":[%s]}`, strings.TrimSuffix(strings.Repeat(prompt[:1]+",", 8), ","))
	}))
	t.Cleanup(engine.Close)
	blocks, err := kvindex.New(kvindex.Config{BlockTokens: 4, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		prompt := kvindex.Prompt{}
		for range 8 {
			prompt.Tokens = append(prompt.Tokens, uint32(i))
		}
		keys := kvindex.Keys(nil, blocks.Root("", "m"), 4, &prompt)
		err := blocks.Add(context.Background(), kvindex.Publisher{Endpoint: name}, kvindex.GPU, []uint64{1, 2}, keys)
		if err != nil {
			t.Fatal(err)
		}
	}
	x := &scoring.PreciseIndex{BlockTokens: 4, Tokens: scoring.TokenBackend{Workers: 4}}
	made, err := maketokens.NewPool(&x.Tokens, oneServer{maketokens.Server{URL: engine.URL, Client: engine.Client()}})
	if err != nil {
		t.Fatal(err)
	}
	service := &precise.Service{Index: x, Tokens: made, Blocks: blocks, Log: slog.New(slog.DiscardHandler),
		Token: func() string { return harness.Token }, Endpoints: func() []string { return names }}
	service.Start()
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// Two ways to say the same: an index that a scorer has, and one by llm-d's name for it.
const (
	preciseScorer = `{"plugins": [{"type": "precise-prefix-cache-scorer", "parameters": {
		"tokenProcessorConfig": {"blockSize": 4},
		"indexerConfig": {"tokenizersPoolConfig": {"modelName": "m"}}}}, {"type": "context-length-aware"}]}`

	preciseProducer = `{"apiVersion": "llm-d.ai/v1", "kind": "EndpointPickerConfig", "plugins": [
		{"type": "precise-prefix-cache-producer", "parameters": {"tokenProcessorConfig": {"blockSize": 4},
			"indexerConfig": {"tokenizersPoolConfig": {"modelName": "m"}}}},
		{"type": "prefix-cache-scorer", "parameters": {"prefixMatchInfoProducerName": "precise-prefix-cache-producer"}},
		{"type": "max-score-picker"}],
		"schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "prefix-cache-scorer"},
			{"pluginRef": "max-score-picker"}]}]}`
)

// TestPrecise: requests go where the sidecar says that their blocks are, and are as long as it says; where it cannot be
// reached they are served all the same.
func TestPrecise(t *testing.T) {
	for _, cell := range recoveryCells {
		t.Run(cell.String(), func(t *testing.T) {
			t.Parallel()
			var names, addresses []string
			var endpoints []harness.Endpoint
			for _, name := range []string{"default/a", "default/b", "default/c"} {
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("X-Server", name)
					_, _ = io.WriteString(w, "{}")
				}))
				t.Cleanup(server.Close)
				address := server.Listener.Addr().String()
				names, addresses = append(names, name), append(addresses, address)
				endpoints = append(endpoints, harness.Endpoint{Name: name, Address: address,
					Labels: map[string]string{"mif.moreh.io/context-length-range": "8-8"}})
			}
			dead, err := harness.DeadAddress()
			if err != nil {
				t.Fatal(err)
			}
			asking := func(cluster, document string) map[string]any {
				return map[string]any{"debug": true, "config": json.RawMessage(document),
					// On a busy machine nothing is quick.
					"sidecar": map[string]any{"cluster": cluster, "prefixTimeout": "20s"}}
			}
			prefixes := newPrefixes(t, names)
			envoy, err := harness.StartWith(harness.Options{Edit: func(config string) string {
				return withCluster("nobody", dead)(withCluster("pintle-sidecar", prefixes)(config))
			}}, cell, addresses,
				&harness.Listener{Name: "requests", Plugin: asking("pintle-sidecar", preciseScorer)},
				&harness.Listener{Name: "produced", Plugin: asking("pintle-sidecar", preciseProducer)},
				&harness.Listener{Name: "unreachable", Plugin: asking("nobody", preciseScorer)},
				&harness.Listener{Name: "ingest", Plugin: asking("nobody", preciseScorer), Ingest: true,
					MaxBodyBytes: 8 << 20})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(envoy.Stop)
			envoy.LogOnFailure(t)
			envoy.Publish(t, endpoints...)
			send := func(listener, body string) harness.Answer {
				return harness.Send(t, harness.Client(t, false), harness.Request(t, http.MethodPost,
					envoy.URL(listener, "/v1/chat/completions"), body, false))
			}
			for _, i := range []int{2, 0, 1, 2, 1, 0} {
				body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"of %d"}]}`, i)
				for _, listener := range []string{"requests", "produced"} {
					got := send(listener, body)
					explained := got.Header.Get("X-Pintle-Explain")
					if got.Status != http.StatusOK || got.Header.Get("X-Server") != names[i] ||
						!strings.Contains(explained, fmt.Sprintf(`"matched":[["%s",2,2]]`, names[i])) ||
						// of the tokens that the sidecar made
						listener == "requests" && !strings.Contains(explained, `"context-length-aware",0.7]`) {
						t.Errorf("%s of %d: got %d from %s, %s", listener, i, got.Status, got.Header.Get("X-Server"),
							explained)
					}
				}
				if got := send("unreachable", body); got.Status != http.StatusOK ||
					!strings.Contains(got.Header.Get("X-Pintle-Explain"), `"prefix":{"state":"failed"}`) ||
					!strings.Contains(got.Header.Get("X-Pintle-Explain"), `"context-length-aware",0]`) {
					t.Errorf("unreachable: got %d, %v", got.Status, got.Header)
				}
			}
			stats := envoy.Stats(t, "pintle.prefix")
			for name, want := range map[string]int64{"known": 12, "none": 0, "late": 0, "failed": 6} {
				if got := stats["wasmcustom.pintle.prefix."+name]; got != want {
					t.Errorf("%s is %d, want %d", name, got, want)
				}
			}
		})
	}
}
