//go:build sglang && linux

package sglang

import (
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/e2e/servers"
	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/scoring"
)

// TestTokens: the tokens that the sidecar makes by the files of the model are those that the engine makes, for 1,000
// chats and completions. Chats that the engine renders in ways of its own are left to it, and no others.
func TestTokens(t *testing.T) {
	here := []tokens.Server{{URL: server.url(""), Client: direct, SGLang: true}}
	asked := &servers.Asked{Servers: here}
	local := servers.LocalTokens(t, model, filepath.Join(home(), "model", "base", "tokenizer.json"), asked)
	remote := servers.NewTokens(t, &scoring.TokenBackend{Kind: scoring.TokensOfEngine, Workers: servers.TokenClients},
		&servers.Asked{Servers: here})
	servers.CompareTokens(t, model, 17, 1000, local, remote)
	if n := asked.Times.Load(); n < 500 || n > 800 {
		t.Errorf("%d of 1,000 were left to the engine, want those that are not plain, some two thirds", n)
	}
	servers.CountTokens(t, model, 18, 60, local, server.url(""))
}
