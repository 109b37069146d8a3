package recording

import (
	"bytes"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// TestUnreadableEvents: an event that cannot be read is told of, and costs no other one. What is of a kind that nobody
// knows is passed over.
func TestUnreadableEvents(t *testing.T) {
	for _, test := range []struct {
		name    string
		kind    byte
		content []byte
		damaged int
	}{
		{"of another kind", 200, []byte{3, 1, 2, 3}, 0},
		{"too short", itemEvent, []byte{3, 1, 2, 3}, 1},
		{"cut off", itemEvent, []byte{100, 1}, 1},
		{"nothing", itemEvent, nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var file bytes.Buffer
			w, err := NewWriter(&file, 1)
			if err != nil {
				t.Fatal(err)
			}
			w.add(test.kind, test.content)
			if err := w.Event(&journal.Event{Kind: journal.Decision}); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if c := readAll(t, file.Bytes()); len(c.events) != 1 || c.damaged != test.damaged {
				t.Errorf("got %d events and %d damaged places, want 1 and %d", len(c.events), c.damaged, test.damaged)
			}
		})
	}
}

// TestFilesInARow: files of one recording that follow each other are read as one, and where one meets the next nothing
// is damaged.
func TestFilesInARow(t *testing.T) {
	file := record(t, 10)
	nothing := []byte(beginning)
	for _, test := range []struct {
		name            string
		files           [][]byte
		events, damaged int
	}{
		{"two", [][]byte{file, file}, 200, 0},
		{"one of nothing between", [][]byte{file, nothing, file}, 200, 0},
		{"nothing at the end", [][]byte{file, nothing}, 100, 0},
		{"the first is cut short", [][]byte{file[:len(file)-5], file}, 191, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := readAll(t, slices.Concat(test.files...))
			if len(c.events) != test.events || c.damaged != test.damaged {
				t.Errorf("got %d events and %d damaged places, want %d and %d", len(c.events), c.damaged, test.events,
					test.damaged)
			}
		})
	}
}
