package servers

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/scoring"
)

// Asked are model servers, with how often they were asked for.
type Asked struct {
	Servers []tokens.Server
	Times   atomic.Int32
}

// For implements tokens.Servers.
func (a *Asked) For(string, int) []tokens.Server { a.Times.Add(1); return a.Servers }

// SGLang implements tokens.Servers.
func (a *Asked) SGLang(string) bool {
	return slices.ContainsFunc(a.Servers, func(s tokens.Server) bool { return s.SGLang })
}

// TokenClients are how many compare prompts at a time.
const TokenClients = 4

// LocalTokens makes tokens by a file, and those of chats by the template beside it.
func LocalTokens(t *testing.T, model, file string, nobody *Asked) *tokens.Pool {
	t.Helper()
	p := NewTokens(t, &scoring.TokenBackend{Kind: scoring.TokensLocal, Model: model, Workers: TokenClients,
		Files: []scoring.PreciseFile{{Model: model, Path: file}}}, nobody)
	if p.Note() != "" {
		t.Fatal(p.Note())
	}
	return p
}

// NewTokens makes tokens as the configuration says.
func NewTokens(t *testing.T, c *scoring.TokenBackend, servers tokens.Servers) *tokens.Pool {
	t.Helper()
	p, err := tokens.NewPool(c, servers)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// CompareTokens wants the same tokens from all for so many chats and completions.
func CompareTokens(t *testing.T, model string, seed uint64, requests int, local *tokens.Pool, others ...*tokens.Pool) {
	t.Helper()
	var running sync.WaitGroup
	var made atomic.Int64
	for client := range uint64(TokenClients) {
		running.Go(func() {
			w := Writer{rand.New(rand.NewPCG(client, seed)), model}
			for range requests / TokenClients {
				api, body := w.Request()
				n := 0
				for _, other := range others {
					n = wantSameTokens(t, local, other, api, body)
				}
				made.Add(int64(n))
			}
		})
	}
	running.Wait()
	t.Logf("%d prompts of %d tokens", requests, made.Load())
}

// wantSameTokens compares what two make of a request and returns how many tokens that are.
func wantSameTokens(t *testing.T, local, remote *tokens.Pool, api string, body map[string]any) int {
	content, err := json.Marshal(body)
	if err != nil {
		t.Error(err)
		return 0
	}
	prompt, err := tokens.Read(api, content)
	if err != nil {
		t.Errorf("%s: %v", content, err)
		return 0
	}
	want, err := remote.Tokens(context.Background(), prompt)
	if err != nil {
		t.Errorf("%.500s: the engine says %v", content, err)
		return 0
	}
	got, err := local.Tokens(context.Background(), prompt)
	if err != nil || !slices.Equal(got.Tokens, want.Tokens) {
		t.Errorf("%.500s: got %d tokens and %v, the engine makes %d", content, len(got.Tokens), err, len(want.Tokens))
	}
	return len(want.Tokens)
}
