package tokens

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/scoring"
)

// TestSGLangIsAsked: SGLang gets a chat as its client wrote it, but for what its answers do not heed, and a text
// without what only vLLM knows.
func TestSGLangIsAsked(t *testing.T) {
	for _, tc := range []struct {
		name, api, body string
		want            map[string]any
	}{
		{"a chat", APIChat, `{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[1],"tool_choice":"none",
			"reasoning_effort":"low","documents":[2],"add_generation_prompt":false,"add_special_tokens":true,
			"prompt":"b","stream":true,"stream_options":{}}`,
			map[string]any{"model": "m", "messages": []any{map[string]any{"role": "user", "content": "a"}},
				"tools": []any{1.0}, "tool_choice": "none", "reasoning_effort": "low", "documents": []any{2.0}}},
		{"a text", APICompletions, `{"model":"m","prompt":"a","add_special_tokens":false}`,
			map[string]any{"model": "m", "prompt": "a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := newServer(t, 200, `{"tokens":[7]}`)
			all := serversOf(server)
			all[0].SGLang = true
			p, err := Read(tc.api, []byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			got, err := (&engines{servers: all}).Tokens(t.Context(), p)
			if err != nil || !slices.Equal(got.Tokens, []uint32{7}) || !reflect.DeepEqual(server.asked[0], tc.want) {
				t.Errorf("got %v and %v for %v, want 7 for %v", got.Tokens, err, server.asked, tc.want)
			}
		})
	}
}

// TestSGLangRenders: where an SGLang serves the model, chats that it renders in ways of its own are left to it.
func TestSGLangRenders(t *testing.T) {
	dir := t.TempDir()
	file, err := os.ReadFile("bpe/testdata/llama3.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"tokenizer.json": string(file), "tokenizer_config.json": `{"bos_token":` +
		`"<|begin|>","chat_template":"{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(t.TempDir(), "s")
	startService(t, "unix", socket)
	vllm, sglang := newServer(t, 200, `{"tokens":[7]}`), newServer(t, 200, `{"tokens":[7]}`)
	const user = `{"role":"user","content":"a"}`
	for _, tc := range []struct {
		name, api, body string
		left            bool
	}{
		{"a text", APICompletions, `{"prompt":"a"}`, false},
		{"a chat", APIChat, `{"messages":[{"role":"system","content":"a"},` + user + `]}`, false},
		{"turns", APIChat, `{"messages":[` + user + `,{"role":"assistant","content":"a"},` + user + `]}`, false},
		{"values", APIChat, `{"messages":[` + user + `],"chat_template_kwargs":{"enable_thinking":false}}`, false},
		{"tools", APIChat, `{"messages":[` + user + `],"tools":[{"type":"function","function":{"name":"f"}}]}`, true},
		{"documents", APIChat, `{"messages":[` + user + `],"documents":[{"text":"a"}]}`, true},
		{"effort", APIChat, `{"messages":[` + user + `],"reasoning_effort":"low"}`, true},
		{"reasoning", APIChat, `{"messages":[` + user + `],"reasoning":{"effort":"none"}}`, true},
		{"a task", APIChat, `{"messages":[` + user + `],"task":"title"}`, true},
		{"tokens beside it", APIChat, `{"messages":[` + user + `],"input_ids":[1]}`, true},
		{"none of these", APIChat, `{"messages":[` + user + `],"reasoning":null,"task":null,"input_ids":null}`, false},
		{"no generation prompt", APIChat, `{"messages":[` + user + `],"add_generation_prompt":false}`, true},
		{"a developer", APIChat, `{"messages":[{"role":"developer","content":"a"},` + user + `]}`, true},
		{"parts", APIChat, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`, true},
		{"no content", APIChat, `{"messages":[{"role":"assistant","content":null},` + user + `]}`, true},
		{"further keys", APIChat, `{"messages":[{"role":"user","content":"a","reasoning":"b"}]}`, true},
		{"an end with an assistant", APIChat, `{"messages":[` + user + `,{"role":"assistant","content":"a"}]}`, true},
		{"an assistant that goes on", APIChat, `{"messages":[{"role":"assistant","content":"a"}],
			"continue_final_message":true,"add_generation_prompt":false}`, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, kind := range []scoring.TokenKind{scoring.TokensLocal, scoring.TokensOfService} {
				for _, server := range []*server{vllm, sglang} {
					server.asked = nil
					all := serversOf(server)
					all[0].SGLang = server == sglang
					pool, err := NewPool(&scoring.TokenBackend{Kind: kind, Model: "m", Workers: 1, Socket: socket,
						Files: []scoring.PreciseFile{{Model: "m", Path: filepath.Join(dir, "tokenizer.json")}}}, all)
					if err != nil {
						t.Fatal(err)
					}
					p, err := Read(tc.api, []byte(tc.body))
					if err != nil {
						t.Fatal(err)
					}
					_, err = pool.Tokens(t.Context(), p)
					if err != nil || server == sglang && (len(server.asked) == 1) != tc.left {
						t.Errorf("kind %d, SGLang %v: asked %v, %v; want left to it: %v", kind, server == sglang,
							server.asked, err, tc.left)
					}
				}
			}
		})
	}
}
