//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sim"
)

// TestCachesPage: a sidecar shows what publishers of KV events say, and what went wrong with that.
func TestCachesPage(t *testing.T) {
	server, err := harness.NewServer(sim.Config{Name: "default/vllm-0", Models: []string{"m"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	err = server.PublishEvents(sim.EventOptions{Address: "127.0.0.1:0", Replay: "127.0.0.1:0",
		Endpoint: server.Address})
	if err != nil {
		t.Fatal(err)
	}
	tell := func(path, body string) {
		t.Helper()
		answer := harness.Send(t, harness.Client(t, false), harness.Request(t, http.MethodPost,
			"http://"+server.Address+path, body, false))
		if answer.Status/100 != 2 {
			t.Fatalf("%s: got %d %s, want success", path, answer.Status, answer.Body)
		}
	}
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	document := filepath.Join(t.TempDir(), "document.yaml")
	if err := os.WriteFile(document, []byte(`{"config": {"plugins": [{"type": "precise-prefix-cache-scorer",
		"parameters": {"tokenProcessorConfig": {"blockSize": 16},
			"indexerConfig": {"tokenizersPoolConfig": {"modelName": "m"}}}}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	admin := startWith(t, []string{"-plugins", document}, "http://127.0.0.1:1/pintle/v1/snapshot",
		fmt.Sprintf("{name: 'default/vllm-0', address: '%s', engine: vllm}", server.Address),
		fmt.Sprintf("prefix: {address: '127.0.0.1:%d'}", ports[0]))
	c := startChromium(t)
	c.open("http://" + admin + "/")
	const publishers = `document.querySelector("#publishers").innerText`
	c.await("a publisher", publishers, matches(`^default/vllm-0\t0\t127\.0\.0\.1:\d+\tyes\t0 ms\t0\t0\t0\t0\t\t\s*$`))
	// 640 characters are 160 tokens.
	const say = `{"model":"m","max_tokens":1,"prompt":"%s"}`
	tell("/v1/completions", fmt.Sprintf(say, strings.Repeat("so it is ", 71)))
	c.await("what it stored", publishers, matches(`yes\t\d+ ms\t[1-9]\d*\t0\t0\t0\t`))
	c.await("how much is held", `document.querySelector("#cached").innerText`,
		matches(`^1 of 1 publishers, [1-9]\d* blocks of [1-9]\d* keys`))
	tell("/sim/events", `{"fault":"lose","count":1}`)
	tell("/v1/completions", fmt.Sprintf(say, strings.Repeat("not so ", 90)))
	tell("/v1/completions", fmt.Sprintf(say, strings.Repeat("or was it ", 64)))
	c.await("a gap that was mended", publishers, matches(`\t1 mended\t`))
	tell("/reset_prefix_cache", "")
	c.await("that all is gone", publishers, matches(`yes\t\d+ ms\t[1-9]\d*\t0\t1\t0\t`))
	server.Close()
	c.await("that it is gone", publishers, matches(`\tno\t.*\t\S.*(refused|EOF|reset|closed)`))
}
