package recording

import (
	"slices"
	"testing"
)

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
			if c := readAll(t, slices.Concat(test.files...)); len(c.events) != test.events || c.damaged != test.damaged {
				t.Errorf("got %d events and %d damaged places, want %d and %d", len(c.events), c.damaged, test.events,
					test.damaged)
			}
		})
	}
}
