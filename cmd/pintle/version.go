package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/pintle-dev/pintle/internal/command"
	"github.com/pintle-dev/pintle/snapshot"
)

// version is set by the linker for a release: -X main.version=v0.1.0.
var version string

// runVersion says which pintle this is, and which snapshots it writes: the module must read these.
func runVersion(args []string, stdout, stderr io.Writer) int {
	flags := command.NewFlags("pintle version")
	if code, done := command.Parse(flags, args, stdout, stderr); done {
		return code
	}
	info, _ := debug.ReadBuildInfo()
	fmt.Fprintf(stdout, "pintle %s\nsnapshot format %d\n%s %s/%s\n", describeVersion(info), snapshot.FormatVersion,
		runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return 0
}

// describeVersion is the release, else the module's version, with the commit that it was built from.
func describeVersion(info *debug.BuildInfo) string {
	text := version
	if info == nil {
		return text
	}
	if text == "" {
		text = info.Main.Version
	}
	commit, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ", with changes"
		}
	}
	if commit != "" {
		text += " (commit " + commit[:min(12, len(commit))] + changed + ")"
	}
	return text
}
