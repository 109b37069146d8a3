//go:build vllm && linux

package vllm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/stack"
)

// engines are the model servers of all tests.
var engines []*engine

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	defer harness.Clean()
	began := time.Now()
	defer func() {
		for _, e := range engines {
			e.stop()
		}
	}()
	if err := startEngines(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("two engines were ready after %v\n", time.Since(began).Round(time.Second))
	return m.Run()
}

// startEngines starts both at once and waits for them, or takes those of PINTLE_VLLM.
func startEngines() error {
	given, err := givenEngines("PINTLE_VLLM")
	if err != nil || given != nil {
		engines = given
		return err
	}
	ports, err := harness.FreePorts(2)
	if err != nil {
		return err
	}
	logs, err := harness.SocketPath("vllm-")
	if err != nil {
		return err
	}
	for i, port := range ports {
		e := &engine{name: engineName(i), address: "127.0.0.1:" + strconv.Itoa(port),
			log: logs + engineName(i) + ".log"}
		if err := e.launch(); err != nil {
			return err
		}
		engines = append(engines, e)
	}
	return errors.Join(engines[0].await(), engines[1].await())
}

// givenEngines are the two that run at the addresses of an environment variable, nil where it is not set.
func givenEngines(key string) (all []*engine, err error) {
	given := os.Getenv(key)
	if given == "" {
		return nil, nil
	}
	for i, address := range strings.Split(given, ",") {
		all = append(all, &engine{name: engineName(i), address: address})
	}
	if len(all) != 2 {
		return nil, fmt.Errorf("%s %q: want two addresses", key, given)
	}
	return all, nil
}

func engineName(i int) string { return string(rune('a' + i)) }

// gateway is an Envoy with Pintle, and the sidecar that tells it of both engines.
type gateway struct {
	*harness.Envoy
	sidecar
}

// sidecar is a running sidecar by the address of its admin interface.
type sidecar struct {
	*harness.Child
	admin string
}

// settings are keys of the sidecar's configuration beside envoy, admin and discovery.
type settings map[string]any

// open starts a gateway for one test. The plug-in's configuration is the default where it says nothing.
func open(t *testing.T, cell harness.Cell, plugin map[string]any, s settings) *gateway {
	t.Helper()
	envoy := openEnvoy(t, cell, plugin)
	return &gateway{envoy, startSidecar(t, s, harness.Token, envoy.URL("ingest", harness.IngestPath))}
}

// openEnvoy starts an Envoy that nobody tells of the engines. Its listeners are requests and ingest.
func openEnvoy(t *testing.T, cell harness.Cell, plugin map[string]any) *harness.Envoy {
	t.Helper()
	envoy, err := harness.Start(cell, addresses(),
		&harness.Listener{Name: "requests", Plugin: plugin},
		&harness.Listener{Name: "ingest", Plugin: plugin, Ingest: true, MaxBodyBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(envoy.Stop)
	envoy.LogOnFailure(t)
	for _, e := range engines {
		e.logOnFailure(t)
	}
	return envoy
}

func addresses() (all []string) {
	for _, e := range engines {
		all = append(all, e.address)
	}
	return all
}

// startSidecar starts a sidecar that has to find out which engines it scrapes, and waits until it has told every Envoy
// of them.
func startSidecar(t *testing.T, s settings, token string, ingest ...string) sidecar {
	t.Helper()
	return startSidecarWith(t, s, nil, token, ingest...)
}

// startSidecarWith is startSidecar with further arguments of the sidecar's.
func startSidecarWith(t *testing.T, s settings, arguments []string, token string, ingest ...string) sidecar {
	t.Helper()
	binary, err := harness.Built("pintle")
	if err != nil {
		t.Fatal(err)
	}
	ports, err := harness.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	admin := "127.0.0.1:" + strconv.Itoa(ports[0])
	var static []map[string]string
	for _, e := range engines {
		static = append(static, map[string]string{"name": e.name, "address": e.address})
	}
	config := map[string]any{
		"envoy": map[string]any{"ingest": ingest, "token": token}, "admin": map[string]any{"address": admin},
		"discovery": map[string]any{"static": static},
	}
	for key, value := range s {
		config[key] = value
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sidecar.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	child, err := harness.StartChild("sidecar", harness.Root(), binary, nil,
		append([]string{"sidecar", "-c", path}, arguments...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		child.Stop()
		if t.Failed() {
			t.Logf("last lines of the sidecar:\n%s", child.Log())
		}
	})
	running := sidecar{child, admin}
	harness.WaitFor(t, time.Minute, "the sidecar to know both engines", func() (bool, string) {
		seen, err := running.endpoints()
		sampled := err == nil && !slices.ContainsFunc(seen, func(e endpoint) bool { return e.Metrics == nil })
		return sampled && stack.GetWithin(answerLimit, "http://"+admin+"/healthz", nil) == nil, fmt.Sprint(seen, err)
	})
	return running
}

// endpoint is a server as the sidecar's admin interface shows it.
type endpoint struct {
	Name, Engine string
	Models       []string
	BaseModels   int
	Metrics      *load
	LastError    string
}

// load is what is to be read from a metrics page.
type load struct {
	Waiting, Running         uint32
	KVCacheUsage             float64
	BlockSize, NumGPUBlocks  uint32
	MaxLoRA                  uint32
	RunningLoRA, WaitingLoRA []string
}

func (s sidecar) endpoints() ([]endpoint, error) {
	var body struct{ Endpoints []endpoint }
	err := stack.GetWithin(answerLimit, "http://"+s.admin+"/endpoints", &body)
	return body.Endpoints, err
}

// answerLimit is how long an answer may take while the engines take all processors.
const answerLimit = 10 * time.Second

var direct = &http.Client{Timeout: answerLimit}
