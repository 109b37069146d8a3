package sidecar

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
)

// preciseYAML is a document of the filter, with the algorithm that llm-d's guide for SGLang names.
func preciseYAML(parameters string) string {
	return `config:
  plugins:
  - type: precise-prefix-cache-scorer
    parameters: {tokenProcessorConfig: {blockSize: 4, hashAlgorithm: xxh64}, ` + parameters + `}
`
}

// newPublisher starts a publisher of KV events and returns its ports as a document has them. It ends with the test.
func newPublisher(t *testing.T) (publisher *kvpub.Publisher, ports string) {
	t.Helper()
	publisher, err := kvpub.New(kvpub.Options{Listen: "127.0.0.1:0", Replay: "127.0.0.1:0", Topic: "kv@a@m1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { publisher.Close() })
	_, port, _ := net.SplitHostPort(publisher.Address())
	_, replay, _ := net.SplitHostPort(publisher.ReplayAddress())
	return publisher, "socketPort: " + port + ", replaySocketPort: " + replay
}

// askPrefix asks as the filter does.
func askPrefix(t *testing.T, address string) (status int, m scoring.PreciseMatches) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/pintle/v1/prefix",
		strings.NewReader(`{"model":"m1","prompt":"some text"}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+testToken)
	request.Header.Set("X-Pintle-Api", "completions")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, m
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode == http.StatusOK && !m.Read(text) {
		t.Fatalf("got %q and %v", text, err)
	}
	return response.StatusCode, m
}

// TestPrefix: what a server says of its cache is answered to the filter, by the tokens that the server makes, at the
// same address as conversations.
func TestPrefix(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/tokenize" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"tokens":[1,2,3,4,5,6,7,8,9]}`)
	}))
	defer server.Close()
	publisher, ports := newPublisher(t)
	document := filepath.Join(t.TempDir(), "filter.yaml")
	writeFile(t, document, preciseYAML(`indexerConfig: {tokenizersPoolConfig: {modelName: m1},
        kvBlockIndexConfig: {enableMetrics: true, metricsLoggingInterval: 10ms}},
      kvEventsConfig: {podDiscoveryConfig: {`+ports+`}}`))
	_, url := newIngest(t)
	address := freeAddress(t)
	sidecar := startWith(t, func(admin string) string {
		return configYAML(admin, url, "{static: "+staticYAML("default/a", server.Listener.Addr().String())+"}") +
			"prefix: {address: '" + address + "'}\nresponses: {address: '" + address + "'}\n"
	}, "-plugins", document)
	eventually(t, "an answer", func() bool {
		status, _ := askPrefix(t, address)
		return status == http.StatusOK
	})
	eventually(t, "a subscriber", func() bool { return publisher.Joined() > 0 })
	publisher.Publish(kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{{Kind: "BlockStored",
		Hashes: []uint64{11, 12}, Tokens: []uint32{1, 2, 3, 4, 5, 6, 7, 8}, BlockTokens: 4}}))
	want := scoring.PreciseHolder{ID: journal.HashName("default/a"), Blocks: 2, Tokens: 8, Score: 2}
	eventually(t, "two blocks", func() bool {
		_, m := askPrefix(t, address)
		return m.Tokens == 9 && m.Holder(want.ID) == want
	})
	const summary = "1 of 1 publishers, 2 blocks of 2 keys"
	for path, want := range map[string]string{
		"/status":  `"caches":{"summary":"` + summary + `","publishers":[{"endpoint":"default/a","rank":0,`,
		"/metrics": `pintle_kv_events_total{endpoint="default/a",kind="stored",rank="0"} 2`,
	} {
		if _, body := sidecar.get(path); !strings.Contains(body, want) {
			t.Errorf("%s: got %s, want %s in it", path, body, want)
		}
	}
	eventually(t, "a line in the log", func() bool { return strings.Contains(sidecar.log.String(), summary) })
	if status, _ := askStore(t, address, testToken, "GET", "history/r1", ""); status != http.StatusNotFound {
		t.Errorf("conversations: got %d, want 404 at the same address", status)
	}
}

// TestPrefixEnds: a sidecar that ends takes what it has told others from the shared index.
func TestPrefixEnds(t *testing.T) {
	valkey := harness.StartValkey(t)
	client := valkey.Client()
	defer client.Close()
	publisher, ports := newPublisher(t)
	document := filepath.Join(t.TempDir(), "filter.yaml")
	writeFile(t, document, preciseYAML(`indexerConfig: {tokenizersPoolConfig: {modelName: m1},
        kvBlockIndexConfig: {redisConfig: {address: 'redis://`+valkey.Address+`'}}},
      kvEventsConfig: {podDiscoveryConfig: {`+ports+`}}`))
	_, url := newIngest(t)
	server := newModelServer(t, 0)
	sidecar := startWith(t, func(admin string) string {
		return configYAML(admin, url, "{static: "+staticYAML("default/a", server.Listener.Addr().String())+"}") +
			"prefix: {address: '" + freeAddress(t) + "'}\n"
	}, "-plugins", document)
	eventually(t, "a subscriber", func() bool { return publisher.Joined() > 0 })
	publisher.Publish(kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{{Kind: "BlockStored",
		Hashes: []uint64{11, 12}, Tokens: []uint32{1, 2, 3, 4, 5, 6, 7, 8}, BlockTokens: 4}}))
	keys := func(pattern string) []string {
		all, err := client.Keys(t.Context(), pattern).Result()
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	eventually(t, "two blocks that others know", func() bool { return len(keys("pintle:kv:k:*")) == 2 })
	sidecar.stop()
	if left := keys("*"); len(left) != 0 {
		t.Errorf("the sidecar leaves %v, want nothing", left)
	}
}

// TestPrefixIsRefused: what a document configures and is not there ends the start, with its key; what no machine has is
// refused with the document.
func TestPrefixIsRefused(t *testing.T) {
	_, url := newIngest(t)
	for _, tc := range []struct {
		parameters string
		code       int
		want       string
	}{
		{`{tokenizersPoolConfig: {modelName: m, local: {autoDiscoveryDir: /nowhere}}}`, 1,
			`autoDiscoveryDir: "/nowhere"`},
		{`{tokenizersPoolConfig: {modelName: m, uds: {useTCP: true}}}`, 2, `uds.socketFile: "/tmp/tokenizer/`},
		{`{tokenizersPoolConfig: {modelName: m}, kvCacheBackendConfigs: [{name: tape}]}`, 2,
			`kvCacheBackendConfigs[0].name: "tape"`},
		{`{tokenizersPoolConfig: {modelName: m}}, kvEventsConfig: {zmqEndpoint: "tcp://x"}`, 2,
			`kvEventsConfig.zmqEndpoint: "tcp://x"`},
	} {
		parameters := "indexerConfig: " + tc.parameters
		document := filepath.Join(t.TempDir(), "filter.yaml")
		writeFile(t, document, preciseYAML(parameters))
		config := filepath.Join(t.TempDir(), "sidecar.yaml")
		writeFile(t, config, configYAML("127.0.0.1:0", url, "{static: []}")+"prefix: {address: '"+freeAddress(t)+"'}\n")
		var log strings.Builder
		code := Command(t.Context(), []string{"-c", config, "-plugins", document}, io.Discard, &log)
		if code != tc.code || !strings.Contains(log.String(), tc.want) {
			t.Errorf("%s: got %d and %s, want %d and %q", parameters, code, &log, tc.code, tc.want)
		}
	}
}
