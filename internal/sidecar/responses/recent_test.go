package responses

import (
	"fmt"
	"strings"
	"testing"
)

// TestRecentCountsAll: conversations with nothing in them take room, too.
func TestRecentCountsAll(t *testing.T) {
	var r recent
	tenant := strings.Repeat("t", 1000)
	for i := range 3 * mostRecent / len(tenant) {
		r.add(keyOf(tenant, fmt.Sprint("resp_", i)), nil)
	}
	if most := mostRecent / len(tenant); len(r.items) > most || r.order.Len() != len(r.items) {
		t.Errorf("%d conversations are remembered, %d in order; want at most %d", len(r.items), r.order.Len(), most)
	}
	r.add("a", []byte("1"))
	r.add("a", []byte("12"))
	if items, ok := r.get("a"); string(items) != "12" || !ok {
		t.Errorf("got %q, %v", items, ok)
	}
	for r.order.Len() > 0 {
		r.drop(r.order.Front())
	}
	if r.bytes != 0 {
		t.Errorf("%d bytes are counted of nothing", r.bytes)
	}
}
