package sim

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func hashesOf(text string, blockTokens int) []uint64 {
	return prompt(nil).add(text).blockHashes(blockTokens, "")
}

// checkCache verifies what must hold between any two calls.
func checkCache(t *testing.T, c *kvCache, holds []*hold) {
	t.Helper()
	pinned, reserved := map[*block]int{}, 0
	for _, h := range holds {
		reserved += h.reserved
		for _, b := range h.blocks {
			pinned[b]++
		}
	}
	if got, want := c.pinned(), len(pinned); got != want {
		t.Fatalf("pinned blocks: got %d, want %d", got, want)
	}
	if c.reserved != reserved {
		t.Fatalf("reserved blocks: got %d, want %d", c.reserved, reserved)
	}
	if c.pinned()+c.reserved > c.size || len(c.made) > c.size {
		t.Fatalf("pinned %d and reserved %d blocks, made %d: more than %d", c.pinned(), c.reserved, len(c.made), c.size)
	}
	for i, b := range c.made {
		if b.refs != pinned[b] {
			t.Fatalf("block %d: got %d references, want %d", i, b.refs, pinned[b])
		}
		if b.hashed && c.cached[b.hash] != b {
			t.Fatalf("block %d: its hash leads elsewhere", i)
		}
	}
	listed := 0
	for b := c.lru.next; b != &c.lru; b = b.next {
		listed++
	}
	if listed != c.lruLen || listed+c.pinned()+len(c.blank) != len(c.made) {
		t.Fatalf("free blocks: %d listed, %d counted, %d blank, %d pinned of %d", listed, c.lruLen, len(c.blank),
			c.pinned(), len(c.made))
	}
}

func TestCacheHits(t *testing.T) {
	const blockTokens = 4 // 16 bytes
	head := strings.Repeat("head", 8)
	for _, test := range []struct {
		name          string
		first, second string
		want          int
	}{
		{"same prompt, last block computed anew", head, head, 4},
		{"same prompt and a part of a block", head + "ab", head + "ab", 8},
		{"longer prompt with the same head", head, head + "tail of the second", 8},
		{"shorter prompt", head + strings.Repeat("x", 64), head + "y", 8},
		{"differs in the first block", head, "H" + head[1:] + "more", 0},
		{"differs in the second block", head, head[:16] + "X" + head[17:] + "more", 4},
		{"less than a block", "abc", "abc", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newKVCache(32, blockTokens, 0)
			for i, text := range []string{test.first, test.second} {
				h := &hold{hashes: hashesOf(text, blockTokens)}
				tokens := prompt(nil).add(text).tokens()
				cached, ok := c.admit(h, tokens, 2)
				if !ok {
					t.Fatalf("prompt %d was not admitted", i)
				}
				if i == 1 && cached != test.want {
					t.Errorf("cached tokens: got %d, want %d", cached, test.want)
				}
				c.grow(h, tokens+2)
				checkCache(t, c, []*hold{h})
				c.release(h)
				checkCache(t, c, nil)
			}
		})
	}
}

func TestCacheEvictsTailsFirst(t *testing.T) {
	c := newKVCache(4, 1, 0)
	admit := func(text string) int {
		t.Helper()
		h := &hold{hashes: hashesOf(text, 1)}
		cached, ok := c.admit(h, len(text)/tokenBytes, 0)
		if !ok {
			t.Fatalf("%q was not admitted", text)
		}
		c.grow(h, len(text)/tokenBytes)
		c.release(h)
		return cached
	}
	admit("aaaabbbbccccdddd")
	admit("eeeeffff")
	if got := admit("aaaabbbbzzzz"); got != 2 {
		t.Errorf("cached tokens after two of four blocks were evicted: got %d, want 2", got)
	}
}

func TestCacheRefusesWhatDoesNotFit(t *testing.T) {
	c := newKVCache(4, 1, 0)
	first := &hold{hashes: hashesOf("aaaabbbb", 1)}
	if _, ok := c.admit(first, 2, 1); !ok {
		t.Fatal("first was not admitted")
	}
	second := &hold{hashes: hashesOf("cccc", 1)}
	if _, ok := c.admit(second, 1, 1); ok {
		t.Error("second was admitted: one block is pinned too many")
	}
	if _, ok := c.admit(second, 1, 0); !ok {
		t.Error("second without an answer was not admitted: one block is free")
	}
	checkCache(t, c, []*hold{first, second})
}

func TestCacheForgetsWhatWasNotComputed(t *testing.T) {
	c := newKVCache(8, 1, 0)
	h := &hold{hashes: hashesOf("aaaabbbbcccc", 1)}
	c.admit(h, 3, 0)
	c.release(h)
	if cached, _ := c.admit(&hold{hashes: hashesOf("aaaabbbbcccc", 1)}, 3, 0); cached != 0 {
		t.Errorf("cached tokens after an aborted prefill: got %d, want 0", cached)
	}
}

// TestCacheKeepsWhatWasFound: a request that leaves early takes nothing of what others have computed with it.
func TestCacheKeepsWhatWasFound(t *testing.T) {
	c := newKVCache(8, 1, 0)
	first := &hold{hashes: hashesOf("aaaabbbb", 1)}
	c.admit(first, 2, 0)
	c.grow(first, 2)
	c.release(first)
	aborted := &hold{hashes: hashesOf("aaaabbbbcccc", 1)}
	c.admit(aborted, 3, 0)
	c.release(aborted)
	if cached, _ := c.admit(&hold{hashes: hashesOf("aaaabbbbcccc", 1)}, 3, 0); cached != 2 {
		t.Errorf("cached tokens after a prefill that was aborted: got %d, want the 2 that it had found", cached)
	}
}

// TestCacheForgetsAll: whoever is told so need not ask whether a request ran or blocks were offloaded.
func TestCacheForgetsAll(t *testing.T) {
	c := newKVCache(3, 1, 8)
	evicted := hashesOf("aaaabbbb", 1)
	first := &hold{hashes: evicted}
	c.admit(first, 2, 0)
	c.grow(first, 2)
	c.release(first)
	running := &hold{hashes: hashesOf("ccccddddeeee", 1)}
	c.admit(running, 3, 0)
	if got := c.known(evicted); got != 2 {
		t.Fatalf("offloaded blocks: got %d, want 2", got)
	}
	c.forgetAll()
	for _, hashes := range [][]uint64{evicted, running.hashes} {
		if got := c.known(hashes); got != 0 {
			t.Errorf("after all was forgotten: got %d blocks, want 0", got)
		}
	}
	checkCache(t, c, []*hold{running})
}

// Random admissions, growth and releases: the cache's books stay right and nothing leaks.
func TestCacheProperties(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := newKVCache(64, 2, 0)
		var holds []*hold
		sizes := map[*hold][2]int{}
		for range 500 {
			if len(holds) > 0 && random.IntN(2) == 0 {
				i := random.IntN(len(holds))
				h := holds[i]
				if size := sizes[h]; random.IntN(2) == 0 {
					c.grow(h, size[0]+random.IntN(size[1]+1))
				}
				if random.IntN(2) == 0 {
					c.release(h)
					holds = append(holds[:i], holds[i+1:]...)
				}
			} else {
				text := strings.Repeat("abcdefgh"[:1+random.IntN(8)], 1+random.IntN(30))
				tokens, output := prompt(nil).add(text).tokens(), random.IntN(20)
				h := &hold{hashes: hashesOf(text+strings.Repeat("out ", output), 2)}
				if _, ok := c.admit(h, tokens, output); ok {
					holds = append(holds, h)
					sizes[h] = [2]int{tokens, output}
				}
			}
			checkCache(t, c, holds)
		}
		for _, h := range holds {
			c.release(h)
		}
		checkCache(t, c, nil)
		c.reset()
		if len(c.blank) != len(c.made) || len(c.cached) != 0 {
			t.Errorf("seed %d: after reset %d of %d blocks are blank and %d cached", seed, len(c.blank), len(c.made),
				len(c.cached))
		}
	}
}
