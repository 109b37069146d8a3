package pace

import (
	"math/bits"
	"math/rand/v2"
	"sync"
	"time"
)

// seatsTogether is how many seats of a Beat have the same moments: more answers at once would not fit into a network's
// buffers where each has a page of 60 KB.
const seatsTogether = 32

// Beat is a sequence of moments, a period apart, at which many do the same thing: to wake a process up for each of them
// costs more than what they do then. Moments are spread by 5 % both ways, and begin at a random time, so that several
// processes do not fall into step. It is safe for concurrent use.
type Beat struct {
	start  time.Time
	period time.Duration
	seed   uint64

	mu    sync.Mutex
	taken []bool
}

// NewBeat returns a beat of that period, which is above 0.
func NewBeat(period time.Duration) *Beat {
	return &Beat{start: time.Now().Add(-rand.N(period)), period: period, seed: rand.Uint64()}
}

// Seat is somebody's part in a Beat. Up to 32 have the same moments, those of others lie in between, as evenly as it
// goes without moving any.
type Seat struct {
	beat   *Beat
	number int
	phase  time.Duration
}

// Sit takes the first seat that is free. Who leaves calls Leave.
func (b *Beat) Sit() *Seat {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for n < len(b.taken) && b.taken[n] {
		n++
	}
	if n == len(b.taken) {
		b.taken = append(b.taken, false)
	}
	b.taken[n] = true
	// Halves, quarters, eighths: the number's bits in reverse are a fraction.
	fraction := float64(bits.Reverse32(uint32(n/seatsTogether))) / (1 << 32)
	return &Seat{b, n, time.Duration(fraction * float64(b.period))}
}

// Leave gives the seat to whoever comes next.
func (s *Seat) Leave() {
	s.beat.mu.Lock()
	defer s.beat.mu.Unlock()
	s.beat.taken[s.number] = false
}

// Next returns a moment that is not later than wait after the one that now belongs to, its successor at least. Where
// wait is n periods, it is the next n-th one, so that all who wait for as long do so together. Now belongs to the last
// moment whose place is past, or no further ahead than a tenth of a period: moments may lie half of that before their
// places. So whoever waits for Next does something once in a period at the most, and never waits for longer than wait
// and what moments are spread by.
func (s *Seat) Next(now time.Time, wait time.Duration) time.Time {
	b := s.beat
	since := now.Sub(b.start) - s.phase + b.period/10
	k := int64((since+2*b.period)/b.period) - 2 // rounded down; no now is two periods before a beat's start
	step := max(int64(wait/b.period), 1)
	return s.moment((k + step) / step * step)
}

// moment returns the seat's k-th moment, the same whenever it is asked for.
func (s *Seat) moment(k int64) time.Time {
	b := s.beat
	random := rand.New(rand.NewPCG(b.seed, uint64(k)))
	return b.start.Add(time.Duration(k-1)*b.period + jitter(b.period, random.Int64N) + s.phase)
}
