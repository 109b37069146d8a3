package recording

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// chainOf is a chain as a recording has it: it says to have so many further blocks, and has hashes from 1 on.
func chainOf(reference, further uint64, hashes int) []byte {
	chain := binary.LittleEndian.AppendUint64(nil, 64)
	chain = binary.AppendUvarint(binary.AppendUvarint(chain, reference), further)
	for i := range hashes {
		chain = binary.LittleEndian.AppendUint64(chain, uint64(i+1))
	}
	return chain
}

// TestChains: a chain that makes no sense is left out with those behind it, and the event stays.
func TestChains(t *testing.T) {
	many := make([][]byte, journal.MaxChains+1)
	for i := range many {
		many[i] = chainOf(0, 1, 1)
	}
	const most = journal.MaxBlocks
	for _, c := range []struct {
		name   string
		chains [][]byte
		want   []int // blocks of each
	}{
		{"one that goes on with another", [][]byte{chainOf(0, 3, 3), chainOf(2, 1, 1)}, []int{3, 3}},
		{"as many blocks as may be", [][]byte{chainOf(0, most-1, most-1), chainOf(most-1, 1, 1)},
			[]int{most - 1, most}},
		{"one block more", [][]byte{chainOf(0, most+1, most+1), chainOf(0, 1, 1)}, nil},
		{"more blocks than can be counted", [][]byte{chainOf(0, 1<<63, 0), chainOf(0, 1, 1)}, nil},
		{"one more with those before", [][]byte{chainOf(0, most, most), chainOf(most, 1, 1)}, []int{most}},
		{"a block that is not there", [][]byte{chainOf(0, 2, 2), chainOf(3, 1, 1)}, []int{2}},
		{"a block before all", [][]byte{chainOf(1, 1, 1)}, nil},
		{"fewer hashes than it says", [][]byte{chainOf(0, 3, 2)}, nil},
		{"more chains than may be", many, slices.Repeat([]int{1}, journal.MaxChains)},
		{"cut off in its id", [][]byte{chainOf(0, 1, 1), {1, 2, 3}}, []int{1}},
		{"cut off behind its id", [][]byte{chainOf(0, 1, 1), chainOf(0, 0, 0)[:8]}, []int{1}},
		{"cut off behind its reference", [][]byte{chainOf(0, 1, 1), chainOf(0, 0, 0)[:9]}, []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var file bytes.Buffer
			w, err := NewWriter(&file, 1)
			if err != nil {
				t.Fatal(err)
			}
			event := journal.AppendEvent(nil, &journal.Event{Kind: journal.Decision, Lease: 7})
			content := append(binary.AppendUvarint(nil, uint64(len(event))), event...)
			content = binary.AppendUvarint(content, uint64(len(c.chains)))
			w.add(itemEvent, slices.Concat(content, slices.Concat(c.chains...)))
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			all := readAll(t, file.Bytes())
			if len(all.events) != 1 || all.events[0].Lease != 7 {
				t.Fatalf("got the events %+v, want one of lease 7", all.events)
			}
			var got []int
			for _, chain := range all.events[0].Chains {
				got = append(got, len(chain.Blocks))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got chains of %v blocks, want %v", got, c.want)
			}
		})
	}
}

// TestLengthOfADamagedFrame: a head that tells of more than a frame may have costs no memory.
func TestLengthOfADamagedFrame(t *testing.T) {
	file := record(t, 1000)
	head := len(magic) + 1
	bad := append([]byte(frameMagic), make([]byte, frameHeadBytes-len(frameMagic))...)
	binary.LittleEndian.PutUint32(bad[len(frameMagic):], mostBody+1)
	r, err := NewReader(bytes.NewReader(slices.Concat(file[:head], bad, file[head:])))
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	for {
		item, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if item.Event != nil {
			events++
		}
	}
	if want := len(readAll(t, file).events); events != want || r.Damaged != 1 || r.in.Size() > mostBody {
		t.Errorf("got %d events, %d damaged places and a buffer of %d bytes, want %d, 1 and no more than %d", events,
			r.Damaged, r.in.Size(), want, mostBody)
	}
}

// TestKeepsNone: where no full file is to be kept, the next one takes its place.
func TestKeepsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r")
	f := &File{Path: path, Size: 1} // a file for each event
	for _, e := range events()[:3] {
		w, err := f.Writer()
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(path + "*")
	text, err := os.ReadFile(path)
	if err != nil || !slices.Equal(files, []string{path}) {
		t.Fatalf("got the files %q, %v, want %q", files, err, path)
	}
	if got, want := readAll(t, text).events, events()[2]; len(got) != 1 || got[0].Lease != want.Lease {
		t.Errorf("got %+v, want the last event alone, of lease %d", got, want.Lease)
	}
}
