package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/internal/stack"
)

const (
	serverPrefix = "sim"
	token        = "bench-peers"
)

// predicted is the configuration that goes by predicted latencies, with prompts matched to their ends.
const predicted = `{"plugins": [
	{"type": "prefix-cache-scorer", "parameters": {"maxPrefixBlocksToMatch": 1024}},
	{"type": "predicted-latency-scorer"}], "schedulingProfiles": [{"name": "default", "plugins": [
	{"pluginRef": "prefix-cache-scorer", "weight": 0}, {"pluginRef": "predicted-latency-scorer", "weight": 2}]}]}`

// pintle is how Pintle is set up.
type pintle struct {
	// hold is pause or buffer, config the document, empty for the shipped one.
	hold, config string
	// failsOver has requests go to the servers next in rank.
	failsOver bool
}

// startPintle starts Envoy with Pintle, and its sidecar, which follows the journal as it does by default.
func startPintle(set pintle) func(context.Context, *bench, int) ([]*stack.Process, error) {
	return func(ctx context.Context, b *bench, port int) ([]*stack.Process, error) {
		more, err := stack.FreePorts(3)
		if err != nil {
			return nil, err
		}
		admin, ingest, sidecarAdmin := more, more+1, more+2
		destination := "original-dst"
		if set.failsOver {
			destination = "override-host"
		}
		plugin := fmt.Sprintf(
			`{"ingest": {"port": %d, "token": %q}, "hold": %q, "destination": %q, "config": %s}`,
			ingest, token, set.hold, destination, cmp.Or(set.config, shipped.JSON()))
		config, err := stack.EnvoyConfig{AdminPort: admin, Hold: set.hold, Module: "bin/pintle.wasm",
			OverrideHost: set.failsOver, Hosts: stack.Loopback(b.ports()...),
			Listeners: []stack.EnvoyListener{{Name: "requests", Port: port, Plugin: plugin},
				{Name: "ingest", Port: ingest, Ingest: true, Plugin: plugin}}}.Text()
		if err != nil {
			return nil, err
		}
		name := fmt.Sprint("pintle-", port)
		envoy, err := b.stack.Envoy(ctx, name, config, admin)
		if err != nil {
			return nil, err
		}
		sidecar, err := b.stack.Sidecar(ctx, name+"-sidecar", stack.Sidecar{
			IngestPorts: []int{ingest}, Token: token, AdminPort: sidecarAdmin,
			Endpoints: stack.Endpoints(serverPrefix, b.first, b.servers)})
		return []*stack.Process{envoy, sidecar}, err
	}
}

// startEnvoy starts Envoy alone, startNoop with a module that does nothing.
func startEnvoy(ctx context.Context, b *bench, port int) ([]*stack.Process, error) {
	return startPlain(ctx, b, port, "")
}

func startNoop(ctx context.Context, b *bench, port int) ([]*stack.Process, error) {
	const module = "bin/noop.wasm"
	if _, err := os.Stat(filepath.Join(b.stack.Root, module)); err != nil {
		return nil, fmt.Errorf("%w; make %s makes it", errMissing, module)
	}
	return startPlain(ctx, b, port, module)
}

func startPlain(ctx context.Context, b *bench, port int, module string) ([]*stack.Process, error) {
	admin, err := stack.FreePorts(1)
	if err != nil {
		return nil, err
	}
	config, err := stack.EnvoyConfig{AdminPort: admin, Balance: "ROUND_ROBIN",
		Hosts: stack.Loopback(b.ports()...), InTheWay: module,
		Listeners: []stack.EnvoyListener{{Name: "requests", Port: port}}}.Text()
	if err != nil {
		return nil, err
	}
	envoy, err := b.stack.Envoy(ctx, fmt.Sprint("envoy-", port), config, admin)
	return []*stack.Process{envoy}, err
}
