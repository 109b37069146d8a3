package tokens

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens/bpe"
)

// fileModel is a model's own configuration.
const fileModel = "config.json"

// checkClass refuses a tokenizer.json of which the engine takes the vocabulary alone. Llama's tokenizers of
// transformers 5 bring rules for spaces of their own, whatever the file says, and models of type llama get them by
// their names.
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
	if model.Type != "llama" || class != "LlamaTokenizer" && class != "CodeLlamaTokenizer" {
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

// readJSON reads what there is. What cannot be read says nothing.
func readJSON(path string, to any) {
	if content, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(content, to)
	}
}
