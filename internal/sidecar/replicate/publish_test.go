package replicate

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/harness"
	"github.com/pintle-dev/pintle/internal/sidecar/follow"
	"github.com/pintle-dev/pintle/journal"
)

// TestLongAnswers: what one answer of Envoy brings goes into as many entries as others can read, and the next process
// goes on behind it once all of it is told.
func TestLongAnswers(t *testing.T) {
	a := newAppender(t, harness.StartValkey(t))
	const epoch, events = 9, 1000
	former := journal.Position{Epoch: epoch, Seq: 1}
	a.told, a.end = former, former
	chains := []journal.Chain{{ID: 1, Blocks: make([]uint64, 100)}}
	for n := range uint64(events) {
		for i := range chains[0].Blocks {
			chains[0].Blocks[i] = n<<32 | uint64(i)
		}
		a.Take(&follow.Event{At: journal.Position{Epoch: epoch, Seq: n + 1}, Event: &journal.Event{
			Kind: journal.Decision, Instance: 1, Lease: uint32(n), Chains: chains}})
	}
	end := journal.Position{Epoch: epoch, Page: 3, Seq: events + 1, Offset: 5}
	a.Caught("a", end)
	page, err := a.client.XRange(t.Context(), stream, "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for i := range page {
		e, err := a.codec.open(textOf(&page[i]))
		if err == nil {
			err = a.codec.unpack(&e)
		}
		if err != nil {
			t.Fatalf("entry %d of %d: %v", i, len(page), err)
		}
		want := former
		if i == len(page)-1 {
			want = end
		}
		if e.end != want {
			t.Errorf("behind entry %d of %d goes on at %+v, want %+v", i, len(page), e.end, want)
		}
		eachEvent(e.batch, &journal.Event{}, func(seq uint64, event *journal.Event) {
			if told++; seq != uint64(told) || event.Lease != uint32(told-1) {
				t.Errorf("event %d has the number %d and the lease %d", told, seq, event.Lease)
			}
		})
	}
	if told != events || len(page) < 2 {
		t.Errorf("got %d events in %d entries, want %d in some", told, len(page), events)
	}
}
