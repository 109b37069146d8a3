package servers

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// KeptApart checks that a prompt is cached for its salt and its adapter alone, of which model is the name. block is how
// many tokens the server caches together.
func KeptApart(t *testing.T, l *Listening, plain *Prompt, model string, block int) {
	t.Helper()
	salted, adapted, both := *plain, *plain, *plain
	salted.Salt, adapted.Model = "tenant", model
	both.Salt, both.Model = "tenant", model
	all := []*Prompt{plain, &salted, &adapted, &both}
	whole := len(plain.Tokens) / block * block
	for i, p := range all {
		for j, other := range all[i:] {
			if got := l.Knows(other); got != 0 {
				t.Errorf("before request %d: %d tokens of request %d are known, want 0", i, got, i+j)
			}
		}
		if cached := p.Send(); cached != 0 {
			t.Errorf("request %d: the engine had %d tokens, want 0", i, cached)
		}
		l.Wait(fmt.Sprintf("the blocks of prompt %d", i), func() bool { return l.Knows(p) == whole })
	}
}

// Predicts sends prompts, which should share their beginnings and be more than the cache holds, and holds what the
// index says of each before it is sent against what the server finds, in tokens of which it caches block together.
func Predicts(t *testing.T, l *Listening, block int, next func(random *rand.Rand) *Prompt) {
	t.Helper()
	const requests = 120
	random := rand.New(rand.NewPCG(3, 5))
	right, hits, misses := 0, 0, 0
	for range requests {
		p := next(random)
		l.Settle()
		known := l.Knows(p)
		cached := p.Send()
		if difference := known - cached; difference <= block && difference >= -block {
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
		t.Errorf("%d of %d requests were predicted within one block, with %d hits and %d misses; want 95 %%, and 20 "+
			"of each", right, requests, hits, misses)
	}
}
