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
