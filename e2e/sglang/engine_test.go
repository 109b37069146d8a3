//go:build sglang && linux

package sglang

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/e2e/servers"
	"github.com/pintle-dev/pintle/internal/harness"
)

const (
	// model is the name that the engine serves its model by, adapterName that of the LoRA adapter it starts with.
	model, adapterName = "tiny", "adapter-1"
	// slots is how many requests run at once.
	slots = 4
	// pageTokens is the size of a page, pages how many the engine has.
	pageTokens, pages = 16, 512
	// startLimit is how long an engine may take to start on a busy machine.
	startLimit = 10 * time.Minute
)

// engine is an SGLang server on CPU. Its processes are a group of their own, so that all of them end with it.
type engine struct {
	*harness.Child
	guard          io.Closer // whose end ends all processes
	address        string
	events, replay int // ports
}

var direct = &http.Client{Timeout: 30 * time.Second}

func home() string { return filepath.Join(harness.Root(), "build", ".cache", "sglang") }

func adapter(i int) string { return filepath.Join(home(), "model", "adapter-"+strconv.Itoa(i)) }

func newEngine() (*engine, error) {
	ports, err := harness.FreePorts(3)
	if err != nil {
		return nil, err
	}
	return &engine{address: "127.0.0.1:" + strconv.Itoa(ports[0]), events: ports[1], replay: ports[2]}, nil
}

// launch starts the engine. Its processes share the processors with all others.
func (e *engine) launch() (err error) {
	e.Child, err = harness.StartChild("sglang", home(), filepath.Join(home(), "venv", "bin", "python"),
		[]string{"SGLANG_USE_CPU_ENGINE=1", "OMP_NUM_THREADS=1", "TOKENIZERS_PARALLELISM=false",
			"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1"},
		"-m", "sglang.launch_server", "--model-path", filepath.Join(home(), "model", "base"),
		"--served-model-name", model, "--host", "127.0.0.1", "--port", e.address[len("127.0.0.1:"):],
		"--device", "cpu", "--attention-backend", "torch_native", "--skip-server-warmup",
		"--page-size", strconv.Itoa(pageTokens), "--max-total-tokens", strconv.Itoa(pages*pageTokens),
		"--max-running-requests", strconv.Itoa(slots), "--enable-metrics", "--enable-cache-report",
		"--decode-log-interval", "1", // of decoding steps: how often what the page says is renewed
		"--enable-lora", "--lora-backend", "torch_native", "--lora-paths", adapterName+"="+adapter(1),
		"--max-lora-rank", "8", "--max-loras-per-batch", "2", "--lora-target-modules", "q_proj", "v_proj",
		"--kv-events-config", fmt.Sprintf(`{"publisher":"zmq","endpoint":"tcp://*:%d",`+
			`"replay_endpoint":"tcp://127.0.0.1:%d","topic":"kv@%s@%s"}`, e.events, e.replay, e.address, model))
	if err != nil {
		return fmt.Errorf("%w; make e2e-sglang installs SGLang", err)
	}
	if e.guard, err = servers.Guard(e.PID()); err != nil {
		return errors.Join(err, syscall.Kill(-e.PID(), syscall.SIGKILL))
	}
	return nil
}

// await waits until the engine is ready.
func (e *engine) await() error {
	return servers.Await("SGLang", e.url(""), startLimit, e.Done(), e.Log)
}

// kill ends all processes of the engine at once, as a crash of its machine would.
func (e *engine) kill() {
	_ = syscall.Kill(-e.PID(), syscall.SIGKILL)
	<-e.Done()
	_ = e.guard.Close()
}

// url is an address of the engine's own, past Envoy.
func (e *engine) url(path string) string { return "http://" + e.address + path }

// post sends JSON to the engine itself, which must answer 200.
func (e *engine) post(t testing.TB, path, body string) {
	t.Helper()
	answer := harness.Send(t, direct, harness.Request(t, http.MethodPost, e.url(path), body, false))
	if answer.Status != http.StatusOK {
		t.Fatalf("POST %s: got %d %s, want 200", path, answer.Status, answer.Body)
	}
}

// server is the engine of all tests.
var server *engine

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	defer harness.Clean()
	began := time.Now()
	var err error
	if given := os.Getenv("PINTLE_SGLANG"); given != "" {
		server = &engine{address: given}
	} else if server, err = newEngine(); err == nil {
		if err = server.launch(); err == nil {
			defer server.kill()
			err = server.await()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("SGLang was ready after %v\n", time.Since(began).Round(time.Second))
	return m.Run()
}
