//go:build vllm && linux

package vllm

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens"
	"github.com/pintle-dev/pintle/scoring"
)

// asked are model servers, with how often they were asked for.
type asked struct {
	servers []tokens.Server
	times   atomic.Int32
}

func (a *asked) For(string, int) []tokens.Server { a.times.Add(1); return a.servers }

// pieces are what prompts are made of: what tokenizers and templates may see otherwise than the engine.
var pieces = []string{
	"the", " quick", "Brown", "'s", "'LL", "1234567", "3.14", "!?", "a_b", "\"quoted\"", "\\n", "https://x.y/z?q=1",
	" ", "   ", "\n", "\n\n", "\r\n", "\t", "\u0000", "\u00a0", "\u200b", "\u2028", "\ufeff",
	"é", "e\u0301", "日本語", "👍🏽", "👩‍👩‍👧", "١٢٣", "ﬁ", "Ω", "Привет", "مرحبا", "नमस्ते", "ß", "İ", "ſ", "▁",
	"{{ x }}", "{% y %}", "<|user|>", "<|begin|>", "<|end|>", "<tool_call>", "</s>", "<b>&amp;</b>",
	"def f(x):\n    return x",
}

// writer makes requests of pieces.
type writer struct{ *rand.Rand }

func (w writer) text(most int) string {
	var b strings.Builder
	for range w.IntN(most) {
		b.WriteString(pieces[w.IntN(len(pieces))])
		if w.IntN(2) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func (w writer) content(most int) any {
	if w.IntN(4) > 0 {
		return w.text(most)
	}
	part := func(text string) any { return map[string]any{"type": "text", "text": text} }
	return []any{part(w.text(most)), part(w.text(9))}
}

// chat makes a chat of some turns, some of them with tools and calls of them.
func (w writer) chat() map[string]any {
	long := 12
	if w.IntN(20) == 0 {
		long = 600
	}
	var messages []any
	add := func(role string, content any, more map[string]any) {
		m := map[string]any{"role": role, "content": content}
		for key, value := range more {
			m[key] = value
		}
		messages = append(messages, m)
	}
	if w.IntN(2) == 0 {
		add([]string{"system", "developer"}[w.IntN(2)], w.content(long), nil)
	}
	for i := range 1 + w.IntN(4) {
		add("user", w.content(long), nil)
		if w.IntN(3) == 0 {
			id := fmt.Sprint("call", i)
			arguments, _ := json.Marshal(map[string]any{"b": w.text(5), "a": []any{1, 2.5, nil, w.IntN(9)}})
			add("assistant", nil, map[string]any{"tool_calls": []any{map[string]any{"type": "function", "id": id,
				"function": map[string]any{"name": "f", "arguments": string(arguments)}}}})
			add("tool", w.content(long), map[string]any{"tool_call_id": id})
		}
		if w.IntN(2) == 0 {
			add("assistant", w.content(long), nil)
		}
	}
	body := map[string]any{"model": model, "messages": messages}
	if w.IntN(3) == 0 {
		body["tools"] = []any{map[string]any{"type": "function", "function": map[string]any{"name": "f",
			"description": w.text(6), "parameters": map[string]any{"type": "object",
				"properties": map[string]any{"b": map[string]any{"type": "string"}, "a": map[string]any{}}}}}}
	}
	switch w.IntN(4) {
	case 0:
		body["add_generation_prompt"] = false
	case 1:
		if last := messages[len(messages)-1].(map[string]any); last["role"] == "assistant" {
			last["content"] = "I think " + w.text(6) + "so"
			body["continue_final_message"], body["add_generation_prompt"] = true, false
		}
	}
	return body
}

// request makes a chat or a completion.
func (w writer) request() (api string, body map[string]any) {
	if w.IntN(3) == 0 {
		return tokens.APICompletions, map[string]any{"model": model, "prompt": "p" + w.text(40)}
	}
	return tokens.APIChat, w.chat()
}

// TestTokens: the tokens that the sidecar makes by the files of the model are those that the engine makes, for 2,000
// chats and completions; none of them is left to the engine.
func TestTokens(t *testing.T) {
	nobody := &asked{}
	local := localPool(t, filepath.Join(home(), "model", "base", "tokenizer.json"), nobody)
	remote := newPool(t, &scoring.TokenBackend{Kind: scoring.TokensOfEngine, Workers: tokenClients},
		&asked{servers: []tokens.Server{{URL: "http://" + engines[0].address, Client: direct}}})
	engines[0].logOnFailure(t)
	compareTokens(t, 15, nobody, local, remote)
}

// tokenClients are how many compare prompts at a time.
const tokenClients = 4

// localPool makes tokens by a file, and those of chats by the template beside it.
func localPool(t *testing.T, file string, nobody *asked) *tokens.Pool {
	t.Helper()
	p := newPool(t, &scoring.TokenBackend{Kind: scoring.TokensLocal, Model: model, Workers: tokenClients,
		Files: []scoring.PreciseFile{{Model: model, Path: file}}}, nobody)
	if p.Note() != "" {
		t.Fatal(p.Note())
	}
	return p
}

func newPool(t *testing.T, c *scoring.TokenBackend, servers tokens.Servers) *tokens.Pool {
	t.Helper()
	p, err := tokens.NewPool(c, servers)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// compareTokens wants the same tokens from all for 2,000 chats and completions, and none of them left to nobody.
func compareTokens(t *testing.T, seed uint64, nobody *asked, local *tokens.Pool, others ...*tokens.Pool) {
	t.Helper()
	const requests = 2000
	var running sync.WaitGroup
	var made atomic.Int64
	for client := range uint64(tokenClients) {
		running.Go(func() {
			w := writer{rand.New(rand.NewPCG(client, seed))}
			for range requests / tokenClients {
				api, body := w.request()
				n := 0
				for _, other := range others {
					n = wantSameTokens(t, local, other, api, body)
				}
				made.Add(int64(n))
			}
		})
	}
	running.Wait()
	if n := nobody.times.Load(); n > 0 {
		t.Errorf("%d of %d prompts were left to the engine", n, requests)
	}
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
