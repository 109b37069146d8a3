package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/load"
	"github.com/pintle-dev/pintle/internal/stack"
)

const (
	seed = 1
	// warmUpRate fills the caches before the first stage, with one request of each user.
	warmUpRate = 15
)

type options struct {
	rates   []float64
	speed   float64
	plot    string
	compare []string
	// exact compares exact prefix caches with the shipped configuration instead; blocks is the size of the caches.
	exact  bool
	blocks int
	// rounds are as many as the ladder is gone through, each time with count requests at each rate if that is not 0;
	// output are the tokens of an answer.
	rounds, count, output int
}

func main() { stack.Main("routing", parseFlags, run) }

func parseFlags(args []string) (options, error) {
	o := options{rates: []float64{3, 10, 15, 20, 25, 30, 40, 60}}
	f := flag.NewFlagSet("routing", flag.ContinueOnError)
	f.Func("rates", "requests per second of the servers' time, a comma list of rising numbers (default "+
		"3,10,15,20,25,30,40,60)", func(text string) (err error) {
		o.rates, err = parseRates(text)
		return err
	})
	f.Float64Var(&o.speed, "speed", 10,
		"how many times faster than real ones the servers are; lower it on a slower machine")
	f.StringVar(&o.plot, "plot", "", "write the plot to this SVG file")
	f.BoolVar(&o.exact, "exact", false, "compare exact prefix caches with the shipped configuration instead")
	f.IntVar(&o.blocks, "blocks", published.blocks, "blocks in a server's cache")
	f.IntVar(&o.rounds, "rounds", 1, "with -exact: how often all rates take their turn")
	f.IntVar(&o.count, "requests", 0, "requests at each rate and round; 0 for as many as the published runs have")
	f.IntVar(&o.output, "output", published.output, "tokens of an answer")
	f.Func("compare", "a further EndpointPickerConfig to compare, a JSON file; repeatable", func(path string) error {
		o.compare = append(o.compare, path)
		return nil
	})
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0 || o.speed < 0.1 || o.speed > 1000 || o.blocks < 1000:
		return o, errors.New("want no arguments, a -speed of 0.1 to 1000, and -blocks of 1000 or more")
	case o.rounds < 1 || o.rounds > 1 && !o.exact || o.count < 0 || o.output < 1:
		return o, errors.New("want -rounds of 1 or more, of which several go with -exact alone, -requests of 0 or " +
			"more, and an -output of 1 or more")
	case o.rounds > 1 && o.plot != "":
		return o, errors.New("want a -plot of one round: with further ones its lines go back to the first rate")
	}
	return o, nil
}

func parseRates(text string) ([]float64, error) {
	var rates []float64
	for part := range strings.SplitSeq(text, ",") {
		rate, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || rate < 0.1 || rate > 1000 || (len(rates) > 0 && rate <= rates[len(rates)-1]) {
			return nil, fmt.Errorf("%q: want rising numbers from 0.1 to 1000", part)
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

func run(ctx context.Context, o options) error {
	st, err := stack.New()
	if err != nil {
		return err
	}
	defer st.Close()
	all, err := o.sides()
	if err != nil {
		return err
	}
	m := published
	m.blocks, m.output = o.blocks, o.output
	stages := ladder(o.rates, m.groups*m.users)
	for i := range stages {
		if o.count > 0 {
			stages[i].count = o.count
		}
	}
	began, before := time.Now(), loadAverage()
	series, err := measure(ctx, st, all, m, slices.Repeat(stages, o.rounds), o.speed, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Printf("%d servers of %d blocks, %d groups of %d users; %d + %d tokens in, %d out; speed %g; load average "+
		"before the run %s; %v in all\n\n",
		m.servers, m.blocks, m.groups, m.users, m.system, m.question, m.output, o.speed, before,
		time.Since(began).Round(time.Second))
	if o.exact {
		writeHits(os.Stdout, series, len(stages))
		if err := writeAsked(os.Stdout, all); err != nil {
			return err
		}
	} else {
		writeTable(os.Stdout, series)
		writeVerdict(os.Stdout, series)
	}
	writeDoubts(os.Stdout, series)
	if o.plot != "" {
		if err := os.WriteFile(o.plot, []byte(plot(series)), 0o644); err != nil {
			return err
		}
		fmt.Printf("\nThe plot is %s.\n", o.plot)
	}
	return failures(series)
}

// sides are what is compared.
func (o options) sides() (all []*side, err error) {
	if all = sides(); o.exact {
		if all, err = exactSides(); err != nil {
			return nil, err
		}
	}
	for _, path := range o.compare {
		s, err := compared(path)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// series is what a side came to, stage by stage.
type series struct {
	name     string
	outcomes []outcome
}

// measure runs all sides through the stages, in another order at each.
func measure(ctx context.Context, st *stack.Stack, all []*side, m model, stages []stage, speed float64,
	progress io.Writer) ([]series, error) {
	results := make([]series, len(all))
	for i, s := range all {
		results[i].name = s.name
		if err := s.start(ctx, st, m, speed); err != nil {
			return nil, err
		}
	}
	users := m.groups * m.users
	stages = append([]stage{{warmUpRate, users}}, stages...)
	total := 0
	for _, g := range stages {
		total += g.count
	}
	requests := load.SharedPrefix{
		Model: "sim-model", Groups: m.groups, Users: m.users, SystemTokens: m.system, QuestionTokens: m.question,
		OutputTokens: m.output, Count: total, Seed: seed,
	}.Requests()
	order := rand.New(rand.NewPCG(seed, 1))
	for i, g := range stages {
		for _, k := range order.Perm(len(all)) {
			o, err := all[k].run(ctx, g, requests[:g.count], m.servers, speed, seed+uint64(i))
			if err := errors.Join(err, ctx.Err(), st.Check()); err != nil {
				return nil, err
			}
			what := ""
			if i == 0 {
				what = " to warm up"
				if err := failures([]series{{all[k].name, []outcome{o}}}); err != nil {
					return nil, fmt.Errorf("to warm up: %w", err) // its caches lack what the others' have
				}
			} else {
				results[k].outcomes = append(results[k].outcomes, o)
			}
			fmt.Fprintf(progress, "%g/s%s, %s: TTFT p90 %s, prefix hits %.1f %%, processors %.0f %% busy\n", g.rate,
				what, all[k].name, seconds(o.ttftP90), 100*o.hitRate, 100*o.busy)
		}
		requests = requests[g.count:]
	}
	return results, nil
}

// failures is an error when a request was lost: then the sides did not do the same work.
func failures(all []series) error {
	var failed []error
	for _, s := range all {
		for _, o := range s.outcomes {
			if o.failed > 0 {
				failed = append(failed,
					fmt.Errorf("%s at %g/s: %d requests failed, such as %q", s.name, o.rate, o.failed, o.firstFailure))
			}
		}
	}
	return errors.Join(failed...)
}
