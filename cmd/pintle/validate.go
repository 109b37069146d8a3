package main

import (
	"fmt"
	"io"
	"os"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/foreign"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
)

// runValidate checks a filter configuration. It is silent when that is valid, but for warnings on stderr.
func runValidate(args []string, stdout, stderr io.Writer) int {
	flags := command.NewFlags("pintle validate")
	path := flags.String("c", "", "the plug-in configuration, YAML or JSON (required)")
	if code, done := command.Parse(flags, args, stdout, stderr, "c"); done {
		return code
	}
	config, found, err := readConfig(*path)
	if err != nil {
		return command.Fail(flags, stderr, 2, err)
	}
	if found.Where != "" {
		fmt.Fprintf(stderr, "%s: reads %s (line %d); nothing else in the file counts\n", flags.Name(), found.Where, found.Line)
	}
	for _, w := range config.Plan.Warnings() {
		fmt.Fprintf(stderr, "%s: warning: %s\n", flags.Name(), w)
	}
	return 0
}

// readConfig reads a plug-in configuration, also one that lies in a file of another kind. Every mistake is told with the file and
// the line.
func readConfig(path string) (*pluginconfig.Config, *foreign.Found, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	found, err := foreign.Read(text)
	if err != nil {
		return nil, nil, command.InFile(path, err)
	}
	config, err := pluginconfig.ParseIn(found.JSON, os.LookupEnv)
	return config, found, command.InFile(path, found.Locate(err))
}
