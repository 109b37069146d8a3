package state

import (
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// TestPendingPages: when all room is taken, those prompts make room that have waited longest; what has ended, takes
// none.
func TestPendingPages(t *testing.T) {
	const perPage = 4
	e := journal.Event{Instance: 9, Chains: []journal.Chain{{Blocks: chain(1, pageWords/perPage-2)}}}
	open := func(ended bool) (q pending, last uint32) {
		q.init(1)
		for last < perPage*pendingPages {
			last++
			e.Lease = last
			q.put(&e, 0, &memory{})
			if ended {
				q.drop(e.Instance, last)
			}
		}
		return q, last
	}
	q, last := open(false)
	for turn := range uint32(3) {
		e.Lease = last + 1 + turn*perPage
		for range perPage {
			q.put(&e, 0, &memory{})
			e.Lease++
		}
		for lease := uint32(1); lease < e.Lease; lease++ {
			if got, want := q.find(9, lease) != nil, lease > (turn+1)*perPage; got != want {
				t.Fatalf("%d pages beyond the room: prompt %d waits: %v, want %v", turn+1, lease, got, want)
			}
		}
	}
	if q, _ := open(true); len(q.pages) > 2 {
		t.Errorf("prompts that ended take %d pages, want 2 at most", len(q.pages))
	}
}
