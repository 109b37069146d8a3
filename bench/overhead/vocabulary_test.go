package main

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens/bpe"
)

// TestVocabulary: what is learnt of words is a tokenizer, which knows the frequent ones whole.
func TestVocabulary(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	words := newLanguage(random, 2000)
	path, err := words.train(3000).write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tokenizer, err := bpe.New(content)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range words.words[:100] {
		if ids, err := tokenizer.Encode(nil, " "+word, false); err != nil || len(ids) != 1 {
			t.Errorf("%q: got %v, %v, want one token", word, ids, err)
		}
	}
	text := words.text(random, 10_000)
	ids, err := tokenizer.Encode(nil, text, false)
	if each := float64(len(text)) / float64(len(ids)); err != nil || len(text) != 10_000 || each < 2 || each > 8 {
		t.Errorf("%d bytes, %.1f to a token, %v", len(text), each, err)
	}
}
