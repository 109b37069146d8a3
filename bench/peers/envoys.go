package main

import (
	"context"
	"fmt"

	"github.com/pintle-dev/pintle/internal/shipped"
	"github.com/pintle-dev/pintle/internal/stack"
)

const (
	serverPrefix = "sim"
	token        = "bench-peers"
)

// startPintle starts Envoy with the shipped configuration, and its sidecar, which follows the journal as it does by
// default.
func startPintle(hold string) func(context.Context, *bench, int) ([]*stack.Process, error) {
	return func(ctx context.Context, b *bench, port int) ([]*stack.Process, error) {
		more, err := stack.FreePorts(3)
		if err != nil {
			return nil, err
		}
		admin, ingest, sidecarAdmin := more, more+1, more+2
		plugin := fmt.Sprintf(
			`{"ingest": {"port": %d, "token": %q}, "hold": %q, "destination": "original-dst", "config": %s}`,
			ingest, token, hold, shipped.JSON())
		config, err := stack.EnvoyConfig{AdminPort: admin, Hold: hold, Module: "bin/pintle.wasm",
			Listeners: []stack.EnvoyListener{{Name: "requests", Port: port, Plugin: plugin},
				{Name: "ingest", Port: ingest, Ingest: true, Plugin: plugin}}}.Text()
		if err != nil {
			return nil, err
		}
		envoy, err := b.stack.Envoy(ctx, "pintle-"+hold, config, admin)
		if err != nil {
			return nil, err
		}
		sidecar, err := b.stack.Sidecar(ctx, "sidecar-"+hold, stack.Sidecar{IngestPorts: []int{ingest}, Token: token,
			AdminPort: sidecarAdmin, Endpoints: stack.Endpoints(serverPrefix, b.first, b.servers)})
		return []*stack.Process{envoy, sidecar}, err
	}
}

// startEnvoy starts Envoy alone.
func startEnvoy(ctx context.Context, b *bench, port int) ([]*stack.Process, error) {
	admin, err := stack.FreePorts(1)
	if err != nil {
		return nil, err
	}
	c := stack.EnvoyConfig{AdminPort: admin, Balance: "ROUND_ROBIN",
		Listeners: []stack.EnvoyListener{{Name: "requests", Port: port}}}
	for i := range b.servers {
		c.Hosts = append(c.Hosts, b.first+i)
	}
	config, err := c.Text()
	if err != nil {
		return nil, err
	}
	envoy, err := b.stack.Envoy(ctx, "envoy", config, admin)
	return []*stack.Process{envoy}, err
}
