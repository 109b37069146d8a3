package hostcalls

import "strings"

// Environment is the VM's environment: entries NAME=value with zero bytes between them. In Envoy it is vm_config's
// environment_variables.
type Environment struct{ entries string }

// ReadEnvironment asks the host. A host that does not tell has none.
func ReadEnvironment() Environment { return Environment{string(readEnvironment())} }

// Lookup returns the value of a variable.
func (e Environment) Lookup(name string) (value string, ok bool) {
	for entry := range strings.SplitSeq(e.entries, "\x00") {
		if key, value, found := strings.Cut(entry, "="); found && key == name {
			return value, true
		}
	}
	return "", false
}
