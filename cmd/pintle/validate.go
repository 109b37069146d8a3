package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/pintle-dev/pintle/internal/explain"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
)

// runValidate checks a filter configuration. It is silent when that is valid, but for warnings on stderr.
func runValidate(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("pintle validate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	path := flags.String("c", "", "the plug-in configuration, YAML or JSON (required)")
	if code, done := parseFlags(flags, args, stderr, "c"); done {
		return code
	}
	config, err := readConfig(*path)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	for _, w := range config.Plan.Warnings() {
		fmt.Fprintf(stderr, "warning: %s\n", w)
	}
	return 0
}

// parseFlags parses args and checks that the required flags are there. done says that the command ends with code.
func parseFlags(flags *flag.FlagSet, args []string, stderr io.Writer, required ...string) (code int, done bool) {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0, true
		}
		return 2, true
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "%s: unexpected argument %q\n", flags.Name(), flags.Arg(0))
		return 2, true
	}
	for _, name := range required {
		if flags.Lookup(name).Value.String() == "" {
			fmt.Fprintf(stderr, "%s: flag -%s is missing: %s\n", flags.Name(), name, flags.Lookup(name).Usage)
			return 2, true
		}
	}
	return 0, false
}

func readConfig(path string) (*pluginconfig.Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	json, err := explain.FromYAML(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return pluginconfig.ParseIn(json, os.LookupEnv)
}
