package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/internal/wrk"
)

// measurement is one round against one Envoy.
type measurement struct {
	wrk.Result
	// cpu is what Envoy used meanwhile.
	cpu time.Duration
}

// cpuPerThousand is Envoy's processor seconds for 1,000 requests.
func (m *measurement) cpuPerThousand() float64 { return m.cpu.Seconds() / float64(m.Requests) * 1000 }

// measure runs wrk against an Envoy.
func measure(ctx context.Context, v *variant, scriptPath string, connections int,
	duration time.Duration) (*measurement, error) {
	before, err := v.envoy.CPU()
	if err != nil {
		return nil, err
	}
	r, err := wrk.Run(ctx, scriptPath, stack.Address(v.requestsPort), connections, duration)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.name, err)
	}
	after, err := v.envoy.CPU()
	return &measurement{Result: *r, cpu: after - before}, err
}
