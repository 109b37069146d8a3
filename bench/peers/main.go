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
	// began is when this run of the program did.
	began   string
	peers   []string
	sizes   []int // of bodies, KB
	servers int
	page    int // KB
	// alone has peers be started one after the other, not beside each other.
	alone       bool
	rounds      int
	duration    time.Duration
	connections int
	events      int
	// fresh has each prompt be one that nobody has seen.
	fresh bool
	// rates make what costs are measured by an open loop, and are those of a workload.
	rates []float64
	// workload is what is asked, and fleet of which servers, when choices are compared, runs times.
	workload *workload
	fleet    *fleet
	runs     int
	speed    float64
	traces   string
	// simulate has all be decided in virtual time, with so many seeds; seed is the one at hand, 0 for that of peers.
	simulate int
	seed     uint64
	// raw is where records go, report from where they are read instead of being measured, plots where pictures go.
	raw, report, plots string
}

func main() { stack.Main("peers", parseFlags, run) }

func parseFlags(args []string) (options, error) {
	o := options{began: time.Now().UTC().Format(time.RFC3339), sizes: []int{2, 16, 100, 400}, fleet: &fleets[0]}
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.Func("peers", "which to measure, a comma list (default all: "+strings.Join(names(peers), ",")+")", o.pickPeers)
	f.Func("rates", "send so many requests a second, a comma list", func(text string) (err error) {
		o.rates, err = numbers(text, func(one string) (float64, error) { return strconv.ParseFloat(one, 64) })
		return err
	})
	f.StringVar(&o.raw, "raw", "", "append what is measured to this file")
	f.StringVar(&o.report, "report", "", "measure nothing, report what is in a file that -raw made")
	f.StringVar(&o.plots, "plots", "", "write pictures of it into this folder")
	seconds := o.costFlags(f)
	o.choiceFlags(f)
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if len(o.peers) == 0 {
		o.peers = o.defaultPeers()
	}
	o.duration = time.Duration(*seconds * float64(time.Second))
	if f.NArg() > 0 || o.servers < 1 || o.rounds < 1 || o.duration < time.Second || o.connections < 1 ||
		o.events < 0 || o.speed <= 0 || o.runs < 1 || o.page < 0 {
		return o, errors.New("want no arguments, -seconds, -servers, -rounds, -runs and -connections of 1 or more")
	}
	if o.workload == nil && len(o.rates) == 0 && !wrk.Takes(o.duration) {
		return o, fmt.Errorf("-seconds %v: want whole seconds without -rates, as wrk measures no others", *seconds)
	}
	if o.fresh && (len(o.rates) > 0 || o.workload != nil) {
		return o, errors.New("-new: want neither -rates, whose requests are all the same, nor -workload")
	}
	return o, errors.Join(o.checkWorkload(), o.misplaced(f))
}

// misplaced is an error where a flag was given that what is measured does not go by.
func (o *options) misplaced(f *flag.FlagSet) (err error) {
	costs := []string{"sizes", "servers", "page", "alone", "rounds", "connections", "stream", "seconds"}
	choices := []string{"fleet", "runs", "speed", "traces"}
	simulated := []string{"simulate", "traces", "workload"}
	f.Visit(func(one *flag.Flag) {
		where := ""
		switch {
		case o.simulate > 0 && !slices.Contains(simulated, one.Name):
			where = "with -simulate, which takes -traces and -workload alone"
		case o.simulate == 0 && o.workload != nil && slices.Contains(costs, one.Name):
			where = "with -workload"
		case o.simulate == 0 && o.workload == nil && slices.Contains(choices, one.Name):
			where = "without -workload"
		default:
			return
		}
		err = errors.Join(err, fmt.Errorf("-%s: has no effect %s", one.Name, where))
	})
	return err
}

// costFlags are about what peers cost.
func (o *options) costFlags(f *flag.FlagSet) (seconds *float64) {
	f.Func("sizes", "sizes of bodies in KB, a comma list (default 2,16,100,400)", func(text string) (err error) {
		o.sizes, err = numbers(text, strconv.Atoi)
		return err
	})
	f.IntVar(&o.servers, "servers", 4, "how many model servers there are")
	f.IntVar(&o.page, "page", 0, "make the servers' metrics so many KB longer")
	f.BoolVar(&o.alone, "alone", false, "start peers one after the other, not beside each other")
	f.IntVar(&o.rounds, "rounds", 5, "rounds for each body and peer")
	f.IntVar(&o.connections, "connections", 8, "connections in a closed loop")
	f.IntVar(&o.events, "stream", 0, "have answers streamed in so many events")
	f.BoolVar(&o.fresh, "new", false, "have each prompt be a new one, which nobody has in a cache")
	return f.Float64("seconds", 3, "length of a round")
}

// choiceFlags are about how well peers choose.
func (o *options) choiceFlags(f *flag.FlagSet) {
	f.Func("workload", "measure how well servers are chosen instead, by one of "+workloadNames(), o.pickWorkload)
	f.Func("fleet", "with -workload: "+fleetNames()+" (default equal)", o.pickFleet)
	f.IntVar(&o.runs, "runs", 1, "with -workload: how often, each time with other requests of the kind")
	f.Float64Var(&o.speed, "speed", defaultSpeed,
		"with -workload: how many times faster than real ones the servers are")
	f.IntVar(&o.simulate, "simulate", 0,
		"have Pintle's configurations choose in virtual time, with so many seeds, no peers")
	f.StringVar(&o.traces, "traces", "",
		"with -workload: a folder with Mooncake's and Azure's traces (default: conversations are made up)")
}

func (o *options) defaultPeers() (list []string) {
	for _, p := range peers {
		if p.chooses || o.workload == nil {
			list = append(list, p.name)
		}
	}
	return list
}

// checkWorkload fills in the rates of a workload.
func (o *options) checkWorkload() error {
	if o.workload == nil {
		return nil
	}
	if len(o.rates) == 0 {
		o.rates = o.workload.rates
	}
	if o.workload.asks != nil && len(o.rates) > 1 {
		return fmt.Errorf("-rates %v: want one, as %s has times of its own", o.rates, o.workload.name)
	}
	return nil
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

func (o *options) pickFleet(text string) error {
	i := slices.IndexFunc(fleets, func(f fleet) bool { return f.name == text })
	if i < 0 {
		return fmt.Errorf("%q: want one of %s", text, fleetNames())
	}
	o.fleet = &fleets[i]
	return nil
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
	if o.report != "" {
		records, err := readRaw(o.report)
		if err != nil {
			return err
		}
		return report(os.Stdout, records, o.plots)
	}
	if o.simulate > 0 {
		return simulate(ctx, o, os.Stdout)
	}
	if err := wrk.Check(); err != nil {
		return err
	}
	st, err := stack.New()
	if err != nil {
		return err
	}
	defer st.Close()
	measure := runCosts
	if o.workload != nil {
		measure = runChoices
	}
	records, err := measure(ctx, o, st, os.Stdout)
	if err == nil && len(records) == 0 {
		err = errors.New("there is nothing to measure")
	}
	return errors.Join(err, report(os.Stdout, records, o.plots))
}
