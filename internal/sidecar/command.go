package sidecar

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
)

// Command runs the subcommand sidecar with args until ctx ends, and returns the exit code: 0 after a clean end, 1 when
// it cannot run, 2 when arguments or configuration are wrong. Logs and errors go to stderr, help to stdout.
func Command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("pintle sidecar", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	path := flags.String("c", "", "configuration `file`")
	verbose := flags.Bool("v", false, "log every scrape and push")
	format := flags.String("log", "text", "log `format`: text or json")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(stdout, "usage: pintle sidecar -c sidecar.yaml [-v] [-log text|json]")
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return 0
	case err != nil:
	case flags.NArg() > 0:
		err = fmt.Errorf("argument %q is unknown; -c file is right", flags.Arg(0))
	case *path == "":
		err = errors.New("-c: missing; the path of the configuration file is right")
	case *format != "text" && *format != "json":
		err = fmt.Errorf("-log: %q is unknown; text or json is right", *format)
	}
	if err != nil {
		fmt.Fprintf(stderr, "pintle sidecar: %v\n", err)
		return 2
	}
	c, err := config.Load(*path)
	if err != nil {
		fmt.Fprintf(stderr, "pintle sidecar: %v\n", err)
		return 2
	}
	if err := Run(ctx, c, newLogger(stderr, *format, *verbose)); err != nil {
		fmt.Fprintf(stderr, "pintle sidecar: %v\n", err)
		return 1
	}
	return 0
}

func newLogger(w io.Writer, format string, verbose bool) *slog.Logger {
	options := &slog.HandlerOptions{}
	if verbose {
		options.Level = slog.LevelDebug
	}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
