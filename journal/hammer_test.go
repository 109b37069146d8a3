package journal

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

// hammer is what the instances of a hammer test agree on: which event has which number.
type hammer struct {
	t     *testing.T
	data  *journaltest.Data
	order []atomic.Uint64
	// appended counts the events, written the highest lease of each instance.
	appended atomic.Uint64
	born     atomic.Uint64
}

const hammerSlots = 1 << 12

func (h *hammer) open() *Journal { return open(h.t, h.data.Store(), h.born.Add(1), hammerSlots) }

// read checks that event after event is the one that all others read there, and that no number is left out.
func (h *hammer) read(j *Journal, next *uint64) {
	j.Poll()
	for e := j.Next(); e != nil; e = j.Next() {
		if at := j.reader.seq - 1; at != *next || e.Kind == Missed {
			h.t.Errorf("instance %d read event %d (kind %d), want %d", j.Instance(), at, e.Kind, *next)
			return
		}
		event := e.Instance<<32 | uint64(e.Lease)
		if !h.order[*next].CompareAndSwap(0, event) && h.order[*next].Load() != event {
			h.t.Errorf("instance %d read %x as event %d, another %x", j.Instance(), event, *next, h.order[*next].Load())
			return
		}
		*next++
	}
}

// work is one worker thread: it decides, reads, stalls, and now and then dies and comes back as a new instance.
func (h *hammer) work(seed uint64, events int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	j, next := h.open(), uint64(0)
	for range events {
		e := Event{Kind: Decision, Lease: j.NextLease(), Chains: chain(make([]uint64, rng.IntN(200)))}
		if !j.Append(&e) {
			h.t.Errorf("instance %d: lease %d was not appended", j.Instance(), e.Lease)
		}
		h.appended.Add(1)
		switch rng.IntN(100) {
		case 0:
			j, next = h.open(), 0
		case 1:
			for range 200 {
				runtime.Gosched()
			}
		default:
			if rng.IntN(3) != 0 {
				h.read(j, &next)
			}
		}
	}
	h.read(j, &next)
}

func TestHammer(t *testing.T) {
	const workers, events = 8, 800
	h := &hammer{t: t, data: journaltest.New(^uint32(0) - 1000), order: make([]atomic.Uint64, workers*events+1)}
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { h.work(uint64(i), events) })
	}
	wg.Wait()
	j, next := h.open(), uint64(0)
	h.read(j, &next)
	if next != h.appended.Load() || next != workers*events {
		t.Errorf("the log has %d events, want %d", next, workers*events)
	}
	seen := map[uint64]bool{}
	last := map[uint64]uint64{}
	for i := range next {
		event := h.order[i].Load()
		if seen[event] {
			t.Errorf("%x is in the log twice", event)
		}
		seen[event] = true
		instance, lease := event>>32, event&0xffffffff
		if lease != last[instance]+1 {
			t.Errorf("instance %d: lease %d follows %d", instance, lease, last[instance])
		}
		last[instance] = lease
	}
}

// TestHammerOverrun has readers too slow for a small ring: what they read is in order, and with what they miss it is
// all.
func TestHammerOverrun(t *testing.T) {
	const writers, events = 4, 4000
	data := journaltest.New(0)
	var wg sync.WaitGroup
	var done atomic.Int32
	for i := range uint64(writers) {
		wg.Go(func() {
			defer done.Add(1)
			j := open(t, data.Store(), i+1, 8)
			for range events {
				decide(t, j, 300)
			}
		})
	}
	for i := range uint64(2) {
		wg.Go(func() {
			j := open(t, data.Store(), 100+i, 8)
			last := map[uint64]uint32{}
			first, count := uint64(0), uint64(0)
			for finished := false; ; {
				finished = done.Load() == writers
				j.Poll()
				for e := j.Next(); e != nil; e = j.Next() {
					if e.Kind == Missed {
						count += e.Missed
						continue
					}
					if count == 0 {
						first = j.reader.seq - 1
					}
					count++
					if e.Lease <= last[e.Instance] {
						t.Errorf("lease %d of %d follows %d", e.Lease, e.Instance, last[e.Instance])
					}
					last[e.Instance] = e.Lease
				}
				if finished {
					break
				}
			}
			if first+count != writers*events {
				t.Errorf("got %d events read or missed from %d on, want %d in all", count, first, writers*events)
			}
		})
	}
	wg.Wait()
}
