package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/replay"
	"github.com/pintle-dev/pintle/scoring"
)

// runReplay decides the requests of a trace again by each configuration.
func runReplay(args []string, stdout, stderr io.Writer) int {
	o := &replayOptions{options: replay.Options{Servers: replay.DefaultServers(), Scale: 1, Seed: 1}}
	flags := o.flags()
	// The trace is the one argument that is no flag; it may stand before, between or behind them.
	args, o.trace = takeFile(flags, args)
	if code, done := command.Parse(flags, args, stdout, stderr); done {
		return code
	}
	flags.Visit(func(f *flag.Flag) { o.given[f.Name] = true })
	if err := o.check(); err != nil {
		return command.Fail(flags, stderr, 2, err)
	}
	code, err := o.run(stdout, stderr)
	if err != nil {
		return command.Fail(flags, stderr, code, err)
	}
	return 0
}

// askFor has every request ask for the limits of a good answer.
func (o *replayOptions) askFor() {
	o.options.Headers = map[string]string{}
	for _, limit := range []struct {
		header  string
		seconds float64
	}{{"x-slo-ttft-ms", o.limits.TTFT}, {"x-slo-tpot-ms", o.limits.TPOT}} {
		if limit.seconds > 0 {
			o.options.Headers[limit.header] = strconv.FormatFloat(limit.seconds*1000, 'f', -1, 64)
		}
	}
}

func (o *replayOptions) run(stdout, stderr io.Writer) (code int, err error) {
	var plans [][]*scoring.Plan // of each configuration one for each gateway
	for _, path := range o.configs {
		all, err := o.readPlans(path, stderr)
		if err != nil {
			return 2, err
		}
		plans = append(plans, all)
	}
	file, err := open(o.trace)
	if err != nil {
		return 2, err
	}
	defer file.Close()
	trace, err := replay.Read(file)
	if err != nil {
		return 2, command.InFile(nameOf(o.trace), err)
	}
	fitted, err := o.fit(trace)
	if err != nil {
		return 2, err
	}
	if o.objectives {
		o.askFor()
	}
	// From here on a signal is looked for. Before, while a pipe is read perhaps, it ends the process by itself.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	reports, err := o.replay(ctx, plans, trace, stderr)
	if err != nil {
		return 1, err
	}
	if recorded := trace.Recorded(); recorded != nil {
		was := replay.Summarise("recorded", recorded, len(trace.Endpoints), o.limits)
		for reason, n := range trace.Failed {
			was.Refusals[reason] = n
		}
		reports = append([]*replay.Report{was}, reports...)
	}
	document := &replay.Document{
		Fitted: fitted, Trace: trace, Name: filepath.Base(nameOf(o.trace)), Servers: o.options.Servers,
		Scale:  o.options.Scale,
		Limits: o.limits, Asked: o.objectives, Speeds: o.options.Speeds, Endpoints: o.options.Endpoints,
		Reports: reports, Gateways: o.gateways, Lag: o.options.Lag,
	}
	return 1, document.Write(stdout, o.output)
}

// fit makes the servers those of the trace where no flag says otherwise, and says what was fitted.
func (o *replayOptions) fit(trace *replay.Trace) (fitted string, err error) {
	if trace.Servers > 0 && !o.given["servers"] {
		o.options.Servers.Count = trace.Servers
	}
	fitted = trace.Fit(&o.options.Servers, func(flag string) bool { return o.given[flag] })
	if !o.given["servers"] {
		for _, name := range trace.Endpoints {
			o.options.Endpoints = append(o.options.Endpoints, scoring.Endpoint{Name: name})
		}
	}
	if len(o.options.Speeds) > o.options.Servers.Count {
		return "", fmt.Errorf("flag -speeds: names %d servers, and there are %d", len(o.options.Speeds),
			o.options.Servers.Count)
	}
	return fitted, nil
}

// readPlans reads a configuration for each gateway.
func (o *replayOptions) readPlans(path string, stderr io.Writer) (all []*scoring.Plan, err error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	for range o.gateways {
		config, _, err := parseConfig(path, text, scoring.DialectUnsaid)
		if err != nil {
			return nil, err
		}
		all = append(all, config.Plan)
	}
	for _, w := range all[0].Warnings() {
		fmt.Fprintf(stderr, "pintle replay: warning: %s: %s\n", nameOf(path), strings.TrimSpace(w))
	}
	return all, nil
}

// replay runs the configurations, as many at once as there are processors.
func (o *replayOptions) replay(ctx context.Context, plans [][]*scoring.Plan, trace *replay.Trace,
	stderr io.Writer) ([]*replay.Report, error) {
	reports, errs := make([]*replay.Report, len(plans)), make([]error, len(plans))
	done := make([]atomic.Int64, len(plans))
	stop := showProgress(stderr, func() float64 {
		sum := int64(0)
		for i := range done {
			sum += done[i].Load()
		}
		return float64(sum) / float64(len(plans)*len(trace.Requests))
	})
	defer stop()
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i, all := range plans {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			options := o.options
			options.Progress = func(n int) { done[i].Store(int64(n)) }
			options.Others = all[1:]
			samples, err := replay.Run(ctx, all[0], trace.Requests, options)
			done[i].Store(int64(len(trace.Requests)))
			reports[i], errs[i] = replay.Summarise(nameOf(o.configs[i]), samples, options.Servers.Count, o.limits), err
		})
	}
	running.Wait()
	return reports, errors.Join(errs...)
}

// showProgress says on a terminal how much is done, until stop is called.
func showProgress(to io.Writer, done func() float64) (stop func()) {
	file, ok := to.(*os.File)
	if !ok {
		return func() {}
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func() {}
	}
	const every = 100 * time.Millisecond
	ended, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(file, "\r%3.0f %% decided", 100*done())
			case <-ended:
				fmt.Fprint(file, "\r\x1b[K")
				return
			}
		}
	}()
	return func() { close(ended); <-gone }
}
