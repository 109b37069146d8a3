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
func MediaHashes(dst []uint64, r *openai.Request, body []byte, most int) []uint64 {
	start := len(dst)
	for i := range r.Segments {
		s := &r.Segments[i]
		if !isMedia(s.Kind) || len(dst)-start == most {
			continue
		}
		if hash := xxhash.Sum64(body[s.Start:s.End]); !slices.Contains(dst[start:], hash) {
			dst = append(dst, hash)
		}
	}
	return dst
}
