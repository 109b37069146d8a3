package harness

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

// readyLimit is how long an Envoy may take to start on a busy machine.
const readyLimit = 60 * time.Second

// Envoy is a running Envoy.
type Envoy struct {
	*stack.Process
	Cell      Cell
	adminPort int
	listeners map[string]*Listener
	// config is what it was started with, baseID by what processes that restart each other find each other; epoch
	// counts them.
	config        []byte
	args          []string
	variables     []string
	baseID, epoch int
	// starts has another program start the Envoy of a configuration file; nil is none.
	starts func(file string) (*Child, error)
	// replaced is set once another process takes this one's place, or the test has ended it.
	replaced bool
	// module is the file of the module that it runs.
	module string
	// watched is the file that the listeners come from, empty when they are fixed.
	watched string
}

// Options are what few tests want otherwise.
type Options struct {
	// Workers is the number of worker threads, 2 by default.
	Workers int
	// Module is the build output to load, pintle.wasm by default.
	Module string
	// Dynamic has the listeners come from a file that Envoy watches, see Reconfigure.
	Dynamic bool
	// Edit changes Envoy's configuration before it is used.
	Edit func(config string) string
	// Args are further arguments of Envoy's.
	Args []string
	// Variables NAME=value are added to its environment.
	Variables []string
	// Hot lets the Envoy be restarted by HotRestart.
	Hot bool
}

// Start starts an Envoy with two workers. hosts are the members of the cluster, which only override-host has. The
// caller ends it with Stop.
func Start(cell Cell, hosts []string, listeners ...*Listener) (*Envoy, error) {
	return StartWith(Options{}, cell, hosts, listeners...)
}

// StartWith is Start with options.
func StartWith(o Options, cell Cell, hosts []string, listeners ...*Listener) (*Envoy, error) {
	if o.Workers == 0 {
		o.Workers = 2
	}
	if o.Module == "" {
		o.Module = "pintle.wasm"
	}
	module, err := built(o.Module)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		e, err := start(o, cell, module, hosts, listeners)
		if err == nil || attempt == 3 || !strings.Contains(err.Error(), "cannot bind") {
			return e, err
		}
	}
}

func start(o Options, cell Cell, module string, hosts []string, listeners []*Listener) (*Envoy, error) {
	ports, err := FreePorts(len(listeners) + 1)
	if err != nil {
		return nil, err
	}
	e := &Envoy{Cell: cell, adminPort: ports[0], listeners: map[string]*Listener{}, variables: o.Variables,
		module: module}
	for i, l := range listeners {
		l.Port = ports[i+1]
		e.listeners[l.Name] = l
	}
	config, err := render(cell, module, e.adminPort, listeners, hosts)
	if err == nil && o.Edit != nil {
		config = []byte(o.Edit(string(config)))
	}
	if err == nil && o.Dynamic {
		config, err = e.watch(config)
	}
	if o.Hot {
		e.baseID = ports[0] // a free port is no other Envoy's number either
	}
	if err != nil {
		return nil, err
	}
	return e, e.run(config, append([]string{"--concurrency", strconv.Itoa(o.Workers)}, o.Args...)...)
}

// StartText starts an Envoy with a configuration as it is, from the repository's root, and waits for the admin port
// that stands in it.
func StartText(config string, adminPort int) (*Envoy, error) {
	e := &Envoy{adminPort: adminPort}
	return e, e.run([]byte(config), "--concurrency", "2")
}

// StartTextBy is StartText by another program, which is the Envoy's process for the caller.
func StartTextBy(starts func(file string) (*Child, error), config string, adminPort int) (*Envoy, error) {
	e := &Envoy{adminPort: adminPort, starts: starts}
	return e, e.run([]byte(config))
}

// Validate has Envoy check a configuration file without running it.
func Validate(config string) error {
	e := &Envoy{}
	if err := e.launch([]byte(config), "--mode", "validate"); err != nil {
		return err
	}
	select {
	case <-e.Done():
	case <-time.After(readyLimit):
		e.Kill()
		return fmt.Errorf("envoy --mode validate takes longer than %v:\n%s", readyLimit, e.Log())
	}
	if code := e.ExitCode(); code != 0 {
		return fmt.Errorf("envoy --mode validate exits with %d:\n%s", code, e.Log())
	}
	return nil
}

// envoyBinary is the Envoy that tests run: what the environment's PINTLE_ENVOY says, for tests with another version, or
// else bin/envoy.
func envoyBinary() (string, error) {
	if path := os.Getenv("PINTLE_ENVOY"); path != "" {
		return path, nil
	}
	return built("envoy")
}

func (e *Envoy) launch(config []byte, args ...string) error {
	binary, err := envoyBinary()
	if err != nil {
		return err
	}
	dir, err := scratch()
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "envoy-*.yaml")
	if err != nil {
		return err
	}
	_, writeErr := file.Write(config)
	if err := errors.Join(writeErr, file.Close()); err != nil {
		return err
	}
	if os.Getenv("E2E_KEEP") != "" {
		fmt.Fprintln(os.Stderr, "envoy configuration:", file.Name())
	}
	if e.starts != nil {
		e.Process, err = e.starts(file.Name())
		return err
	}
	base := []string{"--use-dynamic-base-id"}
	if e.baseID != 0 {
		base = []string{"--base-id", strconv.Itoa(e.baseID), "--restart-epoch", strconv.Itoa(e.epoch), "--drain-time-s",
			"2", "--parent-shutdown-time-s", "4"}
	}
	args = append(append(base, "-c", file.Name(), "--log-level", "warning", "--component-log-level", "wasm:info"),
		args...)
	e.Process, err = StartChild("envoy", Root(), binary, e.variables, args...)
	return err
}

// HotRestart starts the process that takes the place of e, with the same configuration, and waits until that is ready.
// e ends by itself some seconds later. The caller ends the new one with Stop.
func (e *Envoy) HotRestart() (*Envoy, error) {
	e.replaced = true
	next := *e
	next.replaced = false
	next.Process = nil
	next.epoch++
	return &next, next.run(e.config, e.args...)
}

func (e *Envoy) run(config []byte, args ...string) error {
	e.config, e.args = config, args
	if err := e.launch(config, args...); err != nil {
		return err
	}
	for deadline := time.Now().Add(readyLimit); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if e.Ended() {
			return fmt.Errorf("envoy ended at its start:\n%s", e.Log())
		}
		if text, err := e.Admin("/ready"); err == nil && strings.Contains(text, "LIVE") {
			return nil
		}
	}
	e.Kill()
	return fmt.Errorf("envoy is not ready after %v:\n%s", readyLimit, e.Log())
}

// Stop ends the Envoy.
func (e *Envoy) Stop() {
	if e != nil {
		e.Process.Stop()
	}
}

// Address is where a listener listens.
func (e *Envoy) Address(listener string) string {
	return "127.0.0.1:" + strconv.Itoa(e.listeners[listener].Port)
}

// Socket is the unix socket of a listener.
func (e *Envoy) Socket(listener string) string { return e.listeners[listener].Socket }

// URL is the address of a listener and a path.
func (e *Envoy) URL(listener, path string) string { return "http://" + e.Address(listener) + path }

// Admin asks the admin interface.
func (e *Envoy) Admin(path string) (string, error) { return e.admin(http.MethodGet, path) }

// Order has the admin interface change something.
func (e *Envoy) Order(path string) error {
	_, err := e.admin(http.MethodPost, path)
	return err
}

func (e *Envoy) admin(method, path string) (string, error) {
	client := http.Client{Timeout: requestLimit}
	request, err := http.NewRequest(method, "http://127.0.0.1:"+strconv.Itoa(e.adminPort)+path, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("admin %s answers %s", path, response.Status)
	}
	return string(text), err
}

// Stats returns Envoy's statistics whose names match a regular expression and which are used.
func (e *Envoy) Stats(t testing.TB, filter string) map[string]int64 {
	t.Helper()
	text, err := e.Admin("/stats?usedonly&filter=" + filter)
	if err != nil {
		t.Fatalf("statistics of Envoy: %v", err)
	}
	stats := map[string]int64{}
	for line := range strings.SplitSeq(text, "\n") {
		name, value, ok := strings.Cut(line, ": ")
		if n, err := strconv.ParseInt(value, 10, 64); ok && err == nil {
			stats[name] = n
		}
	}
	return stats
}

// LogOnFailure shows the log when t has failed. An Envoy that has ended, a module that crashed and a decision that
// Envoy did not take fail t themselves, as a retry may have hidden them.
func (e *Envoy) LogOnFailure(t testing.TB) {
	t.Cleanup(func() {
		if e.Ended() && !e.replaced {
			t.Errorf("envoy (%v) has ended", e.Cell)
		}
		for line := range strings.SplitSeq(e.TakeLog(), "\n") {
			if strings.Contains(line, "[error]") || strings.Contains(line, "[critical]") {
				t.Errorf("envoy (%v): %s", e.Cell, line)
			}
		}
		if t.Failed() {
			t.Logf("last lines of Envoy (%v):\n%s", e.Cell, e.Log())
			if newer := newerSource(); newer != "" {
				t.Logf("%s is newer than bin/pintle.wasm; run make build", newer)
			}
		}
	})
}

// Crash ends the Envoy at once.
func (e *Envoy) Crash() {
	e.replaced = true
	e.Kill()
}

// OverlookLog has LogOnFailure overlook errors that were logged until now, as a test provoked them.
func (e *Envoy) OverlookLog() { e.TakeLog() }

// SocketPath returns a path for a unix socket, short enough for the kernel.
func SocketPath(name string) (string, error) {
	dir, err := scratch()
	return filepath.Join(dir, name), err
}

// Port is where a listener listens.
func (e *Envoy) Port(listener string) int { return e.listeners[listener].Port }
