package replay

import (
	"math/bits"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// Request is one request of a trace.
type Request struct {
	// At is when it came, in seconds from the beginning of the trace.
	At float64
	// Model is the model that it was for, User a hash of who sent it, 0 for unknown.
	Model string
	User  uint64
	// Input and Output are the tokens of prompt and answer.
	Input, Output int
	// Stream is set when the answer was asked for as a stream.
	Stream bool
	// Prompt is what is known of the prompt's text.
	Prompt Prompt
	// Answer are the blocks that the answer adds to the prompt's, all of them whole; nil when nothing is known of the
	// answer's text.
	Answer []uint64
	// Recorded is what became of it, nil when the trace does not tell.
	Recorded *Recorded
}

// unseen reports whether nobody would see when the answer begins: it is no stream. Other traces than recordings do not
// tell.
func (r *Request) unseen() bool { return r.Recorded != nil && !r.Stream }

// Recorded is what became of a request when it was recorded.
type Recorded struct {
	// Endpoint is the journal's number of the server that answered.
	Endpoint uint64
	// Server is its place among the trace's Endpoints.
	Server int
	// Predicted is how many tokens of the prompt were believed to be cached there.
	Predicted int
	// TTFT and Duration are in seconds, 0 for unknown: an answer that is no stream comes as a whole, and nobody saw its
	// first token.
	TTFT, Duration float64
	// Cut is set where the answer did not come to its end.
	Cut bool
	// UsageKnown says whether the server told the tokens of prompt and answer.
	UsageKnown bool
	// Cached is how many tokens of the prompt the server found in its cache; CachedKnown says whether it told.
	Cached      int
	CachedKnown bool
}

// Prompt is a text of which the blocks are known. Blocks[i] stands for the text up to the end of block i: two prompts
// with the same number there are equal up to that end.
type Prompt struct {
	// Bytes is the length of the text, UnitBytes that of a block. The last block may be shorter.
	Bytes, UnitBytes int
	Blocks           []uint64
}

// AppendChain implements scoring.ChainSource. Blocks that are cut otherwise than the trace's are taken for equal where
// the trace's block around their end is.
func (p *Prompt) AppendChain(dst []uint64, model string, chain state.Chain, most int) []uint64 {
	if chain.BlockBytes < 1 || p.UnitBytes < 1 {
		return dst
	}
	salt := chain.ID() ^ bits.RotateLeft64(journal.HashName(model), 1)
	for i, end := 0, chain.Block(0); end <= p.Bytes && most > 0; end += chain.Block(i) {
		i++
		unit := (end - 1) / p.UnitBytes
		if unit >= len(p.Blocks) {
			break
		}
		dst = append(dst, mix(p.Blocks[unit]^mix(uint64(end)^salt)))
		most--
	}
	return dst
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
