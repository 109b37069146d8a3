package scoring

import (
	"bytes"
	"math"
	"reflect"
	"testing"
)

// TestPreciseWire: what is written is read, into whatever was there, and what nobody writes is not.
func TestPreciseWire(t *testing.T) {
	whole := func() PreciseMatches {
		return PreciseMatches{Tokens: 100, Blocks: 6, BlockTokens: 16, Lookup: 1<<63 + 7, Holders: []PreciseHolder{
			{ID: 1<<63 + 1, Blocks: 6, Tokens: 100, Score: 6}, {ID: 2, Blocks: 1, Tokens: 16, Score: 0},
		}}
	}
	for _, tc := range []struct {
		name   string
		change func(m *PreciseMatches)
		cut    int // of its bytes
		ok     bool
	}{
		{"as it is", func(*PreciseMatches) {}, 0, true},
		{"nobody", func(m *PreciseMatches) { m.Holders = []PreciseHolder{} }, 0, true},
		{"no lookup", func(m *PreciseMatches) { m.Lookup = 0 }, 0, true},
		{"no blocks of the prompt", func(m *PreciseMatches) { m.Blocks = 0 }, 0, true},
		{"blocks of nothing", func(m *PreciseMatches) { m.BlockTokens = 0 }, 0, false},
		{"somebody with nothing", func(m *PreciseMatches) { m.Holders[1].Blocks = 0 }, 0, false},
		{"more tokens than the prompt has", func(m *PreciseMatches) { m.Holders[0].Tokens = 101 }, 0, false},
		{"worth less than nothing", func(m *PreciseMatches) { m.Holders[1].Score = -1 }, 0, false},
		{"worth as much as may be", func(m *PreciseMatches) { m.Holders[1].Score = math.MaxInt32 }, 0, true},
		{"worth more", func(m *PreciseMatches) { m.Holders[1].Score = math.MaxInt32 + 1 }, 0, false},
		{"worth no number", func(m *PreciseMatches) { m.Holders[1].Score = math.NaN() }, 0, false},
		{"cut short", func(*PreciseMatches) {}, 1, false},
		{"cut behind somebody", func(*PreciseMatches) {}, preciseEntryBytes, false},
		{"the head alone", func(*PreciseMatches) {}, 2 * preciseEntryBytes, false},
		{"less than the head", func(m *PreciseMatches) { m.Holders = nil }, 1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want, got := whole(), PreciseMatches{Tokens: 1, Holders: make([]PreciseHolder, 5)}
			tc.change(&want)
			b := want.AppendTo([]byte("in front"))[8:]
			ok := got.Read(b[:len(b)-tc.cut])
			if ok != tc.ok || ok && !reflect.DeepEqual(got, want) {
				t.Errorf("read %v as %+v, want %v and %+v", ok, got, tc.ok, want)
			}
		})
	}
	m := whole()
	for at, name := range map[int]string{0: "another version", 16: "another number of holders"} {
		b := m.AppendTo(nil)
		b[at]++
		if m := whole(); m.Read(b) {
			t.Errorf("%s is read", name)
		}
	}
}

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
