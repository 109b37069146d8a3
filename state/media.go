package state

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/pintle-dev/pintle/openai"
)

// mediaChain is the number of media's hashes in the journal.
var mediaChain = Chain{Media: true}.ID()

// MediaHashes appends the hashes of the URLs or data of the first most different images, audios and videos of a prompt
// to dst.
func (h *Hasher) MediaHashes(dst []uint64, r *openai.Request, body []byte, most int) []uint64 {
	start := len(dst)
	for i := range r.Segments {
		s := &r.Segments[i]
		if !isMedia(s.Kind) || len(dst)-start == most {
			continue
		}
		if hash := h.mediaHash(s, body); !slices.Contains(dst[start:], hash) {
			dst = append(dst, hash)
		}
	}
	return dst
}

// mediaHash is the hash of the URL or data of a segment, however its characters were written.
func (h *Hasher) mediaHash(s *openai.Segment, body []byte) uint64 {
	raw := body[s.Start:s.End]
	if !s.Escaped {
		return xxhash.Sum64(raw)
	}
	h.key.Reset()
	for len(raw) > 0 {
		var piece []byte
		piece, raw = openai.UnescapedPiece(&h.one, raw)
		h.key.Write(piece)
	}
	return h.key.Sum64()
}
