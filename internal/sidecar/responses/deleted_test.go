package responses

import (
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
