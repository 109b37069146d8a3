package kvcache

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/llm-d/llm-d-kv-cache/pkg/kvcache/kvblock"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// asked is a prompt as a request has it.
type asked struct {
	model  string // or the adapter
	tokens []uint32
	media  []kvindex.Media
	salt   string
}

// randomPrompt has numbers of tokens and texts of all the lengths that CBOR writes differently.
func randomPrompt(random *rand.Rand) asked {
	p := asked{model: randomText(random), tokens: make([]uint32, random.IntN(300))}
	for i := range p.tokens {
		p.tokens[i] = random.Uint32() >> random.IntN(33)
	}
	for at := random.IntN(40); at < len(p.tokens) && random.IntN(2) == 0; at += 1 + random.IntN(40) {
		p.media = append(p.media, kvindex.Media{Hash: randomText(random), Offset: at, Length: random.IntN(60)})
	}
	if random.IntN(3) == 0 {
		p.salt = randomText(random)
	}
	return p
}

func randomText(random *rand.Rand) string {
	alphabet := []string{"a", "B", "/", "-", "3", ".", "é", "日", " ", "\"", "\x00"}
	var b strings.Builder
	for range random.IntN([]int{2, 24, 30, 300}[random.IntN(4)]) {
		b.WriteString(alphabet[random.IntN(len(alphabet))])
	}
	return b.String()
}

// features are what llm-d's library makes of a prompt's media. It knows no salts; with them, what its reader of events
// makes of a salt is added, which is what engines say of the first block.
func (p *asked) features(size int, salted bool) []*kvblock.BlockExtraFeatures {
	hashes, places := map[string][]string{}, map[string][]kvblock.PlaceholderRange{}
	for _, m := range p.media {
		hashes["image"] = append(hashes["image"], m.Hash)
		places["image"] = append(places["image"], kvblock.PlaceholderRange{Offset: m.Offset, Length: m.Length})
	}
	all := kvblock.ComputeBlockExtraFeatures(hashes, places, size, len(p.tokens))
	if !salted || p.salt == "" || len(p.tokens) < size {
		return all
	}
	if all == nil {
		all = make([]*kvblock.BlockExtraFeatures, len(p.tokens)/size)
	}
	if all[0] == nil {
		all[0] = &kvblock.BlockExtraFeatures{}
	}
	all[0].MMHashes = append(all[0].MMHashes, kvblock.MMHash{Hash: p.salt})
	return all
}

func (p *asked) prompt() *kvindex.Prompt {
	return &kvindex.Prompt{Tokens: p.tokens, Media: p.media, Salt: p.salt}
}

func newProcessor(t *testing.T, seed string, size int) kvblock.TokenProcessor {
	t.Helper()
	theirs, err := kvblock.NewChunkedTokenDatabase(&kvblock.TokenProcessorConfig{BlockSizeTokens: size, HashSeed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return theirs
}

// TestKeysAreTheirs: for any model, adapter, seed, size of blocks, tokens and media, from the root on and behind a
// parent, keys are those of llm-d. A salt has no key there; here it is what events that name it lead to.
func TestKeysAreTheirs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 15))
	blocks, salted, pictured := 0, 0, 0
	for i := range 4000 {
		seed, size := randomText(random), 1+random.IntN(80)
		theirs, p := newProcessor(t, seed, size), randomPrompt(random)
		ours := kvindex.Keys(nil, kvindex.Root(seed, p.model), size, p.prompt())
		want, err := theirs.TokensToKVBlockKeys(kvblock.EmptyBlockHash, p.tokens, p.model, p.features(size, true))
		if err != nil || !same(ours, want) {
			t.Fatalf("%d: seed %q, blocks of %d, %+v: got %v, want %v, %v", i, seed, size, p, ours, want, err)
		}
		blocks += len(ours)
		if p.salt == "" || len(ours) == 0 {
			pictured += len(p.media)
			continue
		}
		salted++
		unsalted, err := theirs.TokensToKVBlockKeys(kvblock.EmptyBlockHash, p.tokens, p.model, p.features(size, false))
		if err != nil {
			t.Fatal(err)
		}
		for j, key := range unsalted { // a salt makes all blocks others
			if kvindex.Key(key) == ours[j] {
				t.Errorf("%d: block %d of a prompt with a salt has the key of one without", i, j)
			}
		}
		plain := p
		plain.salt = ""
		if got := kvindex.Keys(nil, kvindex.Root(seed, p.model), size, plain.prompt()); !same(got, unsalted) {
			t.Errorf("%d: without the salt got %v, want %v", i, got, unsalted)
		}
	}
	if blocks < 10_000 || salted < 500 || pictured < 1000 {
		t.Errorf("%d blocks, %d salted prompts, %d media: too few", blocks, salted, pictured)
	}
}

// TestKeysBehindAParent: a chain goes on from any block as it would have without a stop.
func TestKeysBehindAParent(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 15))
	for range 500 {
		size := 1 + random.IntN(40)
		theirs := newProcessor(t, "", size)
		parent := kvindex.Key(random.Uint64() >> random.IntN(64))
		if parent == 0 {
			continue // there it says that there is no parent
		}
		tokens := make([]uint32, size)
		for i := range tokens {
			tokens[i] = random.Uint32() >> random.IntN(33)
		}
		want, err := theirs.TokensToKVBlockKeys(kvblock.BlockHash(parent), tokens, "m", nil)
		if got := []kvindex.Key{kvindex.Next(parent, tokens, nil)}; err != nil || !same(got, want) {
			t.Fatalf("behind %d: got %v, want %v, %v", parent, got, want, err)
		}
	}
}

func same(ours []kvindex.Key, theirs []kvblock.BlockHash) bool {
	return slices.EqualFunc(ours, theirs, func(a kvindex.Key, b kvblock.BlockHash) bool {
		return uint64(a) == uint64(b)
	})
}
