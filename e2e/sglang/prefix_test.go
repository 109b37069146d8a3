//go:build sglang && linux

package sglang

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/e2e/servers"
	"github.com/pintle-dev/pintle/internal/harness"
)

// TestExactPrefixes: what the filter expects to be cached of conversations, through Envoy, is what the engine then says
// it has found, whoever makes the tokens, and for an adapter.
func TestExactPrefixes(t *testing.T) {
	for _, by := range []struct {
		name       string
		tokenizers map[string]any
		more       []map[string]any
	}{
		{"tokens of the engine", map[string]any{}, nil},
		{"tokens of files", map[string]any{"local": map[string]any{"modelTokenizerMap": map[string]any{
			model: filepath.Join(home(), "model", "base", "tokenizer.json")}}}, nil},
		{"tokens of the engine, salted", map[string]any{}, []map[string]any{servers.Salting()}},
	} {
		t.Run(by.name, func(t *testing.T) {
			server.post(t, "/flush_cache", "")
			g := open(t, by.tokenizers, by.more...)
			l := servers.Listen(t, server.address, model)
			for _, name := range []string{model, model + ":" + adapterName} {
				converse(t, g, l, name)
			}
		})
	}
}

// converse has some turns, of which each but the first finds the one before it in the cache.
func converse(t *testing.T, g *gateway, l *servers.Listening, name string) {
	t.Helper()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages := []message{{"system", servers.Words("system", 100)}}
	for turn := range 4 {
		messages = append(messages, message{"user", servers.Words(fmt.Sprint("turn", turn), 40)})
		body, err := json.Marshal(map[string]any{"model": name, "messages": messages, "max_tokens": 5})
		if err != nil {
			t.Fatal(err)
		}
		l.Settle()
		got := harness.Send(t, direct, harness.Request(t, http.MethodPost, g.URL("requests", chats), string(body),
			false))
		var answer struct {
			Choices []struct{ Message message }
			Usage   struct {
				Prompt  int `json:"prompt_tokens"`
				Details struct {
					Cached int `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			}
		}
		if err := json.Unmarshal([]byte(got.Body), &answer); err != nil || got.Status != http.StatusOK {
			t.Fatalf("turn %d of %s: got %d %s, %v", turn, name, got.Status, got.Body, err)
		}
		tokens, blocks := expected(t, got.Header.Get("X-Pintle-Explain"))
		cached := answer.Usage.Details.Cached
		t.Logf("%s: turn %d has %d tokens, %d expected to be cached, %d were", name, turn, tokens, blocks*pageTokens,
			cached)
		if tokens != answer.Usage.Prompt || blocks*pageTokens != cached || (cached > 0) != (turn > 0) {
			t.Errorf("%s, turn %d: got %d tokens of which %d are cached; the engine has %d and found %d, some but in "+
				"the first turn", name, turn, tokens, blocks*pageTokens, answer.Usage.Prompt, cached)
		}
		messages = append(messages, message{"assistant", answer.Choices[0].Message.Content})
	}
}

// expected is what the filter says of a prompt: its tokens, and how many of its blocks the engine has.
func expected(t *testing.T, explained string) (tokens, blocks int) {
	t.Helper()
	var said struct {
		Prefix struct {
			State   string
			Tokens  int
			Matched [][]any
		}
	}
	if err := json.NewDecoder(strings.NewReader(explained)).Decode(&said); err != nil || said.Prefix.State != "known" {
		t.Fatalf("the filter says %q, %v; want a known prefix", explained, err)
	}
	if len(said.Prefix.Matched) > 0 {
		if n, ok := said.Prefix.Matched[0][1].(float64); ok {
			blocks = int(n)
		}
	}
	return said.Prefix.Tokens, blocks
}
