package scoring

import (
	"bytes"
	"testing"
)

// FuzzPrecisePrompt: what can be read is what AppendTo writes, and no bytes make it read beyond them.
func FuzzPrecisePrompt(f *testing.F) {
	p := PrecisePrompt{API: "chat", Chain: 256, Blocks: []uint64{1, 2}, TextBytes: 600, Body: []byte(`{"model":"m"}`)}
	one := p.AppendTo(nil)
	f.Add(one)
	f.Add(p.AppendTo(one))
	f.Add(one[:len(one)-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		var p PrecisePrompt
		rest, ok := p.Read(b)
		if !ok {
			return
		}
		read := b[:len(b)-len(rest)]
		if again := p.AppendTo(nil); !bytes.Equal(again, read) || p.Bytes() != len(read) {
			t.Errorf("%x was read as %+v, of %d bytes, which writes %x", read, p, p.Bytes(), again)
		}
	})
}
