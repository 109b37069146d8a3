//go:build !failpoint

package main

import "github.com/pintle-dev/pintle/internal/hostcalls"

func failpoint(string) {}

// consult is where a request whose body is there can be held while something is asked, see ask.
func (s *stream) consult([]byte) (action hostcalls.Action, asked bool) {
	return hostcalls.Continue, false
}
