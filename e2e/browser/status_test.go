//go:build browser

package browser

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar"
)

// page is a vLLM page.
func page(waiting int64, usage string) string {
	return fmt.Sprintf("vllm:num_requests_waiting %d\nvllm:num_requests_running 12\nvllm:kv_cache_usage_perc "+
		"%s\nvllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"27644\"} 1\n", waiting, usage)
}

func modelServer(t *testing.T, content func() string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, content())
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// start runs a sidecar until the test ends, with further lines of its configuration, and returns its admin address.
func start(t *testing.T, ingest, endpoints string, settings ...string) string {
	t.Helper()
	return startWith(t, nil, ingest, endpoints, settings...)
}

// startWith is start with further arguments.
func startWith(t *testing.T, arguments []string, ingest, endpoints string, settings ...string) string {
	t.Helper()
	ports, err := harness.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	admin := fmt.Sprint("127.0.0.1:", ports[0])
	path := filepath.Join(t.TempDir(), "sidecar.yaml")
	config := fmt.Sprintf("envoy: {ingest: ['%s'], token: secret-token}\nadmin: {address: '%s'}\nresponses: {address: "+
		"'127.0.0.1:%d'}\ndiscovery: {static: [%s]}\n%s\n", ingest, admin, ports[1], endpoints,
		strings.Join(settings, "\n"))
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		sidecar.Command(ctx, append([]string{"-c", path}, arguments...), io.Discard, io.Discard)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return admin
}

func TestStatusPage(t *testing.T) {
	var waiting atomic.Int64
	waiting.Store(3)
	busy := modelServer(t, func() string { return page(waiting.Load(), "0.42") })
	full := modelServer(t, func() string { return page(17, "0.93") })
	sglang := modelServer(t, func() string {
		return "sglang:num_queue_reqs 1\nsglang:num_running_reqs 4\nsglang:token_usage 0.28\n"
	})
	renamed := modelServer(t, func() string { return "vllm:num_requests_waiting 0\nvllm:num_requests_running 0\n" })
	envoy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(envoy.Close)
	endpoint := func(name, address, labels string) string {
		return fmt.Sprintf("{name: '%s', address: '%s', labels: {%s}, models: [llama-3.1-8b]},", name, address, labels)
	}
	dead := "default/<img src=x onerror=document.title=1>"
	if os.Getenv("SCREENSHOT") != "" {
		dead = "default/vllm-gone" // easier on the eye
	}
	admin := start(t, envoy.URL+"/pintle/v1/snapshot",
		endpoint("default/vllm-0", busy, "role: decode")+endpoint("default/vllm-1", full, "role: decode")+
			endpoint("default/sglang-0", sglang, "role: prefill")+endpoint("default/vllm-old", renamed, "")+
			endpoint(dead, "127.0.0.1:1", ""))

	c := startChromium(t)
	c.open("http://" + admin + "/")
	rowOf := func(name string) string {
		return fmt.Sprintf(
			`([...document.querySelectorAll("#endpoints tr")].find(tr => tr.cells[0].textContent === %q) ?? {innerText: ""}).innerText`, name)
	}
	has := func(parts ...string) func(string) bool {
		return func(got string) bool {
			for _, part := range parts {
				if !strings.Contains(got, part) {
					return false
				}
			}
			return true
		}
	}
	c.await("a row with its load", rowOf("default/vllm-0"),
		has(busy, "vllm", "\t3\t12\t", "42 %", "role=decode", "llama-3.1-8b"))
	c.await("the detected engine", rowOf("default/sglang-0"), has("sglang", "\t1\t4\t", "28 %"))
	c.await("the missing metric", rowOf("default/vllm-old"), has("no vllm:kv_cache_usage_perc"))
	c.await("the dead endpoint", rowOf(dead), has("never", "connection refused"))
	c.await("what the Envoy has acknowledged", `document.querySelector("#envoys").innerText`,
		has(envoy.URL, "accepted"))
	c.await("the mistakes", `document.querySelector("#mistakes").innerText`, has("metric missing", "scrape failed"))
	c.await("the store of conversations", `document.querySelector("#store").innerText`,
		has("0 in memory, 0 bytes", "0 responses stored", "memory\t0\t0\t0"))
	c.await("the configuration", `document.querySelector("#configuration").innerText`, has(`"scrapeInterval": "50ms"`))
	waiting.Store(8)
	c.await("a change without a reload", rowOf("default/vllm-0"), has("\t8\t12\t"))
	if title := c.text("document.title"); title != "Pintle sidecar" {
		t.Errorf("title: got %q; a name was read as HTML", title)
	}
	if text := c.text("document.documentElement.outerHTML"); strings.Contains(text, "secret-token") {
		t.Error("got the token in the page, want it nowhere")
	}
	c.wantNothingFromElsewhere(admin)
	picture := c.screenshot()
	if len(picture) < 10_000 {
		t.Errorf("got a picture of %d bytes, want one with something on it", len(picture))
	}
	if path := os.Getenv("SCREENSHOT"); path != "" {
		savePicture(t, path, picture)
	}
}

// savePicture writes a picture to a path, which may start from the repository's root.
func savePicture(t *testing.T, path string, picture []byte) {
	t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(harness.Root(), path)
	}
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		t.Fatal(err)
	}
}
