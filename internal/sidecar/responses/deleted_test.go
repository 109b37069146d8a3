package responses

import (
	"path/filepath"
	"testing"
	"time"
)

// TestDeletedStaysDeleted: the filter tells a response again if it did not hear in time that it was stored.
func TestDeletedStaysDeleted(t *testing.T) {
	c := open(t, memoryOf(10, 1<<20))
	m := c.s.backend.(*memory)
	now := time.Now()
	m.now = func() time.Time { return now }
	for range 2 {
		if status := c.store("", `"a"`, answer("r1", "b")); status != 204 {
			t.Fatalf("told: got %d, want 204", status)
		}
		if len(m.deleted) == 0 {
			c.want(200, "DELETE", "responses/r1")
		}
	}
	c.want(404, "GET", "responses/r1")
	now = now.Add(deletedFor)
	if m.sweep(); len(m.deleted) > 0 {
		t.Errorf("%d deleted ones are remembered after %v", len(m.deleted), deletedFor)
	}
}

// TestDeletedStaysDeletedOverARestart: the filter goes on to tell it to the next process.
func TestDeletedStaysDeletedOverARestart(t *testing.T) {
	config := memoryOf(10, 1<<20)
	config.Memory.File = filepath.Join(t.TempDir(), "responses")
	first := open(t, config)
	for _, id := range []string{"r1", "r2"} {
		if status := first.store("", `"a"`, answer(id, "b")); status != 204 {
			t.Fatalf("told %s: got %d, want 204", id, status)
		}
	}
	first.want(200, "DELETE", "responses/r1")
	if err := first.s.backend.Close(); err != nil {
		t.Fatal(err)
	}
	c := open(t, config)
	if status := c.store("", `"a"`, answer("r1", "b")); status != 204 {
		t.Errorf("told again: got %d, want 204", status)
	}
	c.want(404, "GET", "responses/r1")
	c.want(200, "GET", "responses/r2")
}
