package state

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/openai"
)

// BytesPerToken is how long a token is taken to be when blocks are cut without a tokenizer.
const BytesPerToken = 4

// segmentMark begins a segment. It never occurs in UTF-8, so it cannot be part of a prompt. Nor can adapterMark.
const (
	segmentMark = 0xff
	adapterMark = 0xfe
)

// Hasher turns prompts into chains of block hashes. The zero value is ready for use. It keeps a buffer as large as the
// longest prompt with escapes that it saw, at most all blocks of one prompt.
//
// A prompt's blocks are cut from these bytes:
//   - completions: the first prompt as it is; each further one behind a mark.
//   - every other API: each segment of the prompt behind a mark, its text decoded, media as their URL, data or file
//     id, tools and tool calls as raw JSON. First come tools, then what an instructions or system key or a system
//     message of the Responses or Anthropic API says, as servers put these in front whichever order the keys of the
//     body have; then the others in document order.
//
// Token ids are 4 bytes each, little-endian.
//
// A mark is the byte 0xff and one with the segment's kind and role. A prompt that continues another one thus begins
// with the same bytes, and prompts that differ in the text, kind, role or limits of a segment differ in bytes. What the
// scan does not tell apart is not told apart here: names and ids of messages, roles that no API knows, and parts of one
// message from messages of one role.
//
// With h(0) = XXH64(model, cache salt, behind a byte 0xff the extra key if there is one, and behind a byte 0xfe the
// LoRA path if there is one), block i of blockTokens·BytesPerToken bytes has the hash h(i) = XXH64(bytes,
// little-endian h(i-1)). A last block that is not full is left out. These are the hashes of the approximate prefix
// plugin of the Gateway API Inference Extension v1.4 for completions. A Chain may ask for another way of hashing.
type Hasher struct {
	digest  xxhash.Digest
	scratch []byte
	header  [2]byte
	link    [8]byte
	escaped [6]byte
	escapes bool // text is written as JSON has it
	key     xxhash.Digest
	one     [utf8.UTFMax]byte

	chain    Chain
	blocks   []uint64
	previous uint64
	size     int // bytes of the block
	missing  int // bytes to the end of the block
	most     int // length of blocks to stop at
	before   int // length of blocks at the beginning of the prompt
}

// blockBytes is the length of a chain's first block and Chain.DoubleEvery by the chain's number, 0 where that does not
// tell.
func blockBytes(id uint64) (first uint32, doubleEvery uint16) {
	if c, ok := Growing(id); ok {
		return uint32(c.BlockBytes), uint16(c.DoubleEvery)
	}
	if id>>33 != 0 {
		return 0, 0
	}
	return uint32(id), 0
}

// Blocks appends the hashes of the first maxBlocks blocks of the prompt to dst. model is the one the server is asked
// for. r is the scan of body.
func (h *Hasher) Blocks(dst []uint64, model string, r *openai.Request, body []byte, blockTokens,
	maxBlocks int) []uint64 {
	if blockTokens < 1 || blockTokens > math.MaxInt32/BytesPerToken {
		return dst
	}
	return h.Chain(dst, model, r, body, Chain{BlockBytes: blockTokens * BytesPerToken}, maxBlocks)
}

// Chain is Blocks for any chain.
func (h *Hasher) Chain(dst []uint64, model string, r *openai.Request, body []byte, chain Chain,
	maxBlocks int) []uint64 {
	if chain.BlockBytes < 1 || chain.BlockBytes > math.MaxInt32 || maxBlocks < 1 {
		return dst
	}
	h.chain, h.size, h.blocks, h.before = chain, chain.BlockBytes, dst, len(dst)
	h.previous = h.first(model, r)
	h.begin()
	h.most = len(dst) + min(maxBlocks, math.MaxInt32-len(dst))
	if r.API == openai.APICompletions {
		h.prompts(r, body)
	} else {
		for turn := range others + 1 {
			h.segments(r, body, turn)
		}
	}
	dst, h.blocks = h.blocks, nil
	return dst
}

// first is h(0).
func (h *Hasher) first(model string, r *openai.Request) uint64 {
	if !h.chain.Leading {
		h.digest.Reset()
	} else if h.digest.ResetWithSeed(h.chain.Seed); model == "" && r.CacheSalt == "" && r.ExtraKey == "" &&
		r.LoRAPath == "" {
		return h.chain.Seed
	}
	h.digest.WriteString(model)
	h.digest.WriteString(r.CacheSalt)
	h.named(segmentMark, r.ExtraKey)
	h.named(adapterMark, r.LoRAPath)
	return h.digest.Sum64()
}

// named digests a name behind a mark, if there is one.
func (h *Hasher) named(mark byte, name string) {
	if name == "" {
		return
	}
	h.header[0] = mark
	h.digest.Write(h.header[:1])
	h.digest.WriteString(name)
}

// begin starts a block.
func (h *Hasher) begin() {
	h.missing = h.size
	if !h.chain.Leading {
		h.digest.Reset()
		return
	}
	h.digest.ResetWithSeed(h.chain.Seed)
	binary.LittleEndian.PutUint64(h.link[:], h.previous)
	h.digest.Write(h.link[:])
}

// end finishes a block.
func (h *Hasher) end() {
	if !h.chain.Leading {
		binary.LittleEndian.PutUint64(h.link[:], h.previous)
		h.digest.Write(h.link[:])
	}
	h.append(h.digest.Sum64())
}

// append adds the hash of a block, and has the next one be as long as it is to be.
func (h *Hasher) append(hash uint64) {
	h.previous = hash
	h.blocks = append(h.blocks, hash)
	if h.chain.DoubleEvery > 0 {
		h.size = h.chain.Block(len(h.blocks) - h.before)
		h.missing = h.size
	}
}

func (h *Hasher) prompts(r *openai.Request, body []byte) {
	for i := range r.Segments {
		if h.full() {
			return
		}
		if i > 0 {
			h.mark(&r.Segments[i])
		}
		h.segment(r, body, i)
	}
}

// The turns in which segments are written.
const (
	tools = iota
	system
	others
)

func turnOf(api openai.API, s *openai.Segment) int {
	if s.Kind == openai.SegmentTools {
		return tools
	}
	if s.Role == openai.RoleSystem && (api == openai.APIResponses || api == openai.APIMessages) {
		return system
	}
	return others
}

func (h *Hasher) segments(r *openai.Request, body []byte, turn int) {
	for i := range r.Segments {
		if h.full() {
			return
		}
		if s := &r.Segments[i]; turnOf(r.API, s) == turn {
			h.mark(s)
			h.segment(r, body, i)
		}
	}
}

func (h *Hasher) full() bool { return len(h.blocks) == h.most }

func (h *Hasher) mark(s *openai.Segment) {
	h.header = [2]byte{segmentMark, byte(s.Kind)<<4 | byte(s.Role)}
	h.write(h.header[:])
}

// segment writes the text of segment i. One without escapes is hashed where it lies.
func (h *Hasher) segment(r *openai.Request, body []byte, i int) {
	s := &r.Segments[i]
	if h.full() {
		return
	}
	if s.Kind == openai.SegmentTokens {
		h.tokens(body[s.Start:s.End])
		return
	}
	if !s.Escaped {
		h.text(body[s.Start:s.End])
		return
	}
	// The text is never longer than it is with escapes. It is cut at a character, which may be 3 bytes before the
	// limit.
	const cut = 3
	done := len(h.blocks) - h.before
	need := int64(h.chain.End(h.most-h.before)-h.chain.End(done+1)) + int64(h.missing) + cut
	most := int(min(need, int64(s.Len())))
	if cap(h.scratch) < most {
		h.scratch = make([]byte, 0, most+most/4)
	}
	h.scratch = r.AppendTextMax(h.scratch[:0], body, i, most)
	h.text(h.scratch)
}

// tokens writes the ids that a text lists, each as 4 bytes.
func (h *Hasher) tokens(list []byte) {
	if cap(h.scratch) < idBytes {
		h.scratch = make([]byte, 0, idBytes)
	}
	ids := h.scratch[:0]
	for i := 0; i < len(list) && !h.full(); {
		if list[i]-'0' > 9 {
			i++
			continue
		}
		id := uint32(0)
		for ; i < len(list) && list[i]-'0' <= 9; i++ {
			id = id*10 + uint32(list[i]-'0')
		}
		if ids = binary.LittleEndian.AppendUint32(ids, id); len(ids) == idBytes {
			h.write(ids)
			ids = ids[:0]
		}
	}
	if !h.full() {
		h.write(ids)
	}
}

// idBytes is how many bytes of token ids are hashed at once.
const idBytes = 4096

// write hashes b, of which nothing is kept.
func (h *Hasher) write(b []byte) {
	for len(b) >= h.missing {
		if h.missing == h.size && h.size%32 == 0 && !h.chain.Leading {
			size := h.size
			h.append(link(b[:size], h.previous))
			if h.full() {
				return
			}
			b = b[size:]
			continue
		}
		h.digest.Write(b[:h.missing])
		b = b[h.missing:]
		h.end()
		h.begin()
		if h.full() {
			return
		}
	}
	h.digest.Write(b)
	h.missing -= len(b)
}
