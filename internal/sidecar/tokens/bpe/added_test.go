package bpe

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLongestAdded: of the tokens that a text begins with the longest counts, and of two that are equal the first.
func TestLongestAdded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		text := ""
		for range 1 + random.IntN(5) {
			text += string("ab\xff"[random.IntN(3)])
		}
		return text
	}
	for range 200 {
		var a added
		texts := map[string]uint32{}
		for id := range uint32(random.IntN(30)) {
			text := word()
			a.add(addedToken{Content: text, ID: id})
			if _, known := texts[text]; !known {
				texts[text] = id
			}
		}
		for range 30 {
			text, want := word(), ""
			for begin := range texts {
				if strings.HasPrefix(text, begin) && len(begin) > len(want) {
					want = begin
				}
			}
			got := addedText{}
			if found := a.longest(text); found != nil {
				got = *found
			}
			if got.text != want || got.id != texts[want] {
				t.Fatalf("%q of %v: got %q with %d, want %q with %d", text, texts, got.text, got.id, want, texts[want])
			}
		}
	}
}

// TestAddedAsTheLibrary: where added tokens overlap those are found that the library finds.
func TestAddedAsTheLibrary(t *testing.T) {
	content, err := os.ReadFile("testdata/gpt2.json") // which normalizes nothing
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, added, text string
		want              []uint32
	}{
		{"one that is normalized, before one that is not",
			`[{"id":900,"content":"<bc>"},{"id":901,"content":"<a<","normalized":true}]`, "x<a<bc>y",
			[]uint32{92, 32, 69, 900, 93}},
		{"one that is whitespace, behind one that takes it",
			`[{"id":900,"content":"<e>","rstrip":true},{"id":901,"content":"\n\n"}]`, "x<e> \n\n y",
			[]uint32{92, 900, 901, 225, 93}},
		{"the same at the end", `[{"id":900,"content":"<e>","rstrip":true},{"id":901,"content":"\n\n"}]`, "x<e> \n\n",
			[]uint32{92, 900, 901}},
		{"one that would take what was taken",
			`[{"id":900,"content":"<e>","rstrip":true},{"id":901,"content":"\n\n","lstrip":true}]`, "x<e>\n\ny",
			[]uint32{92, 900, 93}},
	} {
		var file map[string]json.RawMessage
		if err := json.Unmarshal(content, &file); err != nil {
			t.Fatal(err)
		}
		file["added_tokens"] = json.RawMessage(tc.added)
		changed, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		tokenizer, err := New(changed)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got, err := tokenizer.Encode(nil, tc.text, false); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v and %v, want %v", tc.name, got, err, tc.want)
		}
	}
}

// TestCostOfAddedTokens: thousands of added tokens that begin alike, as Gemma's do, cost a text that is full of their
// beginning about what a few cost.
func TestCostOfAddedTokens(t *testing.T) {
	if os.Getenv("PINTLE_BARS") == "" {
		t.Skip("PINTLE_BARS is not set")
	}
	const bar = 30
	text := strings.Repeat("<", 10_000) + strings.Repeat("<unused", 1000)
	took := func(n int) time.Duration {
		var a added
		for i := range n {
			a.add(addedToken{Content: fmt.Sprintf("<unused%d>", i), ID: uint32(i)})
		}
		best := time.Duration(1<<63 - 1)
		for range 5 {
			began := time.Now()
			a.cut(text, func(string, bool, uint32, bool) {})
			best = min(best, time.Since(began))
		}
		return best
	}
	if few, many := took(10), took(6000); many > bar*few {
		t.Errorf("with 6,000 tokens it takes %v, with 10 %v: want at most %d times as long", many, few, bar)
	}
}
