package servers

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/harness"
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

// readRequest reads a request as the sidecar does; the prompt is nil after a mistake.
func readRequest(t *testing.T, api string, body map[string]any) (content []byte, prompt *tokens.Prompt) {
	t.Helper()
	content, err := json.Marshal(body)
	if err == nil {
		prompt, err = tokens.Read(api, content)
	}
	if err != nil {
		t.Errorf("%v: %v", body, err)
		return nil, nil
	}
	return content, prompt
}

// wantSameTokens compares what two make of a request and returns how many tokens that are.
func wantSameTokens(t *testing.T, local, remote *tokens.Pool, api string, body map[string]any) int {
	content, prompt := readRequest(t, api, body)
	if prompt == nil {
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

// counting is the client of requests that are answered, on a machine that may be busy.
var counting = &http.Client{Timeout: time.Minute}

// CountTokens has an engine answer so many chats and completions, and wants as many tokens of each as the engine says
// that its prompt has.
func CountTokens(t *testing.T, model string, seed uint64, requests int, made *tokens.Pool, url string) {
	t.Helper()
	w := Writer{rand.New(rand.NewPCG(seed, 0)), model}
	for range requests {
		api, body := w.Request()
		wantCounted(t, made, url, api, body)
	}
}

// wantCounted sends a request to an engine and wants as many tokens as it then says that its prompt has.
func wantCounted(t *testing.T, made *tokens.Pool, url, api string, body map[string]any) {
	t.Helper()
	path := "/v1/completions"
	if api == tokens.APIChat {
		path = "/v1/chat/completions"
	}
	body["max_tokens"] = 1
	content, prompt := readRequest(t, api, body)
	if prompt == nil {
		return
	}
	got, err := made.Tokens(t.Context(), prompt)
	if err != nil {
		t.Fatalf("%.500s: %v", content, err)
	}
	answer := harness.Send(t, counting, harness.Request(t, http.MethodPost, url+path, string(content), false))
	var said struct {
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(answer.Body), &said); err != nil || said.Usage.Prompt != len(got.Tokens) {
		t.Errorf("%.500s: got %d tokens, the engine says %d %.300s", content, len(got.Tokens), answer.Status,
			answer.Body)
	}
}
