package wazerohost

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// guest compiles testdata/guest, once.
var guest = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "wazerohost")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return buildGuest(dir)
})

// buildGuest compiles with the pinned TinyGo.
func buildGuest(dir string) ([]byte, error) {
	tinygo, err := filepath.Abs("../../../bin/tinygo")
	if err != nil {
		return nil, err
	}
	// go test remembers a result by the files that the test itself has opened, not by those that the compiler reads.
	for _, source := range []string{"main.go", "operations.go"} {
		if _, err := os.ReadFile(filepath.Join("testdata", "guest", source)); err != nil {
			return nil, err
		}
	}
	out := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command(tinygo, "build", "-o", out, "-target=pintle", "-buildmode=c-shared", "-tags", "custommalloc",
		"-opt=2", "-no-debug", "./testdata/guest")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s (run make setup if it is missing): %w\n%s", tinygo, err, text)
	}
	return os.ReadFile(out)
}

// newHost loads the guest. Violations fail the test unless opts.Fail is set.
func newHost(t *testing.T, opts Options) *Host {
	t.Helper()
	if opts.Fail == nil {
		opts.Fail = func(message string) { t.Errorf("violation: %s", message) }
	}
	wasm, err := guest()
	if err != nil {
		t.Fatalf("build the guest of the tests: %v", err)
	}
	h, err := New(context.Background(), wasm, opts)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func newWorker(t *testing.T, h *Host) *Worker {
	t.Helper()
	w, err := h.Worker()
	if err != nil {
		t.Fatalf("Worker: %v", err)
	}
	return w
}

func startPlugin(t *testing.T, w *Worker, script string) *Plugin {
	t.Helper()
	p, err := w.Start(PluginConfig{Name: "test", RootID: "root", Configuration: script})
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	return p
}

// start is all of the above.
func start(t *testing.T, opts Options, script string) (*Host, *Worker, *Plugin) {
	t.Helper()
	h := newHost(t, opts)
	w := newWorker(t, h)
	return h, w, startPlugin(t, w, script)
}

// outcomes returns what the guest logged for an operation, in order.
func outcomes(h *Host, operation string) []string {
	var found []string
	for _, line := range h.Logs(Trace) {
		if outcome, ok := strings.CutPrefix(line.Text, operation+"= "); ok {
			found = append(found, outcome)
		}
	}
	return found
}

func wantOutcome(t *testing.T, h *Host, operation string, want ...string) {
	t.Helper()
	got := outcomes(h, operation)
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("outcome of %q: got %q, want %q", operation, got, want)
	}
}

func wantEqual[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// What the SDK calls the status codes.
const (
	ok          = ""
	notFound    = "error status returned by host: not found"
	badArgument = "error status returned by host: bad argument"
	casMismatch = "error status returned by host: cas mismatch"
)

// violations collects what Options.Fail is told.
type violations struct{ messages []string }

func (v *violations) add(message string) { v.messages = append(v.messages, message) }

func (v *violations) want(t *testing.T, part string) {
	t.Helper()
	if len(v.messages) != 1 || !strings.Contains(v.messages[0], part) {
		t.Errorf("violations: got %q, want one with %q", v.messages, part)
	}
}
