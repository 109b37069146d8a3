package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
	"github.com/pintle-dev/pintle/internal/wrk"
)

type options struct {
	peers       []string
	sizes       []int // of bodies, KB
	servers     int
	rounds      int
	duration    time.Duration
	connections int
	events      int
	// rate makes the run open-loop.
	rate float64
	// ladder are rates of the workload that shows how well is chosen.
	ladder []float64
	speed  float64
	// workload is what is asked at them.
	workload *workload
	// plot is the file that the plot goes to; empty is none.
	plot string
}

func main() { stack.Main("peers", parseFlags, run) }

func parseFlags(args []string) (options, error) {
	o := options{sizes: []int{2, 16, 100, 400}, workload: &workloads[0]}
	var seconds float64
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.Func("peers", "which to measure, a comma list (default all: "+strings.Join(names(peers), ",")+")", o.pickPeers)
	f.Func("sizes", "sizes of bodies in KB, a comma list (default 2,16,100,400)", func(text string) (err error) {
		o.sizes, err = numbers(text, strconv.Atoi)
		return err
	})
	f.IntVar(&o.servers, "servers", 4, "how many model servers there are")
	f.IntVar(&o.rounds, "rounds", 5, "rounds for each body and peer")
	f.Float64Var(&seconds, "seconds", 3, "length of a round")
	f.IntVar(&o.connections, "connections", 8, "connections in a closed loop")
	f.IntVar(&o.events, "stream", 0, "have answers streamed in so many events")
	f.Float64Var(&o.rate, "rate", 0, "send so many requests a second, in place of one after the other")
	f.Func("workload", "with -ladder: "+workloadNames()+" (default shared)", o.pickWorkload)
	const ladder = "measure how well servers are chosen instead, at these rates, a comma list such as 10,20,30"
	f.Func("ladder", ladder, func(text string) (err error) {
		o.ladder, err = numbers(text, func(one string) (float64, error) { return strconv.ParseFloat(one, 64) })
		return err
	})
	f.Float64Var(&o.speed, "speed", 10, "with -ladder: how many times faster than real ones the servers are")
	f.StringVar(&o.plot, "plot", "", "write a plot to this SVG file")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if len(o.peers) == 0 {
		o.peers = names(peers)
	}
	o.duration = time.Duration(seconds * float64(time.Second))
	if f.NArg() > 0 || o.servers < 1 || o.rounds < 1 || o.duration < time.Second || o.connections < 1 ||
		o.events < 0 || o.rate < 0 || o.speed <= 0 {
		return o, errors.New("want no arguments, -seconds, -servers, -rounds and -connections of 1 or more")
	}
	return o, nil
}

func (o *options) pickPeers(text string) error {
	o.peers = strings.Split(text, ",")
	for _, name := range o.peers {
		if !slices.Contains(names(peers), name) {
			return fmt.Errorf("%q: want some of %s", name, strings.Join(names(peers), ", "))
		}
	}
	return nil
}

func (o *options) pickWorkload(text string) error {
	i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == text })
	if i < 0 {
		return fmt.Errorf("%q: want one of %s", text, workloadNames())
	}
	o.workload = &workloads[i]
	return nil
}

func workloadNames() string {
	var list []string
	for _, w := range workloads {
		list = append(list, w.name)
	}
	return strings.Join(list, ", ")
}

func numbers[N int | float64](text string, read func(string) (N, error)) (all []N, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := read(strings.TrimSpace(part))
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("%q: want a number above 0", part)
		}
		all = append(all, n)
	}
	return all, nil
}

func names(all []peer) (list []string) {
	for _, p := range all {
		list = append(list, p.name)
	}
	return list
}

func run(ctx context.Context, o options) error {
	if err := wrk.Check(); err != nil {
		return err
	}
	st, err := stack.New()
	if err != nil {
		return err
	}
	defer st.Close()
	if len(o.ladder) > 0 {
		return runLadder(ctx, o, st, os.Stdout)
	}
	return runOverhead(ctx, o, st, os.Stdout)
}

// writePlot writes a plot where it is wanted.
func (o options) writePlot(draw func() string) error {
	if o.plot == "" {
		return nil
	}
	return os.WriteFile(o.plot, []byte(draw()), 0o644)
}
