package bpe

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// families are tokenizers that the library of Hugging Face has made, by the file of what it makes of strings.
var families = map[string][]string{
	"encoded.json": {"gpt2", "llama3", "qwen", "o200k"},
	// See testdata/sentencepiece.py.
	"sentencepiece.json": {"spm", "gemma", "metaspace", "unigram", "unigram_bytes"},
}

func open(t testing.TB, family string) *Tokenizer {
	content, err := os.ReadFile("testdata/" + family + ".json")
	if err != nil {
		t.Fatal(err)
	}
	tokenizer, err := New(content)
	if err != nil {
		t.Fatalf("%s: %v", family, err)
	}
	return tokenizer
}

func hashOf(ids []uint32) string {
	h := fnv.New64a()
	for _, id := range ids {
		_, _ = h.Write(binary.LittleEndian.AppendUint32(nil, id))
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// TestAsTheLibrary: tokens are those of the library: words, numbers, signs, whitespace, scripts, added tokens.
func TestAsTheLibrary(t *testing.T) {
	for file, names := range families {
		content, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var all map[string]json.RawMessage
		var texts []string
		if json.Unmarshal(content, &all) != nil || json.Unmarshal(all["strings"], &texts) != nil || len(texts) < 300 {
			t.Fatal("no testdata")
		}
		for _, family := range names {
			var want [][2]any // how many with special tokens, the hash of those without
			if err := json.Unmarshal(all[family], &want); err != nil {
				t.Fatal(err)
			}
			tokenizer := open(t, family)
			for range 2 { // the second time from memory
				for i, text := range texts {
					got, err := tokenizer.Encode(nil, text, false)
					special, _ := tokenizer.Encode(nil, text, true)
					if err != nil || hashOf(got) != want[i][1] || float64(len(special)) != want[i][0] {
						t.Errorf("%s: %q: got %v, %d with special tokens, want %v", family, text, got, len(special),
							want[i])
					}
				}
			}
		}
	}
}

// TestLongRowsOfMarks: where the library normalizes otherwise, there are no tokens rather than wrong ones.
func TestLongRowsOfMarks(t *testing.T) {
	tokenizer := open(t, "qwen") // which normalizes by NFC
	for _, tc := range []struct {
		name, text string
		refused    bool
	}{
		{"30 in a row", "a" + strings.Repeat("\u0300", 30), false},
		{"40 in a row", "a" + strings.Repeat("\u0300", 40) + "b", true},
		{"the joiner itself", "a\u034fb", false},
		{"40 behind an added token", "x<|im_start|>" + strings.Repeat("\u0300", 40), true},
	} {
		got, err := tokenizer.Encode(nil, tc.text, false)
		if (err != nil) != tc.refused {
			t.Errorf("%s: got %v and %v, want refused: %v", tc.name, got, err, tc.refused)
		}
	}
	if _, err := open(t, "llama3").Encode(nil, strings.Repeat("\u0300", 40), false); err != nil {
		t.Errorf("without a normalizer: %v", err)
	}
}

// eachFamily calls do with every tokenizer.
func eachFamily(do func(family string)) {
	for _, names := range families {
		for _, family := range names {
			do(family)
		}
	}
}

// pieces are what texts are made of whose beginnings are known.
var pieces = []string{"word", " Word", "'s", "'", "1", "22", " ", "  ", "\n", "\r\n", "\t", "!", "...", "/", "é",
	"日", "\u0301", "\u00a0", "\u3000", "<|im_start|>", "x", "ABC", "\u2581", "<mark>"}

// TestBeginningsAreKnown: what is remembered of beginnings changes no token, wherever texts part.
func TestBeginningsAreKnown(t *testing.T) {
	eachFamily(func(family string) {
		warm, cold := open(t, family), open(t, family)
		cold.seen.most = 0
		state := uint32(1)
		next := func(n int) int {
			state = state*1664525 + 1013904223
			return int(state>>8) % n
		}
		base, rounds := "", 300
		if warm.prepare != nil {
			rounds = 60
		}
		for range rounds {
			if next(4) == 0 || len(base) > 8000 {
				base = base[:next(len(base)/2+1)]
				base = strings.ToValidUTF8(base, "")
			}
			for range next(400) {
				base += pieces[next(len(pieces))]
			}
			got, err := warm.Encode(nil, base, false)
			if err != nil {
				t.Fatal(err)
			}
			if want, _ := cold.Encode(nil, base, false); !slices.Equal(got, want) {
				t.Fatalf("%s: %q: from memory other tokens", family, base)
			}
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	tokenizer := open(t, "llama3")
	var tasks sync.WaitGroup
	for i := range 8 {
		tasks.Go(func() {
			text := strings.Repeat(fmt.Sprint("one of the texts ", i%3, "\n"), 500)
			want, _ := open(t, "llama3").Encode(nil, text, true)
			for range 20 {
				if got, _ := tokenizer.Encode(nil, text, true); !slices.Equal(got, want) {
					t.Error("other tokens")
				}
			}
		})
	}
	tasks.Wait()
}

// TestUnknownFiles: what is not known is refused, not passed over.
func TestUnknownFiles(t *testing.T) {
	const isolated = `"behavior":"Isolated"`
	for _, tc := range []struct{ name, family, old, new, want string }{
		{"a model", "gpt2", `"type":"BPE"`, `"type":"WordPiece"`, "model.type"},
		{"no scores", "gpt2", `"type":"BPE"`, `"type":"Unigram"`, "model.vocab"},
		{"dropout", "gpt2", `"dropout":null`, `"dropout":0.1`, "model.dropout"},
		{"a suffix", "gpt2", `"end_of_word_suffix":null`, `"end_of_word_suffix":"</w>"`, "end_of_word_suffix"},
		{"a prefix", "gpt2", `"continuing_subword_prefix":null`, `"continuing_subword_prefix":"##"`,
			"continuing_subword_prefix"},
		{"byte fallback", "gpt2", `"byte_fallback":false`, `"byte_fallback":true`, "byte_fallback"},
		{"a normalizer", "gpt2", `"normalizer":null`, `"normalizer":{"type":"Lowercase"}`, "normalizer.type"},
		{"a space in front", "gpt2", `"add_prefix_space":false`, `"add_prefix_space":true`, "pre_tokenizer"},
		{"another pre-tokenizer", "gpt2", `"pre_tokenizer":{"type":"ByteLevel"`, `"pre_tokenizer":{"type":"Whitespace"`,
			"pre_tokenizer"},
		{"no pattern", "gpt2", `"use_regex":true`, `"use_regex":false`, "pre_tokenizer"},
		{"an added token that is a word", "gpt2", `"single_word":false`, `"single_word":true`, "added_tokens"},
		{"an added token that is normalized", "qwen", `"content":"<tool_call>"`, `"content":"e\u0301"`,
			"is normalized, which is not known here"},
		{"an added token with an id that others precede", "gpt2", `"id":900,`, `"id":901,`,
			`added_tokens: "<tool_call>" has the id 901, and the model servers take it for 900`},
		{"an added token of the vocabulary with another id", "gpt2", `"id":1,`, `"id":900,`,
			`added_tokens: "<|end|>" has the id 900, and the model servers take it for 1`},
		{"a post-processor", "gpt2", `"post_processor":null`, `"post_processor":{"type":"BertProcessing"}`,
			"post_processor"},
		{"no JSON", "gpt2", `{`, `[`, "no tokenizer.json"},
		{"a byte without a token", "gpt2", `"!":`, `"!!!!!!!!!":`, `is not of the vocabulary`},
		{"another pattern", "llama3", `"Regex":"`, `"Regex":"x`, "pre_tokenizer.pattern: "},
		{"two patterns", "llama3", `"use_regex":false`, `"use_regex":true`, "pre_tokenizer: splits twice"},
		{"a pattern's matches removed", "llama3", isolated, `"behavior":"Removed"`, "pre_tokenizer: Split as it is there"},
		{"what a pattern does not match", "llama3", `"invert":false`, `"invert":true`,
			"pre_tokenizer: Split as it is there"},
		{"a template of two texts", "spm", `"single":[`, `"single":[{"Sequence":{"id":"A"}},`, "post_processor.single"},
		{"a template with an unknown token", "spm", `"single":[{"SpecialToken":{"id":"<s>"`,
			`"single":[{"SpecialToken":{"id":"<x>"`, "post_processor.single"},
		{"no token for a byte", "spm", `"<0x41>":`, `"<0x41)":`, "model.vocab: has no <0x41>"},
		{"another pre-tokenizer of characters", "metaspace", `"type":"Metaspace"`, `"type":"Whitespace"`,
			"pre_tokenizer: Whitespace as it is there"},
		{"another scheme", "metaspace", `"prepend_scheme":"first"`, `"prepend_scheme":"last"`,
			"pre_tokenizer: Metaspace as it is there"},
		{"another blank", "metaspace", `"replacement":"▁"`, `"replacement":"_"`,
			"pre_tokenizer: Metaspace as it is there"},
		{"an unknown one that is not there", "metaspace", `"unk_token":"<unk>"`, `"unk_token":"<x>"`,
			`model.unk_token: "<x>" is not of the vocabulary`},
		{"no unknown one", "metaspace", `"unk_token":"<unk>"`, `"unk_token":null`, "model.unk_token: is missing"},
		{"no unknown one among scores", "unigram", `"unk_id":0`, `"unk_id":null`, "model.unk_id: is missing"},
		{"one below", "unigram", `"unk_id":0`, `"unk_id":-1`, "model.unk_id: is missing"},
		{"one beyond", "unigram", `"unk_id":0`, `"unk_id":100000`, "model.unk_id: is missing"},
		{"no score", "unigram", `["<s>",0.0]`, `["<s>","0"]`, "model.vocab[1]: is no text with its score"},
		{"a text twice", "unigram", `["<s>",0.0]`, `["<unk>",0.0]`, `model.vocab[1]: "<unk>" is there twice, or empty`},
		{"an empty text", "unigram", `["<s>",0.0]`, `["",0.0]`, `model.vocab[1]: "" is there twice, or empty`},
		{"scores of bytes without one", "unigram_bytes", `["<0x41>",`, `["<0x41)",`, "model.vocab: has no <0x41>"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			good, err := os.ReadFile("testdata/" + tc.family + ".json")
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(good), tc.old, tc.new, 1)
			if changed == string(good) {
				t.Fatal("nothing to change")
			}
			if _, err := New([]byte(changed)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := open(t, "gpt2").Encode(nil, "\xff", false); err == nil {
		t.Error("no error for what is no text")
	}
}

func FuzzEncode(f *testing.F) {
	tokenizers := map[string]*Tokenizer{}
	eachFamily(func(family string) { tokenizers[family] = open(f, family) })
	for _, text := range []string{"a b", " \n x", "'s don't", "123 4", "日本\u0301"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for family, tokenizer := range tokenizers {
			ids, err := tokenizer.Encode(nil, text, false)
			if err == nil && tokenizer.normal == nil && tokenizer.prepare == nil && decode(tokenizer, ids) != text {
				t.Errorf("%s: %q: other text from %v", family, text, ids)
			}
		}
	})
}

// decode returns the text of tokens.
func decode(t *Tokenizer, ids []uint32) string {
	texts := map[uint32]string{}
	for text, id := range t.vocabulary {
		texts[id] = text
	}
	for _, a := range append(slices.Clone(t.early.sorted), t.late.sorted...) {
		texts[a.id] = a.text
	}
	out := ""
	for _, id := range ids {
		out += texts[id]
	}
	return out
}

func BenchmarkEncode(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, again and again; 12 times.\n", 230)
	for _, known := range []bool{true, false} {
		b.Run(map[bool]string{true: "known", false: "unknown"}[known], func(b *testing.B) {
			tokenizer := open(b, "llama3")
			b.SetBytes(int64(len(text)))
			for i := 0; b.Loop(); i++ {
				asked := text
				if !known {
					asked = fmt.Sprint(i, text)
				}
				if _, err := tokenizer.Encode(nil, asked, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestMerges: what was put is found, in a table as full as it may be, and nothing else.
func TestMerges(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 1000, 4095, 4096} {
		m := newMerges(n)
		for i := range uint32(n) {
			m.put(i, i*i, merged{i, i + 1})
		}
		for i := range uint32(n) {
			if got, ok := m.get(i, i*i); !ok || got != (merged{i, i + 1}) {
				t.Fatalf("%d: got %v, %v", n, got, ok)
			}
			if got, ok := m.get(i, i*i+1); ok {
				t.Fatalf("%d: got %v for a pair that is not there", n, got)
			}
		}
	}
	if _, ok := (&merges{}).get(1, 2); ok {
		t.Error("found in nothing")
	}
}
