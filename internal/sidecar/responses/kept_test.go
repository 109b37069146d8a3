package responses

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestToldAgain: a response that is told twice takes the place of one.
func TestToldAgain(t *testing.T) {
	c := open(t, memoryOf(100, 1<<20))
	m := c.s.backend.(*memory)
	var first int64
	for range 3 {
		if status := c.store("", `"a"`, answer("r1", "b")); status != 204 {
			t.Fatalf("got %d, want 204", status)
		}
		entries, size := m.size()
		if first == 0 {
			first = size
		}
		if entries != 1 || size != first || m.used.Len() != 1 {
			t.Errorf("got %d entries of %d bytes in %d places, want one of %d", entries, size, m.used.Len(), first)
		}
	}
}

// TestTurnsShareTheFile: in the file, too, a turn is without those before it, unless these are no longer kept.
func TestTurnsShareTheFile(t *testing.T) {
	const long = 100 << 10
	for _, test := range []struct {
		name    string
		deleted bool
		most    int64 // that the second turn takes
	}{{"kept", false, 1 << 10}, {"deleted", true, long + 1<<10}} {
		t.Run(test.name, func(t *testing.T) {
			config := memoryOf(100, 1<<20)
			config.Memory.File = filepath.Join(t.TempDir(), "responses")
			c := open(t, config)
			defer c.s.backend.Close()
			c.store("", `"`+strings.Repeat("a", long)+`"`, answer("r1", "b"))
			c.want(200, "GET", "history/r1")
			if test.deleted {
				c.want(200, "DELETE", "responses/r1")
			}
			journal := c.s.backend.(*memory).journal
			before := journal.written
			c.store("r1", `"c"`, answer("r2", "d"))
			if took := journal.written - before; took > test.most || took < test.most-1<<10 {
				t.Errorf("took %d bytes, want up to %d", took, test.most)
			}
		})
	}
}

// TestCopyThatLacksSomething: a copy of the file that could not take all that came meanwhile does not take its place.
func TestCopyThatLacksSomething(t *testing.T) {
	config := memoryOf(100, 1<<20).Memory
	config.File = filepath.Join(t.TempDir(), "responses")
	m, err := newMemory(config, newMetrics(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	put := func(id string) {
		t.Helper()
		if err := m.Put(t.Context(), &Entry{ID: id, Expires: time.Now().Add(time.Hour),
			Response: bytes.Repeat([]byte(" "), 1<<20)}); err != nil {
			t.Error(err)
		}
	}
	copied := false
	m.journal.sync = func(f *os.File) error {
		copied = true
		_ = f.Close() // nothing more gets there
		put("meanwhile")
		return nil
	}
	for !copied {
		put("a")
	}
	if m.Trouble() == "" {
		t.Error("got no trouble, want that the file could not be written anew")
	}
	put("later")
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if m, err = newMemory(config, newMetrics(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	for _, id := range []string{"a", "meanwhile", "later"} {
		if _, err := m.Get(t.Context(), id+":"); err != nil {
			t.Errorf("%s: %v, want it kept", id, err)
		}
	}
}
