package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/pintle-dev/pintle/internal/stack"
)

// bar is the part of the changes that tests have to notice.
const bar = 0.95

type options struct {
	only    *regexp.Regexp
	limit   time.Duration
	timeout time.Duration
	list    bool
}

func main() { stack.Main("mutate", parseFlags, run) }

func parseFlags(args []string) (o options, err error) {
	var only string
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	f.StringVar(&only, "only", ".", "a regular expression over \"FILE: NAME\"")
	f.DurationVar(&o.limit, "limit", time.Hour, "begin no further change after this time")
	f.DurationVar(&o.timeout, "timeout", 2*time.Minute,
		"how long the tests of a package may take; longer counts as noticed")
	f.BoolVar(&o.list, "list", false, "show the changes, and whether they still fit, without running tests")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 || o.limit <= 0 || o.timeout <= 0 {
		return o, errors.New("want no arguments, and -limit and -timeout above 0")
	}
	o.only, err = regexp.Compile(only)
	return o, err
}

func run(ctx context.Context, o options) error {
	root, err := stack.FindRoot()
	if err != nil {
		return err
	}
	r := &runner{root: root, timeout: o.timeout}
	if r.scratch, err = os.MkdirTemp("", "pintle-mutate-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.scratch)
	var chosen []mutant
	var misfits []error
	for _, m := range mutants() {
		if !o.only.MatchString(m.String()) {
			continue
		}
		if _, err := m.apply(root); err != nil {
			misfits = append(misfits, err)
			continue
		}
		chosen = append(chosen, m)
	}
	if o.list {
		for _, m := range chosen {
			fmt.Println(m.line(""))
		}
		return errors.Join(misfits...)
	}
	return errors.Join(r.all(ctx, chosen, o.limit), errors.Join(misfits...))
}

// all runs the changes, and says how many were noticed.
func (r *runner) all(ctx context.Context, chosen []mutant, limit time.Duration) error {
	began := time.Now()
	noticed, ran, left := 0, 0, 0
	var mistakes []error
	for _, m := range chosen {
		if m.equivalent != "" {
			fmt.Println(m.line(""))
			continue
		}
		if time.Since(began) > limit {
			left++
			continue
		}
		verdict, err := r.try(ctx, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		fmt.Println(m.line(verdict))
		ran++
		if verdict != survived {
			noticed++
		}
	}
	if ran == 0 {
		return errors.Join(append(mistakes, errors.New("no change was run"))...)
	}
	fmt.Printf("\n%d of %d changes were noticed, %.1f %%, in %v\n", noticed, ran, 100*float64(noticed)/float64(ran),
		time.Since(began).Round(time.Second))
	if left > 0 {
		fmt.Printf("%d were not begun within -limit %v\n", left, limit)
	}
	if float64(noticed) < bar*float64(ran) {
		mistakes = append(mistakes,
			fmt.Errorf("%.1f %% are noticed, want %.0f %%", 100*float64(noticed)/float64(ran), 100*bar))
	}
	return errors.Join(mistakes...)
}
