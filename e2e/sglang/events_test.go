//go:build sglang && linux

package sglang

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pintle-dev/pintle/e2e/servers"
)

// TestEvents listens to a real engine with a small cache: what the index says of a prompt is what the engine finds in
// its cache, with evictions, adapters, salts, a reset, a subscriber that comes late, and the engine's death.
func TestEvents(t *testing.T) {
	server.post(t, "/flush_cache", "")
	l := servers.Listen(t, server.address, model)
	t.Run("salts and adapters", func(t *testing.T) {
		servers.KeptApart(t, l, newPrompt(t, servers.Words("apart", 400)), model+":"+adapterName, pageTokens)
	})
	t.Run("evictions", func(t *testing.T) {
		servers.Predicts(t, l, pageTokens, func(random *rand.Rand) *servers.Prompt {
			text := servers.Words(fmt.Sprint("group", random.IntN(24)), 400)
			return newPrompt(t, text[:len(text)/4*(1+random.IntN(4))]+fmt.Sprint(" tail ", random.IntN(4)))
		})
	})
	t.Run("a late subscriber", func(t *testing.T) {
		late := servers.Listen(t, server.address, model)
		late.Wait("all that is there", func() bool { return late.Entries() == l.Entries() })
	})
	t.Run("a reset", func(t *testing.T) {
		l.Settle()
		server.post(t, "/flush_cache", "")
		l.Wait("nothing to be left", func() bool { return l.Entries() == 0 })
		p := newPrompt(t, servers.Words("reset", 300))
		p.Send()
		l.Wait("the new blocks alone", func() bool { return l.Entries() == int64(len(p.Tokens)/pageTokens) })
	})
}

func newPrompt(t *testing.T, text string) *servers.Prompt {
	t.Helper()
	return servers.NewPrompt(t, server.url(""), model, text)
}
