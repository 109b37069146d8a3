package state

import (
	"bytes"
	"encoding/binary"

	"github.com/pintle-dev/pintle/openai"
)

// A chain with IDs is cut as llm-d's router cuts a prompt where it estimates tokens: 4 bytes are an id. The bytes are,
// without anything between:
//   - completions: each prompt alone, with a chain of its own;
//   - embeddings: JSON of the input, see frame;
//   - the Responses API: JSON of instructions, tools and input. Of an input of items only the role, text and media of
//     each count;
//   - every other API: tools as raw JSON; then the system text of the Messages API, without its role; then of each
//     message its role, and its text and media in order. Tool calls count in the Messages API alone.
//
// Token ids that were sent as such are ids. Media begin at a multiple of 4 bytes and are so many ids as the caller
// says, each made from the hash of the URL or data. The last block counts though it is not full.

// IDBlocks appends the hashes of the first most blocks of the prompts to dst, and the number of blocks of dst at the
// end of each prompt to ends. media is how many ids each segment of media is worth, in the order of segments. See
// Chain.IDs.
func (h *Hasher) IDBlocks(dst []uint64, ends []int32, model string, r *openai.Request, body []byte, chain Chain,
	most int, media []int32) ([]uint64, []int32) {
	if chain.BlockBytes < 1 || most < 1 {
		return dst, ends
	}
	h.chain, h.size, h.blocks, h.before = chain, chain.BlockBytes, dst, len(dst)
	h.most = len(dst) + most
	first := h.first(model, r)
	if r.API == openai.APICompletions {
		for i := range r.Segments {
			h.previous = first
			h.begin()
			h.segment(r, body, i)
			ends = h.endPrompt(ends)
		}
	} else {
		h.previous = first
		h.begin()
		h.messages(r, body, media)
		ends = h.endPrompt(ends)
	}
	dst, h.blocks = h.blocks, nil
	return dst, ends
}

// endPrompt ends the last block of a prompt.
func (h *Hasher) endPrompt(ends []int32) []int32 {
	if h.missing < h.size && !h.full() {
		h.end()
	}
	return append(ends, int32(len(h.blocks)))
}

func (h *Hasher) messages(r *openai.Request, body []byte, media []int32) {
	f := newFrame(r, body)
	for _, turn := range f.turns() {
		seen, opened := 0, false
		for i := range r.Segments {
			s := &r.Segments[i]
			n := int32(0)
			if isMedia(s.Kind) {
				n, seen = mediaAt(media, seen), seen+1
			}
			if turnOf(r.API, s) != turn || !counts(r.API, s) {
				continue
			}
			h.literal(f.before(turn, opened))
			opened = true
			if opensMessage(r, body, i) {
				h.literal(s.Role.String())
			}
			switch {
			case h.full():
			case isMedia(s.Kind):
				h.media(h.mediaHash(s, body), n)
			default:
				h.escapes = asJSON(r.API) && s.Kind == openai.SegmentText
				h.segment(r, body, i)
				h.escapes = false
			}
		}
		if opened {
			h.literal(f.after(turn))
		}
	}
	h.literal(f.end())
}

// literal writes a text that is not of the body.
func (h *Hasher) literal(text string) {
	if h.full() || text == "" {
		return
	}
	h.scratch = append(h.scratch[:0], text...)
	h.write(h.scratch)
}

func mediaAt(media []int32, i int) int32 {
	if i < len(media) {
		return media[i]
	}
	return 1
}

func isMedia(k openai.SegmentKind) bool {
	return k == openai.SegmentImage || k == openai.SegmentAudio || k == openai.SegmentVideo
}

// counts reports whether a segment is part of the bytes.
func counts(api openai.API, s *openai.Segment) bool {
	return s.Kind != openai.SegmentToolCall || api == openai.APIMessages
}

// mark of a message's role in the bytes between two segments.
var roleKey = []byte(`"role"`)

// opensMessage reports whether segment i is the first of its message that counts, before which the role then comes.
func opensMessage(r *openai.Request, body []byte, i int) bool {
	s := &r.Segments[i]
	if s.Kind == openai.SegmentTools || s.Role == openai.RoleNone || s.Role == openai.RoleOther ||
		turnOf(r.API, s) == system || r.API == openai.APIResponses && follows(body, s, inputKey) {
		return false
	}
	before := i - 1
	for before >= 0 && !counts(r.API, &r.Segments[before]) {
		before--
	}
	if before < 0 || r.Segments[before].Role != s.Role || r.Segments[before].Kind == openai.SegmentTools {
		return true
	}
	from := r.Segments[before].End
	return from < s.Start && bytes.Contains(body[from:s.Start], roleKey)
}

// media writes the ids of one image, audio or video.
func (h *Hasher) media(hash uint64, n int32) {
	var id [BytesPerToken]byte
	if odd := (h.size - h.missing) % BytesPerToken; odd != 0 {
		h.write(id[odd:])
	}
	binary.LittleEndian.PutUint32(id[:], uint32(hash))
	for ; n > 0 && !h.full(); n-- {
		h.write(id[:])
	}
}

// CountIDs is how many ids the prompts have, see Chain.IDs. Of texts with escapes only the length of all together is
// known: each counts by its share.
func CountIDs(r *openai.Request, body []byte, media []int32) int {
	if r.PromptTokens > 0 {
		return r.PromptTokens
	}
	if asJSON(r.API) {
		return countJSON(r, body, media)
	}
	escaped, plain := 0, 0
	for i := range r.Segments {
		switch s := &r.Segments[i]; {
		case s.Kind != openai.SegmentText:
		case s.Escaped:
			escaped += s.Len()
		default:
			plain += s.Len()
		}
	}
	share := 1.0
	if escaped > 0 && !r.SegmentsTruncated {
		share = float64(r.Bytes-plain) / float64(escaped)
	}
	ids, run, seen := 0, 0.0, 0
	for i := range r.Segments {
		s := &r.Segments[i]
		if !counts(r.API, s) {
			continue
		}
		if r.API == openai.APICompletions {
			ids, run = ids+wholeIDs(run), 0
		} else if opensMessage(r, body, i) {
			run += float64(len(s.Role.String()))
		}
		if isMedia(s.Kind) {
			ids += wholeIDs(run) + int(mediaAt(media, seen))
			run, seen = 0, seen+1
		} else if s.Escaped && s.Kind == openai.SegmentText {
			run += float64(s.Len()) * share
		} else {
			run += float64(s.Len())
		}
	}
	return ids + wholeIDs(run)
}

// wholeIDs is how many ids so many bytes make.
func wholeIDs(bytes float64) int { return (int(bytes+0.5) + BytesPerToken - 1) / BytesPerToken }
