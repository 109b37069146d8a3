//go:build sglang && linux

package sglang

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/e2e/servers"
	"github.com/pintle-dev/pintle/internal/harness"
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
	w := servers.Writer{Rand: rand.New(rand.NewPCG(18, 0)), Model: model}
	for range 60 {
		api, body := w.Request()
		wantCounted(t, local, api, body)
	}
}

// wantCounted sends a request to the engine and wants as many tokens as it then says that its prompt has.
func wantCounted(t *testing.T, made *tokens.Pool, api string, body map[string]any) {
	t.Helper()
	path := completions
	if api == tokens.APIChat {
		path = chats
	}
	body["max_tokens"] = 1
	content, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := tokens.Read(api, content)
	if err != nil {
		t.Fatalf("%s: %v", content, err)
	}
	got, err := made.Tokens(t.Context(), prompt)
	if err != nil {
		t.Fatalf("%.500s: %v", content, err)
	}
	answer := harness.Send(t, direct, harness.Request(t, http.MethodPost, server.url(path), string(content), false))
	var said struct {
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(answer.Body), &said); err != nil || said.Usage.Prompt != len(got.Tokens) {
		t.Errorf("%.500s: got %d tokens, the engine says %d %.300s", content, len(got.Tokens), answer.Status, answer.Body)
	}
}
