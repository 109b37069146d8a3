//go:build vllm && linux

package vllm

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/e2e/servers"
	"github.com/pintle-dev/pintle/internal/harness"
)

const (
	// model is the name that the engines serve their model by.
	model = "tiny"
	// slots is how many requests run at once in an engine, queue how many more wait there before it refuses any.
	slots, queue = 16, 8
	// contextTokens is the longest prompt and answer of an engine.
	contextTokens = 8192
	// startLimit is how long an engine may take to start on a busy machine.
	startLimit = 10 * time.Minute
)

// engine is a vLLM server on CPU. Its processes are a group of their own, so that all of them end with it.
type engine struct {
	name, address string
	log           string
	more          []string // arguments beside those of all
	cmd           *exec.Cmd
	done          chan struct{} // closed when its first process has ended
	guard         io.Closer     // whose end ends all processes
	sockets       string        // the folder of those between its processes, which leave them behind
}

// home is where build/setup.sh installs vLLM.
func home() string { return filepath.Join(harness.Root(), "build", ".cache", "vllm") }

func python() string { return filepath.Join(home(), "venv", "bin", "python") }

// adapter is the folder of one of the LoRA adapters, 1 or 2.
func adapter(n int) string { return filepath.Join(home(), "model", "adapter-"+strconv.Itoa(n)) }

// launch starts the engine's processes without waiting until they are ready.
func (e *engine) launch() error {
	return e.run(append([]string{"-m", "vllm.entrypoints.openai.api_server",
		"--model", filepath.Join(home(), "model", "base"), "--served-model-name", model, "--host", "127.0.0.1",
		"--port", e.port(), "--dtype", "bfloat16", "--enforce-eager", "--max-model-len", strconv.Itoa(contextTokens),
		"--max-num-seqs", strconv.Itoa(slots), "--max-num-queued-reqs", strconv.Itoa(slots + queue),
		"--enable-lora", "--max-lora-rank", "8", "--max-loras", "2",
		"--structured-outputs-config", `{"backend": "xgrammar", "disable_any_whitespace": true}`,
		"--enable-prompt-tokens-details", "--enable-auto-tool-choice", "--tool-call-parser", "hermes",
		"--disable-access-log-for-endpoints", "/metrics,/metrics/,/health,/v1/models"}, e.more...))
}

func (e *engine) port() string { return e.address[strings.LastIndexByte(e.address, ':')+1:] }

// run starts Python with arguments.
func (e *engine) run(arguments []string) error {
	log, err := os.OpenFile(e.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the processes have it
	if e.sockets, err = os.MkdirTemp("", "pintle-vllm-"); err != nil {
		return err
	}
	e.cmd = exec.Command(python(), arguments...)
	e.cmd.Dir = home()
	e.cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(python())+":"+os.Getenv("PATH"),
		// Two engines and all others share the processors, and nothing is to be compiled when the first request comes
		// that needs it.
		"VLLM_CPU_KVCACHE_SPACE=1", "VLLM_CPU_OMP_THREADS_BIND=nobind", "OMP_NUM_THREADS=1",
		"TOKENIZERS_PARALLELISM=false", "TORCHDYNAMO_DISABLE=1",
		"VLLM_SERVER_DEV_MODE=1", "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True", "PYTHONHASHSEED=0",
		"VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1", "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1",
		"VLLM_RPC_BASE_PATH="+e.sockets)
	e.cmd.Stdout, e.cmd.Stderr = log, log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := e.cmd.Start(); err != nil {
		return fmt.Errorf("engine %s: %w; make e2e-vllm installs vLLM", e.name, err)
	}
	if e.guard, err = servers.Guard(e.cmd.Process.Pid); err != nil {
		return errors.Join(err, syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL))
	}
	e.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // how it ended is in its log
		close(done)
	}(e.cmd, e.done)
	return nil
}

// await waits until the engine is ready.
func (e *engine) await() error {
	return servers.Await("engine "+e.name, e.url(""), startLimit, e.done, e.tail)
}

// url is an address of the engine's own, past Envoy.
func (e *engine) url(path string) string { return "http://" + e.address + path }

// stop asks the engine to end and, after a while, makes it.
func (e *engine) stop() {
	if e.cmd == nil || e.cmd.Process == nil {
		return
	}
	_ = e.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-e.done:
	case <-time.After(10 * time.Second):
	}
	e.kill()
}

// kill ends all processes of the engine at once, as a crash of its machine would.
func (e *engine) kill() {
	_ = syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL)
	<-e.done
	_ = e.guard.Close()
	_ = os.RemoveAll(e.sockets)
}

// tail is the end of the engine's log, without the requests that it has served.
func (e *engine) tail() string {
	text, _ := os.ReadFile(e.log) // for people, who see that there is nothing
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(text)), "\n"),
		func(line string) bool { return strings.HasSuffix(line, `" 200 OK`) })
	return strings.Join(lines[max(len(lines)-30, 0):], "\n")
}

// logOnFailure shows what an engine said last when a test has failed.
func (e *engine) logOnFailure(t testing.TB) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("last lines of engine %s:\n%s", e.name, e.tail())
		}
	})
}

// post sends JSON to the engine itself, which must answer 200.
func (e *engine) post(t testing.TB, path, body string) {
	t.Helper()
	answer := harness.Send(t, harness.Client(t, false), harness.Request(t, http.MethodPost, e.url(path), body, false))
	if answer.Status != http.StatusOK {
		t.Fatalf("engine %s: POST %s: got %d %s, want 200", e.name, path, answer.Status, answer.Body)
	}
}
