package replicate

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// TestSender: what it sends are entries of a gateway, whose events follow each other.
func TestSender(t *testing.T) {
	key := func() string { return "key" }
	s, reader := NewSender(nil, "stream", "elsewhere", key()), newCodec("stream", key)
	var leases []uint32
	var numbers []uint64
	var epochs []uint64
	for first := range uint32(2) {
		e, err := reader.open(s.seal([]journal.Event{
			{Kind: journal.Decision, Instance: 1, Lease: 2*first + 1},
			{Kind: journal.Decision, Instance: 1, Lease: 2*first + 2},
		}))
		if err == nil {
			err = reader.unpack(&e)
		}
		if err != nil || e.gateway != "elsewhere" {
			t.Fatalf("entry %d: %q, %v", first, e.gateway, err)
		}
		var event journal.Event
		if !eachEvent(e.batch, &event, func(seq uint64, e *journal.Event) {
			leases, numbers = append(leases, e.Lease), append(numbers, seq)
		}) {
			t.Fatal("the batch is torn")
		}
		epochs = append(epochs, e.end.Epoch)
	}
	if !slices.Equal(leases, []uint32{1, 2, 3, 4}) || !slices.Equal(numbers, []uint64{0, 1, 2, 3}) ||
		epochs[0] != epochs[1] {
		t.Errorf("got leases %v, numbers %v of logs %v, want 1 to 4, 0 to 3, one log", leases, numbers, epochs)
	}
}
