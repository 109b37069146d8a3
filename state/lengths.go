package state

import "github.com/pintle-dev/pintle/journal"

const (
	// mostLengths is of how many models the length of a token is known; the one with the fewest bytes makes way.
	mostLengths = 64
	// mostLengthBytes bounds what one prompt adds, lengthBytes what all together count before older ones count half.
	mostLengthBytes = 1 << 14
	lengthBytes     = 1 << 20
	// A token is taken to be 1 to 16 bytes.
	leastTokensPerByte, mostTokensPerByte = 1.0 / 16, 1.0
)

// Lengths is how many tokens a byte of prompt text makes, by model, as servers reported the tokens of prompts. Each
// request has a bounded part in it: no more than 16 KiB of the last megabyte or half megabyte.
type Lengths struct {
	everywhere
	models []length
}

type length struct {
	model         uint64
	bytes, tokens float64
}

// Expire does nothing: what models make of text does not change.
func (*Lengths) Expire(int64) {}

// apply implements part.
func (l *Lengths) apply(s *step) {
	if s.Kind != journal.Completion || s.Status != 200 || !s.UsageReported || s.InputTokens == 0 ||
		s.PromptBytes == 0 || s.Model == 0 {
		return
	}
	perByte := min(max(float64(s.InputTokens)/float64(s.PromptBytes), leastTokensPerByte), mostTokensPerByte)
	bytes := float64(min(s.PromptBytes, mostLengthBytes))
	m := l.of(s.Model)
	m.bytes, m.tokens = m.bytes+bytes, m.tokens+bytes*perByte
	if m.bytes > lengthBytes {
		m.bytes, m.tokens = m.bytes/2, m.tokens/2
	}
}

// of is the place of a model, a new one if it is not known.
func (l *Lengths) of(model uint64) *length {
	least := 0
	for i := range l.models {
		if l.models[i].model == model {
			return &l.models[i]
		}
		if l.models[i].bytes < l.models[least].bytes {
			least = i
		}
	}
	if len(l.models) < mostLengths {
		l.models = append(l.models, length{})
		least = len(l.models) - 1
	}
	l.models[least] = length{model: model}
	return &l.models[least]
}

// TokensPerByte is how many tokens a byte of text makes for a model; ok is false as long as too little is known.
func (l *Lengths) TokensPerByte(model uint64) (perByte float64, ok bool) {
	const enough = 4096
	for i := range l.models {
		if m := &l.models[i]; m.model == model && m.bytes >= enough {
			return m.tokens / m.bytes, true
		}
	}
	return 0, false
}

// MemoryBytes implements part.
func (l *Lengths) MemoryBytes() int { return cap(l.models) * 24 }
