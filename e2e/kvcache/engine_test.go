package kvcache

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// mediums are where engines keep blocks.
var mediums = []string{"GPU", "CPU", "STORAGE"}

// chain is a prompt that engines get, with the name that each of its blocks has there.
type chain struct {
	asked
	lora   string
	hashes []uint64
}

// newChains makes up prompts of which many begin alike.
func newChains(random *rand.Rand, size int) []*chain {
	var all []*chain
	for range 14 {
		c := &chain{asked: asked{model: "base", tokens: make([]uint32, size*(1+random.IntN(8)))}}
		from := 0
		if len(all) > 0 && random.IntN(3) > 0 {
			other := all[random.IntN(len(all))]
			c.model, c.lora, c.salt, c.media = other.model, other.lora, other.salt, other.media
			from = copy(c.tokens, other.tokens[:size*random.IntN(len(other.tokens)/size+1)])
		} else {
			if c.lora = []string{"", "", "adapter", "adapter-2"}[random.IntN(4)]; c.lora != "" {
				c.model = c.lora
			}
			c.salt = []string{"", "", "tenant", "x"}[random.IntN(4)]
			for i := range random.IntN(3) {
				c.media = append(c.media, kvindex.Media{Hash: fmt.Sprint("picture ", random.Uint32()),
					Offset: i * 5 * size, Length: random.IntN(4 * size)})
			}
		}
		for i := from; i < len(c.tokens); i++ {
			c.tokens[i] = random.Uint32() >> random.IntN(33)
		}
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, c.model, "|", c.salt, "|", c.media)
		for i, token := range c.tokens {
			_, _ = h.Write([]byte{byte(token), byte(token >> 8), byte(token >> 16), byte(token >> 24)})
			if (i+1)%size == 0 {
				c.hashes = append(c.hashes, h.Sum64()|1<<63)
			}
		}
		all = append(all, c)
	}
	return all
}

// engine is a model of an engine's cache, which says what it does.
type engine struct {
	random *rand.Rand
	chains []*chain
	size   int
	// blocks are the tiers that each block is in, by its name.
	blocks map[uint64][3]bool
	maps   bool // events are maps, else arrays
	events []any
}

// step does one thing.
func (e *engine) step() {
	switch n := e.random.IntN(100); {
	case n < 45:
		e.store()
	case n < 80:
		e.remove()
	case n < 98:
		e.offload()
	default:
		clear(e.blocks)
		e.say("AllBlocksCleared")
	}
}

// say writes an event in the engine's form: fields follow each other as name and value.
func (e *engine) say(kind string, fields ...any) {
	if !e.maps {
		event := []any{kind}
		for i := 1; i < len(fields); i += 2 {
			event = append(event, fields[i])
		}
		e.events = append(e.events, event)
		return
	}
	event := map[string]any{"type": kind}
	for i := 0; i < len(fields); i += 2 {
		event[fields[i].(string)] = fields[i+1]
	}
	e.events = append(e.events, event)
}

// stored says that blocks are on the GPU now.
func (e *engine) stored(c *chain, first, last int, more ...any) {
	var parent, lora any
	if first > 0 {
		parent = c.hashes[first-1]
	}
	var extra []any
	for i := first; i < last; i++ {
		extra = append(extra, c.extra(i*e.size, (i+1)*e.size))
	}
	if c.lora != "" {
		lora = c.lora
	}
	e.say("BlockStored", append([]any{"block_hashes", c.hashes[first:last], "parent_block_hash", parent,
		"token_ids", c.tokens[first*e.size : last*e.size], "block_size", e.size, "lora_id", nil, "medium", "GPU",
		"lora_name", lora, "extra_keys", extra}, more...)...)
}

// extra is what engines say of a block beside its tokens, nil for nothing.
func (c *chain) extra(from, to int) any {
	var names []any
	for _, m := range c.media {
		if m.Offset < to && m.Offset+m.Length > from {
			names = append(names, m.Hash)
		}
	}
	if from == 0 && c.salt != "" {
		names = append(names, c.salt)
	}
	if names == nil {
		return nil
	}
	return names
}

// store stores the part of a prompt that is not on the GPU, as far as its parents are there.
func (e *engine) store() {
	c := e.chains[e.random.IntN(len(e.chains))]
	first := 0
	for first < len(c.hashes) && e.blocks[c.hashes[first]][0] {
		first++
	}
	last := first
	for last < len(c.hashes) && !e.blocks[c.hashes[last]][0] && last-first < 3 {
		tiers := e.blocks[c.hashes[last]]
		tiers[0] = true
		e.blocks[c.hashes[last]] = tiers
		last++
	}
	if first < last {
		e.stored(c, first, last)
	}
}

// any chooses a block that is there.
func (e *engine) any() (hash uint64, tiers [3]bool, ok bool) {
	all := slices.Sorted(maps.Keys(e.blocks))
	if len(all) == 0 {
		return 0, tiers, false
	}
	hash = all[e.random.IntN(len(all))]
	return hash, e.blocks[hash], true
}

func (e *engine) remove() {
	hash, tiers, ok := e.any()
	if !ok {
		return
	}
	tier := e.random.IntN(3)
	for !tiers[tier] {
		tier = (tier + 1) % 3
	}
	if tiers[tier] = false; tiers == [3]bool{} {
		delete(e.blocks, hash)
	} else {
		e.blocks[hash] = tiers
	}
	e.say("BlockRemoved", "block_hashes", []uint64{hash}, "medium", mediums[tier])
}

// offload copies a block to another tier, which is said without its tokens.
func (e *engine) offload() {
	hash, tiers, ok := e.any()
	tier := 1 + e.random.IntN(2)
	if !ok || tiers[tier] {
		return
	}
	tiers[tier] = true
	e.blocks[hash] = tiers
	e.say("BlockStored", "block_hashes", []uint64{hash}, "parent_block_hash", nil, "token_ids", []uint32{},
		"block_size", e.size, "lora_id", nil, "medium", mediums[tier])
}

// batch takes out what has been said, as a message.
func (e *engine) batch(t *testing.T) []byte {
	t.Helper()
	payload, err := msgpack.Marshal([]any{1.5, e.events, 0})
	if err != nil {
		t.Fatal(err)
	}
	e.events = nil
	return payload
}
