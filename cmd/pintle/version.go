package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/snapshot"
)

// runVersion says which pintle this is, and which snapshots it writes: the module must read these.
func runVersion(args []string, stdout, stderr io.Writer) int {
	flags := command.NewFlags("pintle version")
	if code, done := command.Parse(flags, args, stdout, stderr); done {
		return code
	}
	text := command.Version()
	if commit, changed := command.Revision(); commit != "" {
		text += " (commit " + commit[:min(12, len(commit))]
		if changed {
			text += ", with changes"
		}
		text += ")"
	}
	fmt.Fprintf(stdout, "pintle %s\nsnapshot format %d\n%s %s/%s\n", text, snapshot.FormatVersion, runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
	return 0
}
