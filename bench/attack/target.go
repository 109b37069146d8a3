package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

const (
	simPrefix = "sim"
	simCount  = 4
	// startLimit is how long an Envoy may take to be ready on a busy machine.
	startLimit = 60 * time.Second
)

// Where the parts stand in envoy.yaml, and of the demo.
const (
	demoRequests = 10000
	demoIngest   = 15099
	demoAdmin    = 9901
	demoSidecar  = 10001
	demoSims     = 9101
)

// target is what is attacked.
type target struct {
	requestsPort, adminPort, sidecarPort, firstSim int

	// What follows is unknown of a demo that another process started.
	stack          *stack.Stack
	envoy, sidecar *stack.Process
	config         string // of Envoy, the file
	baseID, epoch  int
}

// demo is what make demo KEEP=1 started.
func demo() (*target, error) {
	t := &target{requestsPort: demoRequests, adminPort: demoAdmin, sidecarPort: demoSidecar, firstSim: demoSims}
	if err := stack.Get("http://"+stack.Address(t.adminPort)+"/ready", nil); err != nil {
		return nil, fmt.Errorf("no demo is up (make demo KEEP=1 starts one): %w", err)
	}
	return t, nil
}

// start runs servers, an Envoy and a sidecar. What hostile makes of the addresses of the servers is what the sidecar
// hears of.
func start(ctx context.Context, document string, hostile func([]stack.Endpoint) error) (*target, error) {
	s, err := stack.New()
	if err != nil {
		return nil, err
	}
	t := &target{stack: s, baseID: 1 + rand.IntN(30000)}
	if err := t.run(ctx, document, hostile); err != nil {
		s.Close()
		return nil, err
	}
	return t, nil
}

func (t *target) run(ctx context.Context, document string, hostile func([]stack.Endpoint) error) error {
	first, err := stack.FreePorts(4 + simCount)
	if err != nil {
		return err
	}
	ingest := first + 3
	t.requestsPort, t.adminPort, t.sidecarPort, t.firstSim = first, first+1, first+2, first+4
	ports := map[int]int{demoRequests: t.requestsPort, demoAdmin: t.adminPort, demoIngest: ingest}
	for i := range simCount {
		ports[demoSims+i] = t.firstSim + i
	}
	config, err := shippedConfig(filepath.Join(t.stack.Root, "envoy.yaml"), ports, document)
	if err != nil {
		return err
	}
	t.config = filepath.Join(t.stack.Dir, "envoy.yaml")
	if err := os.WriteFile(t.config, []byte(config), 0o600); err != nil {
		return err
	}
	if _, err := t.stack.Sims(ctx, "servers", simPrefix, t.firstSim, simCount); err != nil {
		return err
	}
	if err := t.startEnvoy(ctx); err != nil {
		return err
	}
	endpoints := stack.Endpoints(simPrefix, t.firstSim, simCount)
	if hostile != nil {
		if err := hostile(endpoints); err != nil {
			return err
		}
	}
	t.sidecar, err = t.stack.Sidecar(ctx, "sidecar", stack.Sidecar{
		IngestPorts: []int{ingest}, Token: shippedToken, AdminPort: t.sidecarPort, Endpoints: endpoints,
	})
	return err
}

// startEnvoy starts an Envoy, which takes over from the one before it.
func (t *target) startEnvoy(ctx context.Context) error {
	p, err := t.stack.Start("envoy-"+strconv.Itoa(t.epoch), filepath.Join(t.stack.Root, "bin", "envoy"), "-c", t.config,
		"--concurrency", "2",
		"--base-id", strconv.Itoa(t.baseID), "--restart-epoch", strconv.Itoa(t.epoch), "--log-level", "error",
		"--drain-time-s", "2", "--parent-shutdown-time-s", "4")
	if err != nil {
		return err
	}
	t.envoy, t.epoch = p, t.epoch+1
	deadline := time.After(startLimit)
	for {
		var info struct {
			State   string `json:"state"`
			Options struct {
				Epoch int `json:"restart_epoch"`
			} `json:"command_line_options"`
		}
		err := stack.Get("http://"+stack.Address(t.adminPort)+"/server_info", &info)
		if err == nil && info.State == "LIVE" && info.Options.Epoch == t.epoch-1 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.Done():
			return errors.New("envoy ended at its start:\n" + p.Log())
		case <-deadline:
			return fmt.Errorf("envoy is not ready after %v:\n%s", startLimit, p.Log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (t *target) close() {
	if t.stack != nil {
		t.stack.Close()
	}
}

// url is a path at the listener for requests.
func (t *target) url(path string) string { return "http://" + stack.Address(t.requestsPort) + path }

// server is a path at a simulated server itself.
func (t *target) server(i int, path string) string {
	return "http://" + stack.Address(t.firstSim+i) + path
}

// memory is Envoy's resident memory or, of a demo, what its allocator holds.
func (t *target) memory() (int64, error) {
	if t.envoy != nil {
		return t.envoy.Memory()
	}
	var memory struct {
		Bytes int64 `json:"total_physical_bytes,string"`
	}
	err := stack.Get("http://"+stack.Address(t.adminPort)+"/memory", &memory)
	return memory.Bytes, err
}
