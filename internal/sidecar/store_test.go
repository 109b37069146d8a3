package sidecar

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
)

// askStore asks a store as the filter does.
func askStore(t *testing.T, address, token, method, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+"/pintle/v1/"+path,
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("X-Pintle-Input", "3")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

const storedTurn = `"a"{"id":"r1","status":"completed","output":[]}`

// TestStore: the sidecar keeps conversations where its configuration or the filter's document says so, for who has the
// token, and keeps them over a restart where there is a file.
func TestStore(t *testing.T) {
	folder := t.TempDir()
	document := filepath.Join(folder, "filter.yaml")
	writeFile(t, document, `config:
  featureGates: [prepareDataPlugins]
  plugins:
  - {type: responses-store, parameters: {storeConfig: {inMemoryConfig: {file: kept}}}}
  - {type: queue-scorer}
`)
	bare := filepath.Join(folder, "bare.yaml")
	writeFile(t, bare, "config: {featureGates: [prepareDataPlugins], plugins: [{type: responses-store}]}\n")
	_, url := newIngest(t)
	for round, more := range [][]string{{"-plugins", document}, {"-plugins", document}, nil, {"-plugins", bare}} {
		address := freeAddress(t)
		r := startWith(t, func(admin string) string {
			return configYAML(admin, url, "{static: []}") + "responses: {address: '" + address +
				"', storeConfig: {inMemoryConfig: {file: '" + filepath.Join(folder, "kept") + "'}}}\n"
		}, more...)
		wait(t, r, address)
		if round == 0 {
			if got, text := askStore(t, address, testToken, "POST", "turns", storedTurn); got != http.StatusNoContent {
				t.Errorf("stored: got %d %s", got, text)
			}
		}
		if got, _ := askStore(t, address, "another-token", "GET", "history/r1", ""); got != http.StatusUnauthorized {
			t.Errorf("another token: got %d, want 401", got)
		}
		if got, text := askStore(t, address, testToken, "GET", "history/r1", ""); got != http.StatusOK ||
			!strings.Contains(text, `"content":"a"`) {
			t.Errorf("round %d: got %d %s, want the conversation", round, got, text)
		}
		if _, text := r.get("/metrics"); !strings.Contains(text, `pintle_store_lookups_total{result="hit",tier="memory"} 1`) ||
			!strings.Contains(text, "pintle_store_entries 1") {
			t.Errorf("round %d: the metrics do not tell of the look: %s", round, text)
		}
		if _, text := r.get("/status"); !strings.Contains(text, `"responses":"in memory, at `+address) ||
			!strings.Contains(text, `"store":{"entries":1,"bytes":`) ||
			!strings.Contains(text, `"tiers":[{"name":"memory","hits":1,"misses":0,"errors":0,"bytesRead":`) {
			t.Errorf("round %d: the status does not tell of the store: %s", round, text)
		}
		if code := r.stop(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

// wait waits until the store answers.
func wait(t *testing.T, r *running, address string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if got, _ := askStore(t, address, "", "GET", "history/r1", ""); got != 0 {
			return
		}
	}
	t.Fatalf("the store does not answer:\n%s", r.log)
}

func TestStoreMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"responses: {address: nowhere}":                "responses.address: \"nowhere\" is no address",
		"responses: {storeConfig: {}}":                 "storeConfig: needs inMemoryConfig or tieredConfig",
		"responses: {storeConfig: {tieredConfig: {}}}": "tieredConfig.redis: is missing",
		"responses: {storeconfig: {}}":                 "unknown key \"storeconfig\"; did you mean storeConfig?",
		"responses: {address: 'unix:///srv/a', x: 1}":  "unknown key \"x\"",
	} {
		path, log := filepath.Join(t.TempDir(), "sidecar.yaml"), &harness.Log{}
		writeFile(t, path, configYAML("127.0.0.1:0", "'http://127.0.0.1:1'", "{static: []}")+text+"\n")
		if code := Command(t.Context(), []string{"-c", path, "-check"}, io.Discard, log); code != 2 ||
			!strings.Contains(log.String(), want) {
			t.Errorf("%s: got %d and %s, want 2 and %s", text, code, log, want)
		}
	}
}
