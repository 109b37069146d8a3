package recording

import (
	"bytes"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// TestBlocksThatRepeat: blocks are read as they were written where one comes again without what was before it: of
// several prompts in one request each has a chain of its own, and images are no chain.
func TestBlocksThatRepeat(t *testing.T) {
	for _, test := range []struct {
		name    string
		prompts [][]uint64
	}{
		{"a prompt that goes on", [][]uint64{{1, 2}, {1, 2, 3}, {1, 4}}},
		{"the second of two, alone", [][]uint64{{1, 2, 3, 4}, {3, 4, 5}}},
		{"the second of two, behind another", [][]uint64{{1, 2, 3, 4}, {9, 3, 4}}},
		{"one prompt twice", [][]uint64{{1, 2, 1, 2}, {5, 6}, {5, 6, 7}, {1, 2, 3}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			const salt = Salt(7)
			var file bytes.Buffer
			w, err := NewWriter(&file, salt)
			if err != nil {
				t.Fatal(err)
			}
			for _, blocks := range test.prompts {
				e := journal.Event{Kind: journal.Decision, Chains: []journal.Chain{{ID: 64, Blocks: blocks}}}
				if err := w.Event(&e); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			for i, e := range readAll(t, file.Bytes()).events {
				want := slices.Clone(test.prompts[i])
				for k := range want {
					want[k] = salt.of(want[k])
				}
				if got := e.Chains[0].Blocks; !slices.Equal(got, want) {
					t.Errorf("prompt %d of the blocks %d: got %x, want %x", i, test.prompts[i], got, want)
				}
			}
		})
	}
}
