package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/stack"
)

// side is one of the two setups that are compared.
type side struct {
	// name is for people, key for files.
	name, key, picker string
	ports             ports
	recorder          *recorder
	result            *load.Result
}

// token is the ingest token of envoy.yaml.
const token = "pintle-local"

// start runs the simulated servers, Envoy and the sidecar of a side.
func (s *side) start(ctx context.Context, st *stack.Stack) error {
	shipped, err := os.ReadFile(filepath.Join(st.Root, "envoy.yaml"))
	if err != nil {
		return err
	}
	config, err := envoyConfig(string(shipped), s.ports, s.picker)
	if err != nil {
		return err
	}
	// The sides' servers have the same names, and so the same seeds; what differs is the names of their processes.
	if _, err := st.Sims(ctx, s.key+"-servers", simPrefix, s.ports.firstSim, simCount, simFlags...); err != nil {
		return err
	}
	if _, err := st.Envoy(ctx, s.key+"-envoy", config, s.ports.envoy); err != nil {
		return err
	}
	_, err = st.Sidecar(ctx, s.key+"-sidecar", stack.Sidecar{
		IngestPorts: []int{s.ports.ingest}, Token: token, AdminPort: s.ports.sidecar,
		Endpoints: stack.Endpoints(simPrefix, s.ports.firstSim, simCount),
	})
	return err
}

// send runs the load against a side.
func (s *side) send(ctx context.Context, requests []load.Request, rate float64, duration time.Duration) (err error) {
	s.result, err = load.Run(ctx, load.Config{
		URL: "http://" + stack.Address(s.ports.requests), Requests: requests, Rate: rate, Duration: duration,
		Seed:  seed,
		Drain: drainLimit, Client: s.recorder.client(),
	})
	return err
}

// row is what the table shows of one server.
type row struct {
	name             string
	waiting, running int
	kv               float64
	sent             int
	p50, p99         time.Duration
}

// rows asks the servers of a side for their state. One that does not answer keeps its zeros.
func (s *side) rows() []row {
	rows := make([]row, simCount)
	var asked sync.WaitGroup
	for i := range rows {
		asked.Go(func() {
			r := row{name: fmt.Sprintf("%s-%d", simPrefix, i)}
			var state struct {
				Waiting, Running int
				KV               float64
			}
			if stack.Get("http://"+stack.Address(s.ports.firstSim+i)+"/sim/state", &state) == nil {
				r.waiting, r.running, r.kv = state.Waiting, state.Running, state.KV
			}
			r.sent, r.p50, r.p99 = s.recorder.server(r.name)
			rows[i] = r
		})
	}
	asked.Wait()
	return rows
}

// total sums a side up.
func (s *side) total(rows []row) row {
	t := row{name: "all"}
	for _, r := range rows {
		t.waiting, t.running, t.kv = t.waiting+r.waiting, t.running+r.running, t.kv+r.kv/float64(len(rows))
	}
	t.sent, t.p50, t.p99 = s.recorder.server("")
	return t
}
