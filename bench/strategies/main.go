package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

// The simulated servers: four times as fast as the simulator's default, with few slots, so that there are queues.
const (
	simPrefix = "sim"
	simCount  = 4
)

var simFlags = []string{"-speed", "4", "-max-num-seqs", "4", "-stream-interval", "8"}

// ports are where the parts listen.
type ports struct{ requests, ingest, envoy, sidecar, firstSim int }

type options struct {
	rounds   int
	duration time.Duration
	plot     string
}

func main() { stack.Main("strategies", parseFlags, run) }

func parseFlags(args []string) (options, error) {
	var o options
	var seconds int
	f := flag.NewFlagSet("strategies", flag.ContinueOnError)
	f.IntVar(&o.rounds, "rounds", 3, "rounds of all strategies")
	f.IntVar(&seconds, "seconds", 8, "length of a round of one strategy, its warm-up included")
	f.StringVar(&o.plot, "plot", "", "the plot to write, SVG; none when empty")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.duration = time.Duration(seconds) * time.Second
	if f.NArg() > 0 || o.rounds < 1 || o.duration <= warmUp {
		return o, fmt.Errorf("want no arguments, -rounds of 1 or more and -seconds above %.0f", warmUp.Seconds())
	}
	return o, nil
}

func run(ctx context.Context, o options) error {
	st, err := stack.New()
	if err != nil {
		return err
	}
	defer st.Close()
	p, err := start(ctx, st)
	if err != nil {
		return err
	}
	fmt.Printf("%d strategies, %d rounds of %v, %d servers; %d users with %d requests at a time beside one with %d\n\n",
		len(strategies), o.rounds, o.duration, simCount, lightUsers, lightWorkers, heavyWorkers)
	outcomes := make([][]outcome, len(strategies))
	random := rand.New(rand.NewPCG(1, 1))
	for round := range o.rounds {
		for _, i := range random.Perm(len(strategies)) {
			seed := uint64(round*len(strategies) + i + 1)
			result, err := measure(ctx, st, p, strategies[i].name, seed, o.duration)
			if err != nil {
				return err
			}
			outcomes[i] = append(outcomes[i], result)
		}
	}
	rows := make([]row, len(strategies))
	for i, s := range strategies {
		rows[i] = row{s.name, median(outcomes[i])}
	}
	writeTable(os.Stdout, rows)
	if err := failures(rows); err != nil || o.plot == "" {
		return err
	}
	return savePlot(o.plot, rows)
}

// failures is an error when requests failed: then the strategies did not do the same work.
func failures(rows []row) error {
	var failed []error
	for _, r := range rows {
		if r.failed > 0 {
			failed = append(failed, fmt.Errorf("%s: %d requests failed", r.name, r.failed))
		}
	}
	return errors.Join(failed...)
}

func savePlot(path string, rows []row) error {
	if err := os.WriteFile(path, []byte(plot(rows)), 0o644); err != nil {
		return err
	}
	fmt.Printf("\nplot: %s\n", path)
	return nil
}

// start runs the servers, Envoy and the sidecar.
func start(ctx context.Context, st *stack.Stack) (ports, error) {
	first, err := stack.FreePorts(4 + simCount)
	p := ports{requests: first, ingest: first + 1, envoy: first + 2, sidecar: first + 3, firstSim: first + 4}
	if err != nil {
		return p, err
	}
	config, err := envoyConfig(p)
	if err != nil {
		return p, err
	}
	if _, err := st.Sims(ctx, "servers", simPrefix, p.firstSim, simCount, simFlags...); err != nil {
		return p, err
	}
	if _, err := st.Envoy(ctx, "envoy", config, p.envoy); err != nil {
		return p, err
	}
	_, err = st.Sidecar(ctx, "sidecar", stack.Sidecar{
		IngestPorts: []int{p.ingest}, Token: token, AdminPort: p.sidecar,
		Endpoints: stack.Endpoints(simPrefix, p.firstSim, simCount),
	})
	return p, err
}
