package sidecar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/scoring"
)

// Command runs the subcommand sidecar with args until ctx ends, and returns the exit code: 0 after a clean end, 1 when
// it cannot run, 2 when arguments or configuration are wrong. Logs and errors go to stderr, help to stdout.
func Command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := command.NewFlags("pintle sidecar")
	path := flags.String("c", "", "the configuration `file` (required)")
	plugins := flags.String("plugins", "",
		"the filter's configuration `file`: its data layer says how servers are found and read")
	check := flags.Bool("check", false, "only check the configuration and the files that it names")
	verbose := flags.Bool("v", false, "log every scrape and push")
	format := flags.String("log", "text", "log `format`: text or json")
	if code, done := command.Parse(flags, args, stdout, stderr, "c"); done {
		return code
	}
	if *format != "text" && *format != "json" {
		return command.Fail(flags, stderr, 2, fmt.Errorf("flag -log: %q is not text or json", *format))
	}
	c, err := config.Load(*path)
	if err == nil && *plugins != "" {
		err = c.ApplyPlugins(*plugins)
	}
	if err == nil {
		err = errors.Join(checkDrivers(c), c.CheckKubeconfig())
	}
	if err != nil {
		return command.Fail(flags, stderr, 2, err)
	}
	if *check {
		if err := checkTokenizer(c); err != nil {
			return command.Fail(flags, stderr, 2, err)
		}
		return 0
	}
	limitMemory(memlimit.FromCgroup)
	if err := Run(ctx, c, newLogger(stderr, *format, *verbose)); err != nil {
		return command.Fail(flags, stderr, 1, err)
	}
	return 0
}

// checkTokenizer reads the files of a tokenizer that are here.
func checkTokenizer(c *config.Config) error {
	if c.Prefix.Index == nil || c.Prefix.Index.Tokens.Kind != scoring.TokensLocal {
		return nil
	}
	if _, err := tokens.NewPool(&c.Prefix.Index.Tokens, nil); err != nil {
		return fmt.Errorf("%s: %w", c.Plugins, err)
	}
	return nil
}

// limitMemory has the garbage collector keep the process below nine tenths of its container's limit, if there is one
// and GOMEMLIMIT says nothing else. By itself it lets the heap grow to twice what is in use, and the kernel ends a
// container that is at its limit, with the index of KV blocks and the conversations that it holds.
func limitMemory(limit memlimit.Provider) {
	// Without a limit, or where none can be read, nothing changes.
	_, _ = memlimit.SetGoMemLimitWithOpts(memlimit.WithProvider(limit), memlimit.WithRatio(0.9))
}

// withUnit has times told with their unit, also where JSON would have them as numbers of nanoseconds.
func withUnit(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

func newLogger(w io.Writer, format string, verbose bool) *slog.Logger {
	options := &slog.HandlerOptions{ReplaceAttr: withUnit}
	if verbose {
		options.Level = slog.LevelDebug
	}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
