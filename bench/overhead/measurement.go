package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/series"
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

func (m *measurement) perSecond() float64 { return m.PerSecond() }
func (m *measurement) p50() float64       { return m.P50Millis() }
func (m *measurement) p99() float64       { return m.P99Millis() }

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

// figures picks a figure from each round.
func figures(rounds []*measurement, figure func(*measurement) float64) series.Series {
	s := make(series.Series, len(rounds))
	for i, m := range rounds {
		s[i] = figure(m)
	}
	return s
}
