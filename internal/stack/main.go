package stack

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
)

// Main is the main of a benchmark: it parses the arguments, runs until done or told to stop, and ends the process with
// the code that says which: 0, 1 for a failure, 2 for wrong arguments, 130 when it was stopped. run must have ended
// what it started when it returns.
func Main[Options any](name string, parse func(args []string) (Options, error),
	run func(ctx context.Context, o Options) error) {
	exit := func(code int, err error) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(code)
	}
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		exit(2, err)
	}
	ctx, stop := Context()
	defer stop()
	switch err := run(ctx, o); {
	case err != nil && ctx.Err() != nil:
		exit(130, errors.New("stopped"))
	case err != nil:
		exit(1, err)
	}
}
