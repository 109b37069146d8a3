package journal

import "encoding/binary"

// Decode reads one event off the front of src into e and reuses e's memory. size is how many bytes it takes. Fields
// that the writer did not know are 0; kinds, flags, fixed fields and sections that are unknown here are passed over. ok
// is false, and e holds nothing of use, when src does not begin with an event; it never panics.
func (e *Event) Decode(src []byte) (size int, ok bool) {
	if len(src) < headBytes {
		return 0, false
	}
	length, fixed := binary.LittleEndian.Uint32(src), int(binary.LittleEndian.Uint16(src[4:]))
	if length > maxEventBytes || length%8 != 0 || int(length) > len(src) || fixed < headBytes || fixed%8 != 0 ||
		fixed > int(length) {
		return 0, false
	}
	size = int(length)
	b := src[:fixed]
	if fixed < eventBytes { // of an earlier version
		b = append(make([]byte, 0, eventBytes), b...)[:eventBytes]
	}
	e.decodeFixed(b)
	return size, e.decodeSections(src[fixed:size])
}

func (e *Event) decodeFixed(b []byte) {
	flags := binary.LittleEndian.Uint16(b[28:])
	e.Kind = Kind(b[6])
	e.Time = int64(binary.LittleEndian.Uint64(b[8:]))
	e.Instance = binary.LittleEndian.Uint64(b[16:])
	e.Lease = binary.LittleEndian.Uint32(b[24:])
	e.Cold, e.Streamed = flags&flagCold != 0, flags&flagStreamed != 0
	e.UsageReported, e.CachedReported = flags&flagUsageReported != 0, flags&flagCachedReported != 0
	e.Predicted, e.Relayed = flags&flagPredicted != 0, flags&flagRelayed != 0
	e.Status = binary.LittleEndian.Uint16(b[30:])
	e.Primary = binary.LittleEndian.Uint64(b[32:])
	e.Prefill, e.Tried = binary.LittleEndian.Uint64(b[40:]), 0
	if e.Kind == Completion || e.Kind == Began {
		e.Prefill, e.Tried = 0, e.Prefill
	}
	e.Model = binary.LittleEndian.Uint64(b[48:])
	e.User = binary.LittleEndian.Uint64(b[56:])
	e.InputTokens, e.Held = binary.LittleEndian.Uint32(b[64:]), 0
	if e.Kind == Held {
		e.InputTokens, e.Held = 0, e.InputTokens
	}
	e.OutputTokens = binary.LittleEndian.Uint32(b[68:])
	e.CachedTokens = binary.LittleEndian.Uint32(b[72:])
	e.TTFTMicros = binary.LittleEndian.Uint32(b[76:])
	e.DurationMicros = binary.LittleEndian.Uint32(b[80:])
	e.Ended, e.Code = Ending(b[84]), binary.LittleEndian.Uint16(b[86:])
	e.Client = binary.LittleEndian.Uint64(b[88:])
	e.PromptBytes = binary.LittleEndian.Uint32(b[96:])
	e.PredictedTokens = binary.LittleEndian.Uint32(b[100:])
	e.Profile, e.Reason = binary.LittleEndian.Uint64(b[104:]), 0
	if e.Kind == Refused {
		e.Profile, e.Reason = 0, e.Profile
	}
	e.Asked = binary.LittleEndian.Uint64(b[112:])
	e.PrimaryLoad = binary.LittleEndian.Uint32(b[120:])
	e.PrefillLoad = binary.LittleEndian.Uint32(b[124:])
	e.EncodeLoad = binary.LittleEndian.Uint32(b[128:])
	e.Priority = int32(binary.LittleEndian.Uint32(b[132:]))
	e.Fairness = binary.LittleEndian.Uint64(b[136:])
	e.Missed = 0
}

// decodeSections reads the lists behind the fixed part. Of those with more than an event can hold here the beginning is
// taken.
func (e *Event) decodeSections(src []byte) (ok bool) {
	e.Encode, e.Chains, e.Sessions, e.Steps = e.Encode[:0], e.Chains[:0], e.Sessions[:0], nil
	e.Shadow, e.Shadowed = e.Shadow[:0], Shadowed{}
	room := MaxBlocks
	for len(src) > 0 {
		end := sectionBytes + 8*int(binary.LittleEndian.Uint16(src[2:]))
		if end > len(src) {
			return false
		}
		tag, words := binary.LittleEndian.Uint16(src), src[sectionBytes:end]
		src = src[end:]
		switch {
		case tag == tagEncode:
			e.Encode = decodeHashes(e.Encode, words, MaxEncode)
		case tag == tagChain && len(words) > 0 && len(e.Chains) < MaxChains:
			room -= decodeChain(&e.Chains, words, room)
		case tag == tagSessions:
			for ; len(words) >= 16 && len(e.Sessions) < MaxSessions; words = words[16:] {
				e.Sessions = append(e.Sessions,
					Session{binary.LittleEndian.Uint64(words), binary.LittleEndian.Uint64(words[8:])})
			}
		case tag == tagSteps && len(words) > 8:
			e.Steps = words[8 : 8+min(binary.LittleEndian.Uint32(words), uint32(len(words)-8))]
		case tag == tagShadow && len(words) > 0 && len(e.Shadow) < MaxChains:
			room -= decodeChain(&e.Shadow, words, room)
		case tag == tagShadowed && len(words) >= shadowedBytes-sectionBytes:
			e.Shadowed = decodeShadowed(words)
		}
	}
	return true
}

func decodeShadowed(words []byte) Shadowed {
	return Shadowed{
		Decided: true, Primary: binary.LittleEndian.Uint64(words),
		Cached:       binary.LittleEndian.Uint32(words[8:]),
		ActingCached: binary.LittleEndian.Uint32(words[12:]),
		Load:         binary.LittleEndian.Uint32(words[16:]),
		ActingLoad:   binary.LittleEndian.Uint32(words[20:]),
	}
}

// decodeChain adds a chain of at most room blocks, in the memory of the one that was in its place, and returns how many
// it has.
func decodeChain(to *[]Chain, words []byte, room int) (blocks int) {
	n := len(*to)
	if n < cap(*to) {
		*to = (*to)[:n+1]
	} else {
		*to = append(*to, Chain{Blocks: []uint64{}})
	}
	chain := &(*to)[n]
	chain.ID = binary.LittleEndian.Uint64(words)
	chain.Blocks = decodeHashes(chain.Blocks[:0], words[8:], room)
	return len(chain.Blocks)
}

// decodeHashes appends the hashes in src to dst until it has most.
func decodeHashes(dst []uint64, src []byte, most int) []uint64 {
	for len(src) > 0 && len(dst) < most {
		dst = append(dst, binary.LittleEndian.Uint64(src))
		src = src[8:]
	}
	return dst
}
