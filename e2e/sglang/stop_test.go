//go:build sglang && linux

package sglang

import (
	"testing"

	"github.com/pintle-dev/pintle/e2e/servers"
)

// TestStop: nothing is left in the index of an engine that is killed. It ends the engine of all tests, so its file is
// the last one.
func TestStop(t *testing.T) {
	if server.Child == nil {
		t.Skip("the engine is not these tests' own")
	}
	l := servers.Listen(t, server.address, model)
	newPrompt(t, servers.Words("stop", 100)).Send()
	l.Wait("blocks", func() bool { return l.Entries() > 0 })
	server.kill()
	l.Wait("nothing to be left", func() bool { return l.Entries() == 0 })
}
