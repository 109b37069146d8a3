package precise

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
	"github.com/pintle-dev/pintle/journal"
)

const (
	// mostTexts bounds the blocks of text of a generation, of which there are two, about 60 MB each.
	mostTexts = 1 << 18
	// mostKeys bounds their keys. A block has more than one where what is behind it differs: that has a part in where
	// its tokens are taken to end.
	mostKeys = 4 * mostTexts
	// mostAlike bounds those of a generation that stand for the same key. Where tools or documents come before the text
	// of prompts, all prompts with the same ones have it.
	mostAlike = 64
)

// text is a block of text with all before it, as the filter names it.
type text struct{ chain, hash uint64 }

type known struct {
	parent uint64 // the block before it, 0 for none
	said   int64  // when its holders were told of, as far as they were known then
	keys   int    // of the same generation, that it stands for
}

// texts are the blocks of text that are known, and the keys that they stand for. Those of which no prompt told lately
// are forgotten, when there are too many. No text is in it.
type texts struct{ young, old generation }

type generation struct {
	texts map[text]known
	keys  map[kvindex.Key][]text
}

func (g *generation) init() { g.texts, g.keys = map[text]known{}, map[kvindex.Key][]text{} }

func (x *texts) init() {
	x.young.init()
	x.old.init()
}

// put notes that a block of text is there where key is. It reports whether its holders are to be told of: not when they
// were since then. Those that were at this very time have blocks of another size.
func (x *texts) put(t text, parent uint64, key kvindex.Key, now, since int64) (say bool) {
	if len(x.young.texts) >= mostTexts || len(x.young.keys) >= mostKeys {
		x.old = x.young
		x.young.init()
	}
	k, found := x.get(t)
	say = !found || k.said <= since || k.said == now || !slices.Contains(x.of(key), t)
	if k.parent = parent; say {
		k.said = now
	}
	k.keys = x.young.texts[t].keys
	if alike := x.young.keys[key]; !slices.Contains(alike, t) {
		// The oldest makes way. When its prompt comes again its holders are told of again.
		if len(alike) == mostAlike {
			oldest := x.young.texts[alike[0]]
			oldest.keys--
			x.young.texts[alike[0]] = oldest
			alike = slices.Delete(alike, 0, 1)
		}
		x.young.keys[key] = append(alike, t)
		k.keys++
	}
	x.young.texts[t] = k
	return say
}

func (x *texts) get(t text) (k known, found bool) {
	if k, found = x.young.texts[t]; !found {
		k, found = x.old.texts[t]
	}
	return k, found
}

// of is what stands for a key.
func (x *texts) of(key kvindex.Key) []text {
	young, old := x.young.keys[key], x.old.keys[key]
	if len(young) == 0 {
		return old
	}
	all := slices.Clone(young)
	for _, t := range old {
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}

// path is a block with all before it, the first one first.
func (x *texts) path(t text) (blocks []uint64) {
	for len(blocks) < journal.MaxBlocks {
		k, found := x.get(t)
		if !found {
			break
		}
		blocks = append(blocks, t.hash)
		if t.hash = k.parent; t.hash == 0 {
			break
		}
	}
	slices.Reverse(blocks)
	return blocks
}

// forget forgets what stands for a key that no server has, and for no other.
func (x *texts) forget(key kvindex.Key) {
	for _, g := range []*generation{&x.young, &x.old} {
		for _, t := range g.keys[key] {
			k := g.texts[t]
			if k.keys--; k.keys > 0 {
				g.texts[t] = k
			} else {
				delete(g.texts, t)
			}
		}
		delete(g.keys, key)
	}
}
