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
// default. With the destination override-host requests fail over to the servers next in rank.
func startPintle(hold, destination string) func(context.Context, *bench, int) ([]*stack.Process, error) {
	return func(ctx context.Context, b *bench, port int) ([]*stack.Process, error) {
		more, err := stack.FreePorts(3)
		if err != nil {
			return nil, err
		}
		admin, ingest, sidecarAdmin := more, more+1, more+2
		plugin := fmt.Sprintf(
			`{"ingest": {"port": %d, "token": %q}, "hold": %q, "destination": %q, "config": %s}`,
			ingest, token, hold, destination, shipped.JSON())
		config, err := stack.EnvoyConfig{AdminPort: admin, Hold: hold, Module: "bin/pintle.wasm",
			OverrideHost: destination == "override-host", Hosts: b.ports(),
			Listeners: []stack.EnvoyListener{{Name: "requests", Port: port, Plugin: plugin},
				{Name: "ingest", Port: ingest, Ingest: true, Plugin: plugin}}}.Text()
		if err != nil {
			return nil, err
		}
		envoy, err := b.stack.Envoy(ctx, "pintle-"+hold+destination, config, admin)
		if err != nil {
			return nil, err
		}
		sidecar, err := b.stack.Sidecar(ctx, "sidecar-"+hold+destination, stack.Sidecar{
			IngestPorts: []int{ingest}, Token: token, AdminPort: sidecarAdmin,
			Endpoints: stack.Endpoints(serverPrefix, b.first, b.servers)})
		return []*stack.Process{envoy, sidecar}, err
	}
}

// startEnvoy starts Envoy alone.
func startEnvoy(ctx context.Context, b *bench, port int) ([]*stack.Process, error) {
	admin, err := stack.FreePorts(1)
	if err != nil {
		return nil, err
	}
	config, err := stack.EnvoyConfig{AdminPort: admin, Balance: "ROUND_ROBIN", Hosts: b.ports(),
		Listeners: []stack.EnvoyListener{{Name: "requests", Port: port}}}.Text()
	if err != nil {
		return nil, err
	}
	envoy, err := b.stack.Envoy(ctx, "envoy", config, admin)
	return []*stack.Process{envoy}, err
}
