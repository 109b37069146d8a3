package scoring

import (
	"bytes"
	"math"
	"testing"
)

// FuzzPreciseMatches: what can be read is what AppendTo writes, and scores in no candidate's favour that has no blocks.
func FuzzPreciseMatches(f *testing.F) {
	m := PreciseMatches{Tokens: 100, Blocks: 6, BlockTokens: 16, Lookup: 7, Holders: []PreciseHolder{
		{ID: 1, Blocks: 6, Tokens: 96, Score: 6}, {ID: 2, Blocks: 1, Tokens: 16, Score: 0.8},
	}}
	whole := m.AppendTo(nil)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(append(whole, whole[preciseHeadBytes:]...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var m PreciseMatches
		if !m.Read(b) {
			return
		}
		for _, h := range m.Holders {
			if h.Blocks <= 0 || h.Tokens > m.Tokens || math.IsNaN(h.Score) || h.Score < 0 || math.IsInf(h.Score, 0) {
				t.Errorf("%x was read with %+v of %d tokens", b, h, m.Tokens)
			}
		}
		if again := m.AppendTo(nil); !bytes.Equal(again, b) && !capped(&m) {
			t.Errorf("%x was read as %+v, which writes %x", b, m, again)
		}
	})
}

// capped reports whether a number was larger than is read.
func capped(m *PreciseMatches) bool {
	most := max(m.Tokens, m.Blocks, m.BlockTokens)
	for _, h := range m.Holders {
		most = max(most, h.Blocks, h.Tokens)
	}
	return most == math.MaxInt32
}
