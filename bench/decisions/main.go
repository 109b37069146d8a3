package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"time"

	"github.com/pintle-dev/pintle/bench/decisions/cases"
	"github.com/pintle-dev/pintle/internal/series"
	"github.com/pintle-dev/pintle/internal/stack"
)

type options struct {
	rounds int
	module string
	only   *regexp.Regexp
}

func main() { stack.Main("decisions", parseFlags, run) }

func parseFlags(args []string) (options, error) {
	o := options{only: regexp.MustCompile("")}
	f := flag.NewFlagSet("decisions", flag.ContinueOnError)
	f.IntVar(&o.rounds, "rounds", 15, "rounds of each case on each engine")
	f.Func("only", "measure the cases alone that match this regular expression", func(text string) (err error) {
		o.only, err = regexp.Compile(text)
		return err
	})
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() != 1 || o.rounds < 1 {
		return o, errors.New("want the path of the Wasm module, and -rounds of 1 or more")
	}
	o.module = f.Arg(0)
	return o, nil
}

func run(ctx context.Context, o options) error { return report(ctx, o, os.Stdout) }

func report(ctx context.Context, o options, out io.Writer) error {
	module, err := os.ReadFile(o.module)
	if err != nil {
		return err
	}
	onWazero, err := newWazero(ctx, module)
	if err != nil {
		return err
	}
	engines := []engine{&native{}, onWazero}
	if _, err := exec.LookPath("node"); err == nil {
		v8, err := newV8(ctx, o.module)
		if err != nil {
			return err
		}
		engines = append(engines, v8)
	}
	defer func() {
		for _, e := range engines {
			e.close()
		}
	}()
	fmt.Fprintf(out, "microseconds, medians of %d rounds of the engines in turns, one case after the other, min-max "+
		"in brackets\n\n%-52s", o.rounds, "")
	for _, e := range engines {
		fmt.Fprintf(out, " %-22s", e.name())
	}
	fmt.Fprintln(out, " bar in Wasm")
	for i := range cases.All {
		if !o.only.MatchString(cases.All[i].Name) {
			continue
		}
		if err := row(ctx, out, i, engines, o.rounds); err != nil {
			return err
		}
	}
	return nil
}

func row(ctx context.Context, out io.Writer, index int, engines []engine, rounds int) error {
	found, err := measure(ctx, index, engines, rounds)
	if err != nil {
		return err
	}
	c := &cases.All[index]
	fmt.Fprintf(out, "%-52s", c.Name)
	for _, micros := range found {
		fmt.Fprintf(out, " %-22s", fmt.Sprintf("%.1f (%s)", micros.Median(), micros.Spread("%.1f")))
	}
	if c.BarMicros > 0 {
		fmt.Fprintf(out, " %.0f", c.BarMicros)
	}
	fmt.Fprintln(out)
	return nil
}

// roundTime is about how long a round takes: long enough to be told from a call's own cost, short enough for many.
const roundTime = 20 * time.Millisecond

// measure returns microseconds, one list for each engine.
func measure(ctx context.Context, index int, engines []engine, rounds int) ([]series.Series, error) {
	times := make([]int, len(engines))
	for i, e := range engines {
		if err := e.prepare(ctx, index); err != nil {
			return nil, err
		}
		// Compilers need to see the code run before they make it fast.
		const probe = 200
		for range 5 {
			took, err := e.run(ctx, probe)
			if err != nil {
				return nil, err
			}
			times[i] = max(1, int(roundTime*probe/max(took, 1)))
		}
	}
	found := make([]series.Series, len(engines))
	for range rounds {
		for i, e := range engines {
			took, err := e.run(ctx, times[i])
			if err != nil {
				return nil, err
			}
			found[i] = append(found[i], float64(took.Nanoseconds())/1000/float64(times[i]))
		}
	}
	return found, nil
}
