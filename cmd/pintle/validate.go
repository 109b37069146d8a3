package main

import (
	"fmt"
	"io"
	"os"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/internal/pluginconfig"
	"github.com/pintle-dev/pintle/internal/yamldoc"
)

// runValidate checks a filter configuration. It is silent when that is valid, but for warnings on stderr.
func runValidate(args []string, stdout, stderr io.Writer) int {
	flags := command.NewFlags("pintle validate")
	path := flags.String("c", "", "the plug-in configuration, YAML or JSON (required)")
	if code, done := command.Parse(flags, args, stdout, stderr, "c"); done {
		return code
	}
	config, err := readConfig(*path)
	if err != nil {
		return command.Fail(flags, stderr, 2, err)
	}
	for _, w := range config.Plan.Warnings() {
		fmt.Fprintf(stderr, "%s: warning: %s\n", flags.Name(), w)
	}
	return 0
}

// readConfig reads a plug-in configuration. Every mistake is told with the file and the line.
func readConfig(path string) (*pluginconfig.Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	document, err := yamldoc.Read(text)
	if err != nil {
		return nil, command.InFile(path, err)
	}
	config, err := pluginconfig.ParseIn(document.JSON, os.LookupEnv)
	return config, command.InFile(path, document.Locate(err))
}
