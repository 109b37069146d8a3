package state

import "math"

// Chain says how a prompt is cut and hashed.
type Chain struct {
	// BlockBytes is the length of a block, if DoubleEvery is set of the first ones.
	BlockBytes int
	// DoubleEvery has blocks grow: behind each so many they are twice as long, at most 4,096 times as long as the first
	// ones. 0 has all alike.
	DoubleEvery int
	// Leading hashes as AIBrix does: h(i) = XXH64(little-endian h(i-1), bytes), each with Seed, and h(0) = Seed. A
	// model or a cache salt, which AIBrix keeps tables for apart or does not know, makes it h(0) = XXH64(model, cache
	// salt) with Seed.
	Leading bool
	Seed    uint64
	// IDs cuts the prompt as llm-d's router does, see IDBlocks.
	IDs bool
	// Media is no chain: each block is the hash of one image, audio or video of the prompt, see MediaHashes.
	Media bool
}

const (
	// MostDoubleEvery bounds Chain.DoubleEvery.
	MostDoubleEvery = 1024
	mostDoublings   = 12
	// growing marks the ID of a chain whose blocks grow. DoubleEvery stands above it.
	growing      = 1 << 39
	growingShift = 40
)

// ID is the number of the chain in the journal: chains that hash prompts differently have different ones.
func (c Chain) ID() uint64 {
	id := uint64(c.BlockBytes)
	if c.Leading {
		return ^id ^ c.Seed*0x9e3779b97f4a7c15
	}
	if c.IDs {
		id |= 1 << 32
	}
	if c.Media {
		id |= 1 << 33
	}
	if c.DoubleEvery > 0 {
		id |= growing | uint64(c.DoubleEvery)<<growingShift
	}
	return id
}

// Growing returns the chain with the ID, if it is one whose blocks grow, and else none.
func Growing(id uint64) (c Chain, ok bool) {
	c = Chain{BlockBytes: int(id & math.MaxInt32), DoubleEvery: int(id >> growingShift & (MostDoubleEvery*2 - 1))}
	if c.DoubleEvery == 0 || c.BlockBytes == 0 || c.ID() != id {
		return Chain{}, false
	}
	return c, true
}

// Plain returns the chain with the ID, if it is one of blocks of text hashed in the usual way, and else none.
func Plain(id uint64) (c Chain, ok bool) {
	first, doubleEvery := blockBytes(id)
	c = Chain{BlockBytes: int(first), DoubleEvery: int(doubleEvery)}
	return c, first > 0 && first <= math.MaxInt32 && c.ID() == id
}

// Growth is how the blocks of the chain grow: the chain of which the first block is 1 long.
func (c Chain) Growth() Chain { return Chain{BlockBytes: 1, DoubleEvery: c.DoubleEvery} }

// growthOf is the Growth of the chain with the ID.
func growthOf(id uint64) Chain {
	c, _ := Growing(id)
	return c.Growth()
}

// doublings is how often block i was doubled, counted from 0.
func (c Chain) doublings(i int) uint8 {
	if c.DoubleEvery == 0 {
		return 0
	}
	return uint8(min(i/c.DoubleEvery, mostDoublings))
}

// Block is the length of block i, counted from 0.
func (c Chain) Block(i int) int {
	return int(min(int64(c.BlockBytes)<<c.doublings(i), math.MaxInt32))
}

// Within is how many of the first n blocks are no longer than room.
func (c Chain) Within(n int, room uint32) int {
	if uint64(c.End(n)) <= uint64(room) {
		return n // mostly
	}
	low := 0
	for low < n {
		if middle := (low + n + 1) / 2; uint64(c.End(middle)) <= uint64(room) {
			low = middle
		} else {
			n = middle - 1
		}
	}
	return low
}

// End is the length of the first n blocks.
func (c Chain) End(n int) int {
	if c.DoubleEvery == 0 {
		return int(min(int64(n)*int64(c.BlockBytes), math.MaxInt32))
	}
	end := int64(0)
	for i := 0; i < n && end < math.MaxInt32; i += c.DoubleEvery {
		end += int64(c.Block(i)) * int64(min(c.DoubleEvery, n-i))
	}
	return int(min(end, math.MaxInt32))
}
