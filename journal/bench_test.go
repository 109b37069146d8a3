package journal

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

func TestNothingAllocates(t *testing.T) {
	data := journaltest.New(0)
	a, b := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
	decision, completion := sampleDecision(), sampleCompletion()
	round := func() {
		decision.Lease = a.NextLease()
		a.Append(&decision)
		completion.Lease = decision.Lease
		a.Append(&completion)
		for _, j := range []*Journal{a, b} {
			j.Poll()
			for j.Next() != nil {
			}
		}
	}
	for range 100 {
		round()
	}
	if got := testing.AllocsPerRun(1000, round); got != 0 {
		t.Errorf("got %v allocations for two events, want none", got)
	}
	now := int64(0)
	if got := testing.AllocsPerRun(1000, func() { now += 1e9; a.Tick(now); b.Tick(now) }); got != 0 {
		t.Errorf("got %v allocations for two ticks, want none", got)
	}
}

var sizes = []int{0, 30, 256}

func BenchmarkAppend(b *testing.B) {
	for _, blocks := range sizes {
		b.Run(fmt.Sprintf("blocks=%d", blocks), func(b *testing.B) {
			j := open(b, journaltest.New(0).Store(), 1, 0)
			e := Event{Kind: Decision, Chains: chain(hashes(blocks))}
			b.ReportAllocs()
			for b.Loop() {
				j.Append(&e)
			}
		})
	}
}

// BenchmarkAppendContended has as many VMs as there are processors do nothing but append.
func BenchmarkAppendContended(b *testing.B) {
	data := journaltest.New(0)
	var instances, conflicts atomic.Uint64
	b.RunParallel(func(pb *testing.PB) {
		j := open(b, data.Store(), instances.Add(1), 0)
		e := Event{Kind: Decision, Chains: chain(hashes(30))}
		for pb.Next() {
			j.Append(&e)
		}
		conflicts.Add(j.Stats().Conflicts)
	})
	b.ReportMetric(float64(conflicts.Load())/float64(b.N), "conflicts/op")
}

func BenchmarkPollNothingNew(b *testing.B) {
	data := journaltest.New(0)
	j := open(b, data.Store(), 1, 0)
	for range 13 {
		decide(b, j, 30)
	}
	drain(j)
	for b.Loop() {
		j.Poll()
	}
}

// BenchmarkPollOne is an append and the poll of a VM that has read all before it; subtract BenchmarkAppend.
func BenchmarkPollOne(b *testing.B) {
	for _, blocks := range sizes {
		b.Run(fmt.Sprintf("blocks=%d", blocks), func(b *testing.B) {
			data := journaltest.New(0)
			j, reader := open(b, data.Store(), 1, 0), open(b, data.Store(), 2, 0)
			e := Event{Kind: Decision, Chains: chain(hashes(blocks))}
			b.ReportAllocs()
			for b.Loop() {
				j.Append(&e)
				reader.Poll()
				for reader.Next() != nil {
				}
			}
		})
	}
}

// BenchmarkReplay is the cost of each event to a VM that is far behind.
func BenchmarkReplay(b *testing.B) {
	for _, blocks := range sizes {
		b.Run(fmt.Sprintf("blocks=%d", blocks), func(b *testing.B) {
			data := journaltest.New(0)
			j := open(b, data.Store(), 1, 64)
			for range 10_000 {
				decide(b, j, blocks)
			}
			reader, events := open(b, data.Store(), 2, 64), 0
			for b.Loop() {
				reader.reader.started = false
				reader.reader.change = 0
				reader.Poll()
				for reader.Next() != nil {
					events++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}

// BenchmarkPeers is what noting an event costs among many instances.
func BenchmarkPeers(b *testing.B) {
	var p peers
	p.init()
	e := Event{Kind: Decision}
	for b.Loop() {
		e.Instance = uint64(rand.IntN(32)) + 1
		p.read(&e, 99)
	}
}
