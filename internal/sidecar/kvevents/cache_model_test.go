package kvevents

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// cacheModel is a model of an engine's cache, which says what it does.
type cacheModel struct {
	random *rand.Rand
	// prompts are what requests ask for: heads of these are shared.
	prompts []modelPrompt
	// blocks are how often each block is stored in each tier, by the engine's hash.
	blocks map[uint64]*engineBlock
	size   int
	events []kvpub.Event
}

type modelPrompt struct {
	tokens     []uint32
	lora, salt string
}

type engineBlock struct {
	counts [kvindex.Tiers]int
}

var media = [kvindex.Tiers]string{"GPU", "CPU", "STORAGE"}

// hash is the engine's name for the i-th block of a prompt: it has nothing to do with keys.
func (p *modelPrompt) hash(i, size int) uint64 {
	h := uint64(1469598103934665603)
	for _, c := range []byte(p.lora + "|" + p.salt) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	for _, token := range p.tokens[:(i+1)*size] {
		h = (h ^ uint64(token)) * 1099511628211
	}
	return h
}

func newEngine(random *rand.Rand, size int) *cacheModel {
	e := &cacheModel{random: random, blocks: map[uint64]*engineBlock{}, size: size}
	for range 12 {
		p := modelPrompt{tokens: make([]uint32, size*(2+random.IntN(6)))}
		if len(e.prompts) > 0 && random.IntN(3) > 0 {
			other := e.prompts[random.IntN(len(e.prompts))]
			p.lora, p.salt = other.lora, other.salt
			copy(p.tokens, other.tokens)
		} else {
			p.lora = []string{"", "", "a1", "a2"}[random.IntN(4)]
			p.salt = []string{"", "", "t1"}[random.IntN(3)]
		}
		for i := size * random.IntN(3); i < len(p.tokens); i++ {
			p.tokens[i] = random.Uint32N(1 << uint(1+random.IntN(20)))
		}
		e.prompts = append(e.prompts, p)
	}
	return e
}

// step does something and says it.
func (e *cacheModel) step() {
	switch n := e.random.IntN(100); {
	case n < 45:
		e.store()
	case n < 97:
		e.remove()
	case n < 98:
		clear(e.blocks)
		e.events = append(e.events, kvpub.Event{Kind: "AllBlocksCleared"})
	default:
		e.move()
	}
}

// store stores the part of a prompt that is not there, or, now and then, blocks that are: another copy.
func (e *cacheModel) store() {
	p := &e.prompts[e.random.IntN(len(e.prompts))]
	blocks := len(p.tokens) / e.size
	first := 0
	for first < blocks && e.blocks[p.hash(first, e.size)] != nil {
		first++
	}
	if e.random.IntN(5) == 0 {
		first = e.random.IntN(first + 1)
	}
	last := min(first+1+e.random.IntN(3), blocks)
	if first == last {
		return
	}
	event := kvpub.Event{Kind: "BlockStored", BlockTokens: e.size, Tokens: p.tokens[first*e.size : last*e.size],
		Lora: p.lora, Medium: media[0], Extra: make([][]string, last-first)}
	if first > 0 {
		parent := p.hash(first-1, e.size)
		event.Parent = &parent
	} else if p.salt != "" {
		event.Extra[0] = []string{p.salt}
	}
	for i := first; i < last; i++ {
		hash := p.hash(i, e.size)
		event.Hashes = append(event.Hashes, hash)
		if e.blocks[hash] == nil {
			e.blocks[hash] = &engineBlock{}
		}
		e.blocks[hash].counts[0]++
	}
	e.events = append(e.events, event)
}

// any chooses a block that is there, in a way that does not depend on the order of maps.
func (e *cacheModel) any() (uint64, *engineBlock) {
	var all []uint64
	for hash := range e.blocks {
		all = append(all, hash)
	}
	if len(all) == 0 {
		return 0, nil
	}
	slices.Sort(all)
	hash := all[e.random.IntN(len(all))]
	return hash, e.blocks[hash]
}

func (e *cacheModel) remove() {
	hash, b := e.any()
	if b == nil {
		return
	}
	tier := e.random.IntN(kvindex.Tiers)
	for b.counts[tier] == 0 {
		tier = (tier + 1) % kvindex.Tiers
	}
	if b.counts[tier]--; b.counts == [kvindex.Tiers]int{} {
		delete(e.blocks, hash)
	}
	e.events = append(e.events, kvpub.Event{Kind: "BlockRemoved", Hashes: []uint64{hash}, Medium: media[tier]})
}

// move copies a block to another tier, in an event without tokens.
func (e *cacheModel) move() {
	hash, b := e.any()
	if b == nil {
		return
	}
	tier := 1 + e.random.IntN(2)
	b.counts[tier]++
	e.events = append(e.events, kvpub.Event{Kind: "BlockStored", Hashes: []uint64{hash}, BlockTokens: e.size,
		Medium: media[tier]})
}

// check holds what the index says of all prompts against the cache.
func (e *cacheModel) check(t *testing.T, x *kvindex.Indexer, endpoint string, when string) {
	t.Helper()
	if err := e.differs(x, endpoint); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
}

// differs says in what the index is not as the cache.
func (e *cacheModel) differs(x *kvindex.Indexer, endpoint string) error {
	for _, p := range e.prompts {
		want := kvindex.Hit{Endpoint: endpoint}
		for i := range len(p.tokens) / e.size {
			b := e.blocks[p.hash(i, e.size)]
			if b == nil {
				break
			}
			for tier, n := range b.counts {
				if n > 0 {
					want.ByTier[tier]++
					want.Score += kvindex.DefaultWeights[tier]
					break
				}
			}
			want.Blocks++
			want.Tokens += e.size
		}
		model := p.lora
		if model == "" {
			model = "m"
		}
		hits, err := x.Match(context.Background(), nil, model, &kvindex.Prompt{Tokens: p.tokens, Salt: p.salt},
			[]string{endpoint})
		if want.Blocks == 0 && len(hits) == 0 && err == nil {
			continue
		}
		if err != nil || len(hits) != 1 || fmt.Sprint(hits[0]) != fmt.Sprint(want) {
			return fmt.Errorf("got %v, %v, want %v for %v", hits, err, want, p)
		}
	}
	return nil
}
