package tokens

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClass: a file is refused where engines make a tokenizer with other rules for spaces of it. What they make was
// compared for each case with transformers 5.19.
func TestClass(t *testing.T) {
	const llama = `{"model_type":"llama"}`
	for _, tc := range []struct {
		name, file, config, model string
		refused                   bool
	}{
		{"rules of the file's own", "spm", `{"tokenizer_class":"LlamaTokenizer","legacy":false}`, llama, true},
		{"by the older name", "spm", `{"tokenizer_class":"LlamaTokenizerFast"}`, llama, true},
		{"Code Llama's", "spm", `{"tokenizer_class":"CodeLlamaTokenizer"}`, llama, true},
		{"bytes", "llama3", `{"tokenizer_class":"LlamaTokenizerFast"}`, llama, true},
		{"Qwen 3's vocabulary in Llama's class", "qwen", `{"tokenizer_class":"LlamaTokenizerFast"}`,
			`{"model_type":"qwen3"}`, true},
		{"Qwen 3's own class", "qwen", `{"tokenizer_class":"Qwen2Tokenizer"}`, `{"model_type":"qwen3"}`, false},
		{"Qwen 2, which is never in Llama's class", "qwen", `{"tokenizer_class":"LlamaTokenizerFast"}`,
			`{"model_type":"qwen2"}`, false},
		{"a class that reads the file", "llama3", `{"tokenizer_class":"PreTrainedTokenizerFast"}`, llama, false},
		{"a model that reads the file", "spm", `{"tokenizer_class":"LlamaTokenizer"}`, `{"model_type":"mistral"}`, false},
		{"nothing is said", "spm", "", "", false},
		{"the same rules", "metaspace whole", `{"tokenizer_class":"LlamaTokenizer","legacy":false}`, llama, false},
		{"the older rules", "metaspace whole", `{"tokenizer_class":"LlamaTokenizer","legacy":true}`, llama, true},
		{"no space in front", "metaspace whole", `{"tokenizer_class":"LlamaTokenizer","add_prefix_space":false}`, llama, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			file, err := os.ReadFile("bpe/testdata/" + strings.TrimSuffix(tc.file, " whole") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			text := string(file)
			if strings.HasSuffix(tc.file, " whole") {
				text = strings.Replace(text, `"split":true`, `"split":false`, 1)
			}
			for name, content := range map[string]string{"tokenizer.json": text,
				"tokenizer_config.json": tc.config, "config.json": tc.model} {
				if content == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err = openLocal(filepath.Join(dir, "tokenizer.json"), fixed{})
			if (err != nil) != tc.refused || err != nil && !strings.Contains(err.Error(), "tokenizer_class") {
				t.Errorf("got %v, want refused: %v", err, tc.refused)
			}
		})
	}
}

// TestAddedOfConfig: a file is refused where engines find added tokens otherwise by what lies beside it. What they make
// of each case was looked up in transformers 5.19.
func TestAddedOfConfig(t *testing.T) {
	const (
		end   = `{"content":"<|end|>","lstrip":false,"rstrip":false,"normalized":false,"single_word":false,"special":true}`
		known = `{"added_tokens_decoder":{"1":` + end + `}}`
		added = `added_tokens: "<|end|>" is not as added_tokens_decoder in tokenizer_config.json has it`
	)
	for _, tc := range []struct{ name, old, new, want string }{
		{"as the file has it", "", "", ""},
		{"what is usual is not said", end, `{"content":"<|end|>","special":true}`, ""},
		{"no special one", `"special":true`, `"special":false`, ""},
		{"none is told of", known, `{}`, ""},
		{"no JSON", known, `{`, ""},
		{"one that takes what is before it", `"lstrip":false`, `"lstrip":true`, added},
		{"one that takes what is behind it", `"rstrip":false`, `"rstrip":true`, added},
		{"one that is normalized", `"normalized":false`, `"normalized":true`, added},
		{"one that would be normalized", end, `{"content":"<|end|>"}`, added},
		{"one that is a word of its own", `"single_word":false`, `"single_word":true`, added},
		{"one that the file does not have", "<|end|>", "<|stop|>", `added_tokens: "<|stop|>" is not as`},
		{"one more", end, end + `,"901":{"content":"hi"}`, `added_tokens: "hi" is not as`},
		{"none is heeded", `{"added`, `{"split_special_tokens":true,"added`, "split_special_tokens: true in"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file, err := os.ReadFile("bpe/testdata/gpt2.json")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for name, content := range map[string]string{"tokenizer.json": string(file),
				"tokenizer_config.json": strings.Replace(known, tc.old, tc.new, 1)} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err = openLocal(filepath.Join(dir, "tokenizer.json"), fixed{})
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestMissingTokens: texts with a token that engines add to the file, as the configuration beside it names it, are left
// to the model servers, and so are chats whose template writes one. What they make of each case was looked at with
// transformers 5.19.
func TestMissingTokens(t *testing.T) {
	const template = `,"chat_template":"{% for m in messages %}{{ m.content }}<|stop|>{% endfor %}"}`
	file, err := os.ReadFile("bpe/testdata/llama3.json")
	if err != nil {
		t.Fatal(err)
	}
	engine := newServer(t, 200, `{"tokens":[7]}`)
	const stop, chat = `{"prompt":"a<|stop|>b"}`, `{"messages":[{"role":"user","content":"a"}]}`
	for _, tc := range []struct {
		name, config, api, body string
		left                    bool
	}{
		{"named", `{"eos_token":"<|stop|>"}`, APICompletions, stop, true},
		{"named with more", `{"eos_token":{"content":"<|stop|>","lstrip":false}}`, APICompletions, stop, true},
		{"by another name", `{"stop_token":"<|stop|>"}`, APICompletions, stop, true},
		{"of a list", `{"additional_special_tokens":["<|end|>","<|stop|>"]}`, APICompletions, stop, true},
		{"of a list with more", `{"extra_special_tokens":[{"content":"<|stop|>"}]}`, APICompletions, stop, true},
		{"of names", `{"extra_special_tokens":{"stop":"<|stop|>"}}`, APICompletions, stop, true},
		{"not in the text", `{"eos_token":"<|stop|>"}`, APICompletions, `{"prompt":"a stop"}`, false},
		{"that the file has", `{"eos_token":"<|end|>","pad_token":null}`, APICompletions, `{"prompt":"a<|end|>"}`, false},
		{"nothing is named", `{"add_bos_token":true}`, APICompletions, stop, false},
		{"of a chat", `{"eos_token":"<|stop|>"` + template, APIChat, chat, true},
		{"that no chat names", `{"eos_token":"<|end|>"` + template, APIChat, chat, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range map[string]string{fileTokenizer: string(file), fileConfig: tc.config} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			l, err := openLocal(filepath.Join(dir, fileTokenizer), serversOf(engine))
			if err != nil {
				t.Fatal(err)
			}
			p, err := Read(tc.api, []byte(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			engine.asked = nil
			if _, err := l.Tokens(t.Context(), p); err != nil || (len(engine.asked) == 1) != tc.left {
				t.Errorf("asked %v, %v, want left to the model servers: %v", engine.asked, err, tc.left)
			}
		})
	}
}
