package state

import "github.com/pintle-dev/pintle/journal"

// part is one thing that a State keeps. Nothing is allocated by its calls once its tables have grown.
type part interface {
	// Resize makes room for indexes of endpoints below n. It never shrinks.
	Resize(n int)
	// Reset forgets all of an endpoint.
	Reset(index int)
	// Expire sets the clock and forgets what is too old.
	Expire(now int64)
	// apply takes from an event what belongs to the part. Kinds that say nothing to it are passed over.
	apply(s *step)
	// MemoryBytes is the memory that it holds, but for some bytes per endpoint.
	MemoryBytes() int
}

// step is an event that is being applied, with what several parts ask of it.
type step struct {
	*journal.Event
	// primary, prefill and tried are the indexes of the event's endpoints, -1 for none that is in the pool.
	primary, prefill, tried int
	endpoints               *Endpoints
	// leases are the requests in flight, nil when they are not kept. The request that a completion ends is still among
	// them.
	leases *InFlight
}

// everywhere is the part of a part that keeps nothing by endpoint.
type everywhere struct{}

// Resize does nothing.
func (everywhere) Resize(int) {}

// Reset does nothing.
func (everywhere) Reset(int) {}

func positive(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}
