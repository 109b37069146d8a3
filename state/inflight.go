package state

import (
	"time"
	"unsafe"

	"github.com/pintle-dev/pintle/journal"
)

const (
	// DefaultRequestTimeout is the age at which a request is taken to be gone.
	DefaultRequestTimeout = 2 * time.Minute
	// DefaultLeases bounds the requests in flight.
	DefaultLeases = 1 << 20
	// MaxCharged bounds the encode endpoints of one request; further ones are not charged, as other workers do not hear
	// of them.
	MaxCharged = journal.MaxEncode

	recentShift = 6
)

// lease is an open decision.
type lease struct {
	instance uint64
	time     int64
	number   uint32
	place    uint32 // in the heap
	charges  uint32 // chain of what it charges
	model    uint16 // what it counts for, one more than the index in watched, 0 for none
	input    uint32 // estimated tokens
	output   uint32
	open     bool
}

type load struct {
	open, epoch uint32
	tokens      int64
	last        int64 // when it was charged last, 0 for never
	busy        busy
}

// InFlight counts the requests that each endpoint has in flight, and each of some models. A request is charged to its
// primary, its prefill and each of its encode endpoints, once for each role, and once to its model. Where another
// endpoint than the primary begins to answer, the charge goes over to that one. Its lease ends by its completion, by
// age, or with its writer.
//
// With n leases, Open and Close take O(log n) steps for each endpoint that is charged, and move up to RecentTimes
// times. Expire takes as many for each lease that ends, DropInstance for all of them. What is asked for takes O(log
// RecentTimes).
type InFlight struct {
	timeout int64
	clock   clock
	now     int64 // by the clock or the latest event
	factor  uint64
	limit   uint32

	trackBusy bool
	// begins has answers that begin end a part of what their requests charge, keepTokens keeps the tokens from it.
	begins, keepTokens bool
	speeds             *Speeds // nil where they are not learnt

	table   table
	leases  chunks[lease] // by number in the table
	heap    chunks[uint32]
	charges chunks[charge]
	top     uint32 // of charges
	free    uint32 // chain of charges

	models []watched
	loads  []load
	open   chunks[recent]
}

// NewInFlight makes an empty one. A lease ends timeout after its decision; beyond leases open ones, the oldest ends
// first. 0 stands for the defaults. seed is as for NewPrefix.
func NewInFlight(timeout time.Duration, leases int, seed uint64) *InFlight {
	if timeout <= 0 {
		timeout = DefaultRequestTimeout
	}
	f := &InFlight{timeout: int64(timeout), limit: uint32(positive(leases, DefaultLeases)), factor: splitMix(seed) | 1}
	f.table.init()
	f.leases.shift, f.charges.shift, f.heap.shift = nodeShift, nodeShift, nodeShift
	f.open.shift = recentShift
	return f
}

// Resize makes room for indexes below n. It never shrinks.
func (f *InFlight) Resize(n int) {
	for len(f.loads) < n {
		f.loads = append(f.loads, load{})
	}
	if f.speeds != nil {
		f.speeds.resize(n)
	}
	if n > 0 {
		f.open.reach(uint32(n - 1))
	}
}

// Reset forgets all of an endpoint. Leases that charge it go on without it.
func (f *InFlight) Reset(index int) {
	if uint(index) >= uint(len(f.loads)) {
		return
	}
	f.loads[index] = load{epoch: f.loads[index].epoch + 1}
	if f.speeds != nil {
		f.speeds.speeds[index] = newSpeed()
	}
	f.open.at(uint32(index)).n = 0
}

func (f *InFlight) apply(s *step) {
	switch s.Kind {
	case journal.Decision:
		f.Open(s.Event, s.endpoints)
	case journal.Began:
		f.begin(s)
	case journal.Completion:
		f.Close(s.Event)
	case journal.Gone:
		f.DropInstance(s.Instance)
	}
}

// Open applies a decision. One with the instance and number of an open lease takes its place.
func (f *InFlight) Open(e *journal.Event, endpoints *Endpoints) {
	decided := f.clock.at(e.Time)
	f.now = max(f.now, decided)
	key := f.key(e.Instance, e.Lease)
	if old := f.find(key, e.Instance, e.Lease); old != 0 {
		f.release(old, decided)
	}
	if f.table.used >= f.limit {
		f.release(*f.heap.at(0), decided)
	}
	i := f.table.insert(key)
	f.leases.reach(i)
	l := f.leases.at(i)
	*l = lease{instance: e.Instance, time: decided, number: e.Lease, input: e.InputTokens, output: e.OutputTokens,
		open: true}
	f.count(l, e.Model)
	if f.speeds != nil {
		f.markDecision(i, e, endpoints, decided)
	}
	f.charge(l, endpoints.Index(e.Primary), e.PrimaryLoad, stagePrimary)
	f.charge(l, endpoints.Index(e.Prefill), e.PrefillLoad, stagePrefill)
	for _, id := range e.Encode[:min(len(e.Encode), MaxCharged)] {
		f.charge(l, endpoints.Index(id), e.EncodeLoad, stageEncode)
	}
	f.heap.reach(f.table.used - 1)
	f.up(i, f.table.used-1)
}

// Close applies a completion. One of an unknown lease changes nothing.
func (f *InFlight) Close(e *journal.Event) {
	at := f.clock.at(e.Time)
	f.now = max(f.now, at)
	if i := f.find(f.key(e.Instance, e.Lease), e.Instance, e.Lease); i != 0 {
		if f.speeds != nil {
			if e.TTFTMicros > 0 {
				// Who served in the primary's place learns nothing from it.
				f.markBegan(i, e, -1, at-int64(e.DurationMicros-min(e.TTFTMicros, e.DurationMicros))*1000)
			}
			f.markEnded(i, e, at)
		}
		f.release(i, at)
	}
}

// Estimate is what the decision that a completion ends took its tokens to be, and when it was made; ok is false when
// its lease is not open.
func (f *InFlight) Estimate(e *journal.Event) (decided int64, input, output uint32, ok bool) {
	i := f.find(f.key(e.Instance, e.Lease), e.Instance, e.Lease)
	if i == 0 {
		return 0, 0, 0, false
	}
	l := f.leases.at(i)
	return l.time, l.input, l.output, true
}

// outlived reports whether the request that a completion ends took so long that its lease ended before it.
func (f *InFlight) outlived(e *journal.Event) bool {
	decided := f.clock.at(e.Time) - int64(e.DurationMicros)*1000
	return e.DurationMicros > 0 && plus(max(decided, 0), f.timeout) <= f.clock.now
}

// Expire sets the clock and ends every lease that is as old as the timeout. It costs next to nothing when there is
// none.
func (f *InFlight) Expire(now int64) {
	now = f.clock.set(now)
	f.now = max(f.now, now)
	for f.table.used > 0 {
		i := *f.heap.at(0)
		end := plus(f.leases.at(i).time, f.timeout)
		if end > now {
			return
		}
		f.release(i, end)
	}
}

// DropInstance ends all leases of a writer that is gone. It looks at every lease that ever was open at once.
func (f *InFlight) DropInstance(instance uint64) {
	for i := uint32(1); i <= f.table.top; i++ {
		if l := f.leases.at(i); l.open && l.instance == instance {
			f.release(i, f.now)
		}
	}
}

// InFlight is the number of requests of an endpoint.
func (f *InFlight) InFlight(index int) int {
	if uint(index) >= uint(len(f.loads)) {
		return 0
	}
	return int(f.loads[index].open)
}

// OpenSince is how many of an endpoint's requests in flight were decided after t, nanoseconds since 1970. It counts at
// most RecentTimes. It may count too few when the endpoint had more than RecentTimes younger requests in flight at
// once, as the older ones of them are not remembered when younger ones end.
func (f *InFlight) OpenSince(index int, t int64) int {
	if uint(index) >= uint(len(f.loads)) {
		return 0
	}
	return f.open.at(uint32(index)).since(f.clock.of(t))
}

// LastDecided is when the endpoint was last charged with a request, by the clock of its part; 0 for never.
func (f *InFlight) LastDecided(index int) int64 {
	if uint(index) >= uint(len(f.loads)) {
		return 0
	}
	return f.loads[index].last
}

// Leases is the number of requests in flight.
func (f *InFlight) Leases() int { return int(f.table.used) }

// MemoryBytes is the memory that it holds.
func (f *InFlight) MemoryBytes() int {
	return f.table.memory() + f.leases.memory() + f.heap.memory() + f.charges.memory() +
		f.open.memory() + f.speeds.memory() + cap(f.loads)*int(unsafe.Sizeof(load{}))
}

func (f *InFlight) key(instance uint64, number uint32) uint64 {
	return mix(instance^uint64(number)*0x9e3779b97f4a7c15, f.factor)
}

func (f *InFlight) find(key, instance uint64, number uint32) uint32 {
	for i := f.table.find(key); i != 0; i = f.table.following(i) {
		if l := f.leases.at(i); l.instance == instance && l.number == number {
			return i
		}
	}
	return 0
}

// release ends lease i now.
func (f *InFlight) release(i uint32, now int64) {
	l := f.leases.at(i)
	if f.speeds != nil {
		f.markEnded(i, nil, now)
	}
	for l.charges != 0 {
		f.discharge(&l.charges, l.time, now)
	}
	if l.model != 0 {
		f.models[l.model-1].open--
	}
	l.open = false
	f.unheap(l.place)
	f.table.remove(i)
}
