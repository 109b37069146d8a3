package scoring

import (
	"bytes"
	"reflect"
	"testing"
)

// TestPrecisePrompts: requests are read as they were written, one behind another, and none that is cut short.
func TestPrecisePrompts(t *testing.T) {
	prompts := []PrecisePrompt{
		{API: "chat", Chain: 1<<63 + 1, Blocks: []uint64{1, 1<<63 + 2}, TextBytes: 600, Body: []byte(`{"model":"m"}`)},
		{API: "completions", Chain: 2, Blocks: []uint64{}, TextBytes: 0, Body: []byte{}},
		{API: "completions", Chain: 3, Blocks: []uint64{7}, TextBytes: 1<<31 - 1, Body: []byte("x")},
	}
	var b []byte
	for i := range prompts {
		before := len(b)
		if b = prompts[i].AppendTo(b); len(b)-before != prompts[i].Bytes() {
			t.Errorf("request %d has %d bytes, want %d", i, len(b)-before, prompts[i].Bytes())
		}
	}
	read := func(b []byte) (n int) {
		p := PrecisePrompt{Blocks: make([]uint64, 3)}
		for len(b) > 0 {
			rest, ok := p.Read(b)
			if !ok {
				break
			}
			if n < len(prompts) && !reflect.DeepEqual(p, prompts[n]) {
				t.Errorf("request %d is read as %+v, want %+v", n, p, prompts[n])
			}
			b, n = rest, n+1
		}
		return n
	}
	if n := read(b); n != len(prompts) {
		t.Errorf("%d requests are read, want %d", n, len(prompts))
	}
	if n := read(b[:len(b)-1]); n != len(prompts)-1 {
		t.Errorf("of requests that are cut short %d are read, want %d", n, len(prompts)-1)
	}
	b[4]++ // chat becomes an API that there is not
	if n := read(b); n != 0 {
		t.Errorf("%d requests for an unknown API are read, want none", n)
	}
}

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
