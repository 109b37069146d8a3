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
	t.Run("salts and adapters", func(t *testing.T) { keptApart(t, l) })
	t.Run("evictions", func(t *testing.T) { predicts(t, l) })
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

// keptApart: a prompt is cached for its salt and its adapter alone.
func keptApart(t *testing.T, l *servers.Listening) {
	plain := newPrompt(t, servers.Words("apart", 400))
	salted, adapted, both := *plain, *plain, *plain
	salted.Salt, adapted.Model = "tenant", model+":"+adapterName
	both.Salt, both.Model = "tenant", model+":"+adapterName
	all := []*servers.Prompt{plain, &salted, &adapted, &both}
	whole := len(plain.Tokens) / pageTokens * pageTokens
	for i, p := range all {
		for j, other := range all[i:] {
			if got := l.Knows(other); got != 0 {
				t.Errorf("before request %d: %d tokens of request %d are known", i, got, i+j)
			}
		}
		if cached := p.Send(); cached != 0 {
			t.Errorf("request %d: the engine had %d tokens", i, cached)
		}
		l.Wait(fmt.Sprintf("the blocks of prompt %d", i), func() bool { return l.Knows(p) == whole })
	}
}

// predicts sends prompts that share their beginnings, more than the cache holds, and holds what the index says of each
// before it is sent against what the engine finds.
func predicts(t *testing.T, l *servers.Listening) {
	const requests = 120
	random := rand.New(rand.NewPCG(3, 5))
	right, hits, misses := 0, 0, 0
	for range requests {
		group := random.IntN(24)
		text := servers.Words(fmt.Sprint("group", group), 400)
		p := newPrompt(t, text[:len(text)/4*(1+random.IntN(4))]+fmt.Sprint(" tail ", random.IntN(4)))
		l.Settle()
		known := l.Knows(p)
		cached := p.Send()
		if difference := known - cached; difference <= pageTokens && difference >= -pageTokens {
			right++
		} else {
			t.Logf("%d tokens: %d known, %d cached", len(p.Tokens), known, cached)
		}
		if cached > 0 {
			hits++
		} else {
			misses++
		}
	}
	t.Logf("%d of %d requests were predicted within one block; %d hits, %d misses", right, requests, hits, misses)
	if right < requests*95/100 || hits < 20 || misses < 20 {
		t.Errorf("want 95 %%, with hits and misses")
	}
}
