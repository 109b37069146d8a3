package journal

import (
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// What one event can hold. AppendEvent leaves out what is beyond: of longer prompts the first blocks count. MaxBlocks
// is the number of all chains' blocks together.
const (
	MaxBlocks = 1024
	MaxChains = 8
	MaxEncode = 16
	// MaxSessions bounds the sessions of one event.
	MaxSessions = 4
)

const (
	// headBytes is the part of an event that every version of the format has.
	headBytes = 32
	// eventBytes is the fixed part as this version writes it.
	eventBytes = 144
	// maxEventBytes bounds an event of any version, maxWrittenBytes those of this one without steps.
	maxEventBytes   = 10 << 10
	maxWrittenBytes = eventBytes + sectionBytes + 8*MaxEncode + sectionBytes + 16*MaxSessions + shadowedBytes +
		2*MaxChains*(sectionBytes+8) + 8*MaxBlocks

	flagCold           = 1
	flagStreamed       = 2
	flagUsageReported  = 4
	flagCachedReported = 8
	flagPredicted      = 16
	flagRelayed        = 32
)

// A section is a list behind the fixed part: its tag (2 bytes), its length in words of 8 bytes (2), zero (4), the
// words.
const (
	sectionBytes = 8

	tagEncode = 1
	// tagChain is a chain: its ID, then its blocks.
	tagChain = 2
	// tagSessions are pairs: a session, its endpoint.
	tagSessions = 3
	// tagSteps is the length of the steps in bytes (4), zero (4), the steps.
	tagSteps = 4
	// tagShadow is a chain of a shadow's.
	tagShadow = 5
	// tagShadowed is a Shadowed: where to, then the four numbers (4 each).
	tagShadowed   = 6
	shadowedBytes = sectionBytes + 24
)

// EndpointID is the number by which events name an endpoint: the XXH64 of its name, never 0.
func EndpointID(name string) uint64 {
	if id := xxhash.Sum64String(name); id != 0 {
		return id
	}
	return 1
}

// HashName is the number by which events name a model, a user or a client: 0 for the empty name, else the XXH64 of it,
// never 0.
func HashName(name string) uint64 {
	if name == "" {
		return 0
	}
	return EndpointID(name)
}

// AppendEvent appends the encoding of e to dst. Every event but a Missed can be encoded. It allocates only when dst is
// too small.
func AppendEvent(dst []byte, e *Event) []byte {
	start := len(dst)
	dst = slices.Grow(dst, maxEventBytes)[:start+eventBytes]
	putFixed(dst[start:], e)
	if encode := e.Encode[:min(len(e.Encode), MaxEncode)]; len(encode) > 0 {
		dst = appendHashes(appendSection(dst, tagEncode, len(encode)), encode)
	}
	dst, room := appendChains(dst, tagChain, e.Chains, MaxBlocks)
	dst, _ = appendChains(dst, tagShadow, e.Shadow, room)
	if sessions := e.Sessions[:min(len(e.Sessions), MaxSessions)]; len(sessions) > 0 {
		dst = appendSection(dst, tagSessions, 2*len(sessions))
		for _, s := range sessions {
			dst = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, s.ID), s.Endpoint)
		}
	}
	if e.Shadowed.Decided {
		dst = appendShadowed(dst, &e.Shadowed)
	}
	if left := maxEventBytes - (len(dst) - start) - sectionBytes - 8; len(e.Steps) > 0 && left > 0 {
		dst = appendSteps(dst, e.Steps[:min(len(e.Steps), left)])
	}
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}

func appendShadowed(dst []byte, x *Shadowed) []byte {
	dst = appendSection(dst, tagShadowed, (shadowedBytes-sectionBytes)/8)
	dst = binary.LittleEndian.AppendUint64(dst, x.Primary)
	for _, n := range [...]uint32{x.Cached, x.ActingCached, x.Load, x.ActingLoad} {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return dst
}

// appendSteps appends steps, filled up to whole words.
func appendSteps(dst, steps []byte) []byte {
	words := (len(steps) + 7) / 8
	dst = appendSection(dst, tagSteps, 1+words)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(steps)))
	dst = append(dst, steps...)
	for range words*8 - len(steps) {
		dst = append(dst, 0)
	}
	return dst
}

// appendChains appends chains with at most room blocks in all, and returns what room is left.
func appendChains(dst []byte, tag uint16, chains []Chain, room int) (all []byte, left int) {
	for i := range chains[:min(len(chains), MaxChains)] {
		chain := &chains[i]
		blocks := chain.Blocks[:min(len(chain.Blocks), room)]
		room -= len(blocks)
		dst = appendSection(dst, tag, 1+len(blocks))
		dst = appendHashes(binary.LittleEndian.AppendUint64(dst, chain.ID), blocks)
	}
	return dst, room
}

// putFixed writes the fixed part; the event's size is left to the caller.
func putFixed(b []byte, e *Event) {
	other := e.Prefill
	if e.Kind == Completion || e.Kind == Began {
		other = e.Tried
	}
	binary.LittleEndian.PutUint16(b[4:], eventBytes)
	b[6], b[7] = byte(e.Kind), 0
	binary.LittleEndian.PutUint64(b[8:], uint64(e.Time))
	binary.LittleEndian.PutUint64(b[16:], e.Instance)
	binary.LittleEndian.PutUint32(b[24:], e.Lease)
	binary.LittleEndian.PutUint16(b[28:], flagsOf(e))
	binary.LittleEndian.PutUint16(b[30:], e.Status)
	binary.LittleEndian.PutUint64(b[32:], e.Primary)
	binary.LittleEndian.PutUint64(b[40:], other)
	binary.LittleEndian.PutUint64(b[48:], e.Model)
	binary.LittleEndian.PutUint64(b[56:], e.User)
	input := e.InputTokens
	if e.Kind == Held {
		input = e.Held
	}
	binary.LittleEndian.PutUint32(b[64:], input)
	binary.LittleEndian.PutUint32(b[68:], e.OutputTokens)
	binary.LittleEndian.PutUint32(b[72:], e.CachedTokens)
	binary.LittleEndian.PutUint32(b[76:], e.TTFTMicros)
	binary.LittleEndian.PutUint32(b[80:], e.DurationMicros)
	b[84], b[85] = byte(e.Ended), 0
	binary.LittleEndian.PutUint16(b[86:], e.Code)
	binary.LittleEndian.PutUint64(b[88:], e.Client)
	binary.LittleEndian.PutUint32(b[96:], e.PromptBytes)
	binary.LittleEndian.PutUint32(b[100:], e.PredictedTokens)
	why := e.Profile
	if e.Kind == Refused {
		why = e.Reason
	}
	binary.LittleEndian.PutUint64(b[104:], why)
	binary.LittleEndian.PutUint64(b[112:], e.Asked)
	binary.LittleEndian.PutUint32(b[120:], e.PrimaryLoad)
	binary.LittleEndian.PutUint32(b[124:], e.PrefillLoad)
	binary.LittleEndian.PutUint32(b[128:], e.EncodeLoad)
	binary.LittleEndian.PutUint32(b[132:], uint32(e.Priority))
	binary.LittleEndian.PutUint64(b[136:], e.Fairness)
}

func flagsOf(e *Event) (flags uint16) {
	if e.Cold {
		flags |= flagCold
	}
	if e.Streamed {
		flags |= flagStreamed
	}
	if e.UsageReported {
		flags |= flagUsageReported
	}
	if e.CachedReported {
		flags |= flagCachedReported
	}
	if e.Predicted {
		flags |= flagPredicted
	}
	if e.Relayed {
		flags |= flagRelayed
	}
	return flags
}

func appendSection(dst []byte, tag uint16, words int) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, tag)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(words))
	return append(dst, 0, 0, 0, 0)
}

func appendHashes(dst []byte, hashes []uint64) []byte {
	for _, hash := range hashes {
		dst = binary.LittleEndian.AppendUint64(dst, hash)
	}
	return dst
}
