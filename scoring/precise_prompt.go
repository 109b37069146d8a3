package scoring

import "encoding/binary"

// PrecisePrompt is a request whose prompt the sidecar is handed after the decision, with the blocks of text that the
// filter made of it.
type PrecisePrompt struct {
	// API is chat or completions.
	API string
	// Chain is the number of the way of cutting, Blocks the hashes, TextBytes how long the text is.
	Chain     uint64
	Blocks    []uint64
	TextBytes int
	// Body is the client's request.
	Body []byte
}

// Requests are handed over one behind another, each with a head, all numbers little-endian.
const precisePromptBytes = 24

// AppendTo appends p to dst.
func (p *PrecisePrompt) AppendTo(dst []byte) []byte {
	api := uint32(0)
	if p.API == "chat" {
		api = 1
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(p.Body)))
	dst = binary.LittleEndian.AppendUint32(dst, api)
	dst = binary.LittleEndian.AppendUint64(dst, p.Chain)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(p.TextBytes))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(p.Blocks)))
	for _, block := range p.Blocks {
		dst = binary.LittleEndian.AppendUint64(dst, block)
	}
	return append(dst, p.Body...)
}

// Bytes is how many AppendTo appends.
func (p *PrecisePrompt) Bytes() int { return precisePromptBytes + 8*len(p.Blocks) + len(p.Body) }

// Read fills p from the front of b and returns what is behind it; ok is false when there is nothing that AppendTo
// wrote. Body aliases b.
func (p *PrecisePrompt) Read(b []byte) (rest []byte, ok bool) {
	if len(b) < precisePromptBytes {
		return nil, false
	}
	body, api := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	blocks := binary.LittleEndian.Uint32(b[20:])
	p.Chain, p.TextBytes = binary.LittleEndian.Uint64(b[8:]), int(binary.LittleEndian.Uint32(b[16:]))
	b = b[precisePromptBytes:]
	if api > 1 || uint64(blocks)*8+uint64(body) > uint64(len(b)) {
		return nil, false
	}
	p.API = [...]string{"completions", "chat"}[api]
	p.Blocks = p.Blocks[:0]
	for range blocks {
		p.Blocks = append(p.Blocks, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	p.Body = b[:body]
	return b[body:], true
}
