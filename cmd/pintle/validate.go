package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/foreign"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/sidecar"
	"github.com/pintle-dev/pintle/scoring"
)

// runValidate checks a filter configuration. Of a valid one it tells on stdout in which dialect it was read, what hangs
// on that, and what differs all the same from where the document comes from, and warnings on stderr.
func runValidate(args []string, stdout, stderr io.Writer) int {
	flags := command.NewFlags("pintle validate")
	path := flags.String("c", "", "the plug-in configuration, YAML or JSON (required)")
	dialect := dialectFlag(flags)
	if code, done := command.Parse(flags, args, stdout, stderr, "c"); done {
		return code
	}
	text, err := readFile(*path)
	if err != nil {
		return command.Fail(flags, stderr, 2, err)
	}
	config, found, err := parseConfig(*path, text, *dialect)
	if err != nil {
		command.Fail(flags, stderr, 2, err)
		_, _, other := parseConfig(*path, text, scoring.DialectLLMD)
		if other == nil && *dialect == scoring.DialectUnsaid {
			fmt.Fprintf(stderr, "%s: read as llm-d's it loads: say dialect: llm-d beside config if it is of llm-d\n",
				flags.Name())
		}
		return 2
	}
	if found.Where != "" {
		fmt.Fprintf(stderr, "%s: reads %s (line %d); nothing else in the file counts\n", flags.Name(), found.Where,
			found.Line)
	}
	if len(found.Besides) > 0 {
		fmt.Fprintf(stderr, "%s: the sidecar's configuration has to say what stands at %s\n", flags.Name(),
			strings.Join(found.Besides, ", "))
	}
	if err := errors.Join(found.Locate(config.ShadowError), sidecar.CheckDrivers(config.Plan)); err != nil {
		return command.Fail(flags, stderr, 2, command.InFile(nameOf(*path), err))
	}
	for _, w := range slices.Concat(config.Warnings(), config.ShadowWarnings()) {
		fmt.Fprintf(stderr, "%s: warning: %s\n", flags.Name(), w)
	}
	writeReading(stdout, config.Plan)
	for _, difference := range found.Differences(config.Plan) {
		fmt.Fprintf(stdout, "  differs: %s\n", difference)
	}
	for _, addition := range found.Added() {
		fmt.Fprintf(stdout, "  added: %s\n", addition)
	}
	return 0
}

// writeReading tells in which dialect a document was read and what hangs on it.
func writeReading(w io.Writer, plan *scoring.Plan) {
	r := plan.Reading()
	advice := ""
	switch {
	case r.Unsure:
		advice = "; say dialect: heimdall or dialect: llm-d beside config to be sure"
	case r.Shared:
		advice = "; a document of llm-d before 0.10 needs dialect: llm-d beside config"
	}
	fmt.Fprintf(w, "dialect: %s, as %s%s\n", r.Dialect, r.Because, advice)
	for _, line := range plan.Hangs() {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

// dialectFlag defines the flag that says whose dialect a document is in.
func dialectFlag(flags *flag.FlagSet) *scoring.Dialect {
	dialect := new(scoring.Dialect)
	flags.Func("dialect", "how to read a document that does not tell whose it is: heimdall or llm-d",
		func(name string) error {
			if *dialect = scoring.DialectNamed(name); *dialect == scoring.DialectUnsaid {
				return fmt.Errorf("%q is not %s or %s", name, scoring.NameHeimdall, scoring.NameLLMD)
			}
			return nil
		})
	return dialect
}

// readConfig reads a plug-in configuration, also one that lies in a file of another kind. Every mistake is told with
// the file and the line.
func readConfig(path string, dialect scoring.Dialect) (*pluginconfig.Config, *foreign.Found, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, nil, err
	}
	return parseConfig(path, text, dialect)
}

// parseConfig is readConfig for what the file holds.
func parseConfig(path string, text []byte, dialect scoring.Dialect) (*pluginconfig.Config, *foreign.Found, error) {
	found, err := foreign.Read(text)
	if err != nil {
		return nil, nil, command.InFile(nameOf(path), err)
	}
	config, err := pluginconfig.ParseAs(found.JSON, os.LookupEnv, dialect)
	return config, found, command.InFile(nameOf(path), errors.Join(found.Unfit, found.Locate(err)))
}
