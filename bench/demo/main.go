package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

// The simulated servers and their load. The servers are three times as fast as the simulator's default, so that a short
// run sees many requests; tokens leave in chunks of four, so that copying them does not keep the processors busy. The
// default rate keeps the servers busy to four fifths: below, any choice is good; above, none is.
const (
	simPrefix  = "sim"
	simCount   = 4
	seed       = 1
	drainLimit = 15 * time.Second
)

var simFlags = []string{"-speed", "3", "-max-num-seqs", "8", "-stream-interval", "4"}

type options struct {
	ports    ports
	rate     float64
	duration time.Duration
	keep     bool
}

func main() { stack.Main("demo", parseFlags, run) }

func parseFlags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	f.IntVar(&o.ports.requests, "requests-port", 10000, "port of Envoy for requests")
	f.IntVar(&o.ports.ingest, "ingest-port", 15099, "port of Envoy for the sidecar's snapshots")
	f.IntVar(&o.ports.envoy, "envoy-port", 9901, "port of Envoy's admin interface")
	f.IntVar(&o.ports.sidecar, "sidecar-port", 10001, "port of the sidecar's admin page")
	f.IntVar(&o.ports.firstSim, "first-sim-port", 9101, "first port of the simulated servers")
	f.Float64Var(&o.rate, "rate", 38, "requests per second to each side")
	f.DurationVar(&o.duration, "duration", 20*time.Second, "how long to send")
	f.BoolVar(&o.keep, "keep", false, "stay up after the load until Ctrl-C")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 || o.rate <= 0 || o.duration < time.Second {
		return o, errors.New("want no arguments, a -rate above 0 and a -duration of 1s or more")
	}
	return o, nil
}

func run(ctx context.Context, o options) error {
	st, err := stack.New()
	if err != nil {
		return err
	}
	defer st.Close()
	pintle := &side{name: "Pintle", key: "pintle", picker: "max-score-picker", ports: o.ports, recorder: newRecorder()}
	random := &side{name: "random choice", key: "random", picker: "random-picker", recorder: newRecorder()}
	if random.ports, err = choosePorts(o.ports); err != nil {
		return err
	}
	out := newScreen(os.Stdout)
	fmt.Fprintf(out.out, "%s\nstarting 2 x %d simulated model servers, 2 sidecars, 2 Envoys ...\n",
		out.paint(bold, "Pintle beside random choice: the same load to both, each with servers of its own"), simCount)
	for _, s := range []*side{pintle, random} {
		if err := s.start(ctx, st); err != nil {
			return err
		}
	}
	fmt.Fprintf(out.out, "sending %.0f requests/s to each for %.0f s: chats, documents, sessions\n\n", o.rate,
		o.duration.Seconds())
	if err := compare(ctx, st, out, pintle, random, o); err != nil {
		return err
	}
	out.summarize(pintle, random)
	if err := errors.Join(errorsOf(pintle), errorsOf(random)); err != nil {
		return err
	}
	if !o.keep {
		next(out.out, o.ports)
		return nil
	}
	invite(out.out, o.ports)
	return wait(ctx, st)
}

// choosePorts checks that Pintle's ports are free and finds others for the control.
func choosePorts(p ports) (ports, error) {
	err := stack.CheckPorts(
		stack.Need{Port: p.requests, Variable: "PORT_REQUESTS"}, stack.Need{Port: p.ingest, Variable: "PORT_INGEST"},
		stack.Need{Port: p.envoy, Variable: "PORT_ENVOY"}, stack.Need{Port: p.sidecar, Variable: "PORT_SIDECAR"},
		stack.Need{Port: p.firstSim, Variable: "PORT_SIMS", Count: simCount})
	if err != nil {
		return ports{}, err
	}
	first, err := stack.FreePorts(4 + simCount)
	return ports{requests: first, ingest: first + 1, envoy: first + 2, sidecar: first + 3, firstSim: first + 4}, err
}

// compare sends the load to both sides at once and shows what happens.
func compare(ctx context.Context, st *stack.Stack, out *screen, left, right *side, o options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	requests := workload(int(2*o.rate*o.duration.Seconds()) + 100)
	done := make(chan error, 2)
	for _, s := range []*side{left, right} {
		go func() { done <- s.send(ctx, requests, o.rate, o.duration) }()
	}
	period := 5 * time.Second
	if out.terminal {
		period = 500 * time.Millisecond
		out.draw(out.table(left, right, 0, o.duration))
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	start := time.Now()
	for running := 2; running > 0; {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
			running--
		case <-ticker.C:
			if err := st.Check(); err != nil {
				return err
			}
			out.draw(out.table(left, right, time.Since(start), o.duration))
		}
	}
	if out.terminal {
		out.draw(out.table(left, right, o.duration, o.duration))
	}
	return errors.Join(ctx.Err(), st.Check())
}

// wait returns nil with Ctrl-C and an error when a process ends by itself.
func wait(ctx context.Context, st *stack.Stack) error {
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := st.Check(); err != nil {
				return err
			}
		}
	}
}

func newScreen(f *os.File) *screen {
	info, err := f.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	return &screen{out: f, terminal: terminal, colors: terminal && os.Getenv("NO_COLOR") == ""}
}
