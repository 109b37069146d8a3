package bpe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestShortWords: words are equal exactly if their numbers are, whatever their length.
func TestShortWords(t *testing.T) {
	from := map[short]string{}
	add := func(word string) {
		s := shorten(word)
		if other, known := from[s]; known && other != word {
			t.Fatalf("%q and %q are the same", word, other)
		}
		from[s] = word
	}
	for n := 1; n <= shortWord; n++ {
		add(strings.Repeat("a", n))
		add(strings.Repeat("\x00", n))
		for i := range n { // a change at each place is one
			add(strings.Repeat("a", i) + "b" + strings.Repeat("a", n-i-1))
		}
	}
	if want := shortWord*2 + shortWord*(shortWord+1)/2; len(from) != want {
		t.Errorf("got %d, want %d", len(from), want)
	}
}

// TestWholes: what was put is found, in a table as full as it may be, and nothing else.
func TestWholes(t *testing.T) {
	for _, n := range []int{0, 1, 3, 1000, 4096} {
		w := newWholes(n)
		find := func(word string) (uint32, bool) {
			s := shorten(word)
			return w.get(&s, s.hash())
		}
		for i := range n {
			w.put(shorten(fmt.Sprintf("w%d", i)), uint32(i))
		}
		for i := range n {
			if got, ok := find(fmt.Sprintf("w%d", i)); !ok || got != uint32(i) {
				t.Fatalf("%d: got %v, %v", n, got, ok)
			}
			if got, ok := find(fmt.Sprintf("x%d", i)); ok {
				t.Fatalf("%d: got %v for a word that is not there", n, got)
			}
		}
	}
	s := shorten("a")
	if _, ok := (&wholes{}).get(&s, s.hash()); ok {
		t.Error("found in nothing")
	}
}

// TestWordsAsMerged: the tokens of a word are those of merging in order of the queue, from memory or not, for all words
// of the vocabulary and for any others.
func TestWordsAsMerged(t *testing.T) {
	for _, family := range families["encoded.json"] {
		tokenizer := open(t, family)
		var w, other merger
		check := func(word string) {
			t.Helper()
			single := make([]uint32, len(word))
			for i := range len(word) {
				single[i] = tokenizer.bytes[word[i]]
			}
			want := other.mergeMany(nil, &tokenizer.merges, single)
			if id, ok := tokenizer.vocabulary[word]; ok && tokenizer.ignoreMerges {
				want = []uint32{id}
			}
			for range 2 {
				if got := tokenizer.encodeWord(&w, nil, word); !slices.Equal(got, want) {
					t.Fatalf("%s: %q: got %v, want %v", family, word, got, want)
				}
			}
		}
		var all []string
		for word := range tokenizer.vocabulary {
			if word != "" {
				all = append(all, word)
				check(word)
			}
		}
		slices.Sort(all)
		random := rand.New(rand.NewPCG(1, 1))
		for range 20_000 {
			word := ""
			for range 1 + random.IntN(6) {
				word += all[random.IntN(len(all))]
			}
			check(word[:1+random.IntN(len(word))])
		}
		for n := range 2 * mostFew { // of many merges of one rank the leftmost is first
			check(strings.Repeat("a", n+1))
			check(strings.Repeat(" the", n+1))
		}
	}
}
