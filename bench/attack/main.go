package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

type options struct {
	short, demo    bool
	names          []string
	duration, rest time.Duration
	rounds         int
	bars           bars
}

func main() { stack.Main("attack", parseFlags, run) }

func parseFlags(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("attack", flag.ContinueOnError)
	f.BoolVar(&o.short, "short", false, "a few seconds for each attack, and bars that a busy machine keeps")
	f.BoolVar(&o.demo, "demo", false,
		"attack what make demo KEEP=1 started; what needs another configuration or server is left out")
	f.DurationVar(&o.duration, "duration", 0, "how long an attack takes (default 15s, 4s with -short)")
	f.DurationVar(&o.rest, "rest", 0,
		"how long after an attack nothing of it may be left (default 30s, 5s with -short)")
	f.IntVar(&o.rounds, "rounds", 3, "how often an attack is repeated at most when a bar is missed; medians count")
	f.Func("only", "a comma list of attacks (default all)", func(text string) error {
		o.names = strings.Split(text, ",")
		return nil
	})
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "Usage of attack:")
		f.PrintDefaults()
		fmt.Fprintln(f.Output(), "Attacks:")
		for _, a := range attacks {
			fmt.Fprintf(f.Output(), "  %-14s %s\n", a.name, a.about)
		}
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.bars = full
	defaults := [2]time.Duration{15 * time.Second, 30 * time.Second}
	if o.short {
		o.bars, defaults = generous, [2]time.Duration{4 * time.Second, 5 * time.Second}
	}
	if o.duration == 0 {
		o.duration = defaults[0]
	}
	if o.rest == 0 {
		o.rest = defaults[1]
	}
	if f.NArg() > 0 || o.duration < time.Second || o.rest < 0 || o.rounds < 1 {
		return o, errors.New("want no arguments, -duration of 1s or more, -rest of 0s or more and -rounds of 1 or more")
	}
	for _, name := range o.names {
		if !slices.ContainsFunc(attacks, func(a attack) bool { return a.name == name }) {
			return o, fmt.Errorf("-only %s: no such attack; -help lists them", name)
		}
	}
	return o, nil
}

func run(ctx context.Context, o options) error {
	fmt.Printf("others: %.0f requests/s; at most %.0f points of their hits, none refused; "+
		"%v later nothing of it left\n", rate, 100*o.bars.hits, o.rest)
	if o.bars.p99 > 0 {
		fmt.Printf("their p99 TTFT at most %.1f times as long\n", o.bars.p99)
	}
	fmt.Println()
	var missed []string
	for _, a := range attacks {
		if len(o.names) > 0 && !slices.Contains(o.names, a.name) || o.demo && a.ownStack() {
			continue
		}
		all, err := a.play(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		middle := median(all)
		faults := o.bars.judge(a, middle)
		report(os.Stdout, a, middle, faults)
		if len(faults) > 0 {
			missed = append(missed, a.name)
		}
	}
	if len(missed) > 0 {
		return fmt.Errorf("others noticed too much of: %s", strings.Join(missed, ", "))
	}
	return nil
}

// play attacks once and, unless that round keeps the bars, repeats it; it returns all rounds.
func (a attack) play(ctx context.Context, o options) ([]round, error) {
	var all []round
	for len(all) < o.rounds {
		r, err := a.round(ctx, o)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
		if len(all) == 1 && len(o.bars.judge(a, r)) == 0 || len(r.leaks) > 0 { // chance decides no leaks
			break
		}
	}
	return all, nil
}

// round starts everything, attacks once and ends everything.
func (a attack) round(ctx context.Context, o options) (r round, err error) {
	t, err := a.target(ctx, o)
	if err != nil {
		return r, err
	}
	defer t.close()
	duration, warmth := max(o.duration, a.least), 6
	if a.document != "" {
		warmth = 24 // what users took has to settle
	}
	people := newOthers(warmth, duration)
	if a.freshConnections {
		people.client = freshConnections()
	}
	if err := people.warm(ctx, t, warmth); err != nil {
		return r, err
	}
	if r.before, err = people.watch(ctx, t, duration); err != nil {
		return r, err
	}
	attackContext, end := context.WithTimeout(ctx, duration)
	defer end()
	done := make(chan error, 1)
	go func() {
		var err error
		r.tried, r.leaks, err = a.run(attackContext, t)
		done <- err
	}()
	if r.during, err = people.watch(ctx, t, duration); err != nil {
		return r, err
	}
	end()
	if err := <-done; err != nil {
		return r, err
	}
	select {
	case <-ctx.Done():
		return r, ctx.Err()
	case <-time.After(o.rest):
	}
	r.after, err = people.watch(ctx, t, duration)
	return r, err
}

func (a attack) target(ctx context.Context, o options) (*target, error) {
	if o.demo {
		return demo()
	}
	return start(ctx, a.document, a.hostile)
}
