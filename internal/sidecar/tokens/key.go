package tokens

import (
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
)

// cacheKey stands for a prompt in memory: two hashes whose seeds nobody outside knows.
type cacheKey [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// key stands for all that a prompt's tokens depend on.
func (p *Prompt) key() (k cacheKey) {
	values, _ := json.Marshal(p.TemplateValues)
	flags := []byte{bit(p.Chat), bit(p.AddGeneration), bit(p.Continue), 2}
	if p.AddSpecial != nil {
		flags[3] = bit(*p.AddSpecial)
	}
	parts := [][]byte{[]byte(p.Model), flags, []byte(p.Text), p.Messages, p.Tools, p.Choice, p.Documents,
		[]byte(p.Template), values, p.Processor, p.MediaIO, p.Reasoning, p.Task, p.InputIDs, p.Effort, p.Format}
	for i := range k {
		var h maphash.Hash
		h.SetSeed(seeds[i])
		for _, part := range parts {
			var length [8]byte
			binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
			_, _ = h.Write(length[:])
			_, _ = h.Write(part)
		}
		k[i] = h.Sum64()
	}
	return k
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
