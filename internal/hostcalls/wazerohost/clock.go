package wazerohost

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Clock is a settable clock for Options.Now. The zero value stands at the Unix epoch. Safe for concurrent use.
type Clock struct {
	mu   sync.Mutex
	now  time.Time
	step time.Duration // with each reading
}

// NewClock returns a clock that stands at t until it is moved.
func NewClock(t time.Time) *Clock { return &Clock{now: t} }

// Now returns the time the clock stands at.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.IsZero() {
		c.now = time.Unix(0, 0)
	}
	now := c.now
	c.now = now.Add(c.step)
	return now
}

// Run has each reading move the clock on by step from then on. By 0 it stands again.
func (c *Clock) Run(step time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step = step
}

// Advance moves the clock on by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.IsZero() {
		c.now = time.Unix(0, 0)
	}
	c.now = c.now.Add(d)
}

// newRandom returns the source behind random_get. Seed 0 means a different stream every time.
func newRandom(seed uint64, vm int) *rand.ChaCha8 {
	var key [32]byte
	if seed == 0 {
		for i := range key {
			key[i] = byte(rand.Uint32())
		}
		return rand.NewChaCha8(key)
	}
	for i := 0; i < 8; i++ {
		key[i], key[8+i] = byte(seed>>(8*i)), byte(vm>>(8*i))
	}
	return rand.NewChaCha8(key)
}
