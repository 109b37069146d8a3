package command

import "runtime/debug"

// version is set by the linker for a release, see the Makefile.
var version string

// Version is the release of this pintle, else its module's version.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		return info.Main.Version
	}
	return version
}

// Revision is the commit that this pintle was built from, and whether files had changed since; empty where that was not
// told.
func Revision() (commit string, changed bool) {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return "", false
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	return commit, changed
}
