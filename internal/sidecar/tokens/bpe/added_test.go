package bpe

import (
	"fmt"
	"math/rand/v2"
	"os"
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
