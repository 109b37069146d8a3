package tokens

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens/bpe"
)

// fileModel is a model's own configuration.
const fileModel = "config.json"

// byClass are types of models that get Llama's tokenizers by their names. Mistral's, for one, get what the file says.
var byClass = []string{"llama", "qwen2_moe", "qwen3", "qwen3_moe", "qwen3_next"}

// checkClass refuses a tokenizer.json of which the engine takes the vocabulary alone. Llama's tokenizers of
// transformers 5 bring rules for spaces of their own, whatever the file says.
func checkClass(dir string, tokenizer []byte) error {
	var said struct {
		Class  string `json:"tokenizer_class"`
		Legacy bool   `json:"legacy"`
		Prefix *bool  `json:"add_prefix_space"`
	}
	var model struct {
		Type string `json:"model_type"`
	}
	readJSON(filepath.Join(dir, fileConfig), &said)
	readJSON(filepath.Join(dir, fileModel), &model)
	class := strings.TrimSuffix(said.Class, "Fast")
	if !slices.Contains(byClass, model.Type) || class != "LlamaTokenizer" && class != "CodeLlamaTokenizer" {
		return nil
	}
	scheme := "first"
	switch {
	case said.Prefix != nil && !*said.Prefix:
		scheme = "never"
	case said.Legacy && class == "LlamaTokenizer":
		scheme = "always"
	}
	if bpe.Blanks(tokenizer) == scheme {
		return nil
	}
	return fmt.Errorf("tokenizer_class: %q in %s has newer engines treat spaces otherwise than this file", said.Class,
		fileConfig)
}

// addedToken is one of added_tokens in a tokenizer.json, or of added_tokens_decoder in a tokenizer_config.json.
type addedToken struct {
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	Left       bool   `json:"lstrip"`
	Right      bool   `json:"rstrip"`
	Special    bool   `json:"special"`
	Normalized *bool  `json:"normalized"`
}

// like reports whether two tokens are found in the same texts.
func (a *addedToken) like(b *addedToken) bool {
	normalized := func(t *addedToken) bool {
		if t.Normalized == nil {
			return !t.Special
		}
		return *t.Normalized
	}
	return a.SingleWord == b.SingleWord && a.Left == b.Left && a.Right == b.Right && normalized(a) == normalized(b)
}

// checkAdded refuses a tokenizer.json whose added tokens are not those that the configuration beside it tells of:
// engines add them as they stand there.
func checkAdded(dir string, tokenizer []byte) error {
	var said struct {
		Added map[string]addedToken `json:"added_tokens_decoder"`
		Split bool                  `json:"split_special_tokens"`
	}
	readJSON(filepath.Join(dir, fileConfig), &said)
	if said.Split {
		return fmt.Errorf("split_special_tokens: true in %s is not known here", fileConfig)
	}
	if len(said.Added) == 0 {
		return nil
	}
	var file struct {
		Added []addedToken `json:"added_tokens"`
	}
	if err := json.Unmarshal(tokenizer, &file); err != nil {
		return err
	}
	known := map[string]*addedToken{}
	for i := range file.Added {
		known[file.Added[i].Content] = &file.Added[i]
	}
	for _, id := range slices.Sorted(maps.Keys(said.Added)) {
		a := said.Added[id]
		if b := known[a.Content]; b == nil || !b.like(&a) {
			return fmt.Errorf("added_tokens: %q is not as added_tokens_decoder in %s has it, by which engines go",
				a.Content, fileConfig)
		}
	}
	return nil
}

// missing returns the tokens that the configuration beside a tokenizer.json names and the file does not have: engines
// add them, wherever they are in a text.
func missing(dir string, tokenizer []byte) (tokens []string) {
	var file struct {
		Added []addedToken `json:"added_tokens"`
	}
	var said map[string]json.RawMessage
	_ = json.Unmarshal(tokenizer, &file)
	readJSON(filepath.Join(dir, fileConfig), &said)
	add := func(raw json.RawMessage) {
		var token addedToken
		if json.Unmarshal(raw, &token.Content) != nil {
			_ = json.Unmarshal(raw, &token)
		}
		has := func(a addedToken) bool { return a.Content == token.Content }
		if token.Content != "" && !slices.ContainsFunc(file.Added, has) {
			tokens = append(tokens, token.Content)
		}
	}
	for key, raw := range said {
		var list []json.RawMessage
		var named map[string]json.RawMessage
		switch {
		case strings.HasSuffix(key, "_token"):
			add(raw)
		case !strings.HasSuffix(key, "_special_tokens"):
		case json.Unmarshal(raw, &list) == nil:
			for _, token := range list {
				add(token)
			}
		case json.Unmarshal(raw, &named) == nil:
			for _, token := range named {
				add(token)
			}
		}
	}
	return tokens
}

// readJSON reads what there is. What cannot be read says nothing.
func readJSON(path string, to any) {
	if content, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(content, to)
	}
}
