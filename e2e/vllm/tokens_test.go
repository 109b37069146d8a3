//go:build vllm && linux

package vllm

import (
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/e2e/servers"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/scoring"
)

// TestTokens: the tokens that the sidecar makes by the files of the model are those that the engine makes, for 2,000
// chats and completions; none of them is left to the engine.
func TestTokens(t *testing.T) {
	nobody := &servers.Asked{}
	local := servers.LocalTokens(t, model, filepath.Join(home(), "model", "base", "tokenizer.json"), nobody)
	remote := servers.NewTokens(t, &scoring.TokenBackend{Kind: scoring.TokensOfEngine, Workers: servers.TokenClients},
		&servers.Asked{Servers: []tokens.Server{{URL: "http://" + engines[0].address, Client: direct}}})
	engines[0].logOnFailure(t)
	compareTokens(t, 15, nobody, local, remote)
	servers.CountTokens(t, model, 18, 60, local, "http://"+engines[0].address)
}

// compareTokens wants the same tokens from all for 2,000 chats and completions, and none of them left to nobody.
func compareTokens(t *testing.T, seed uint64, nobody *servers.Asked, local *tokens.Pool, others ...*tokens.Pool) {
	t.Helper()
	const requests = 2000
	servers.CompareTokens(t, model, seed, requests, local, others...)
	if n := nobody.Times.Load(); n > 0 {
		t.Errorf("%d of %d prompts were left to the engine", n, requests)
	}
}
