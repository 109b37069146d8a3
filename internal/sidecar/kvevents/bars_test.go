package kvevents

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/kvpub"
	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// TestKVBars measures what `make bars` asserts: the processor's time for events of 100 publishers of 1,000 blocks of 16
// tokens a second each, at most one core with the publishers' own side of it, and the memory of ten million keys.
func TestKVBars(t *testing.T) {
	if os.Getenv("PINTLE_BARS") == "" {
		t.Skip("runs with PINTLE_BARS=1")
	}
	t.Run("events", eventsBar)
	t.Run("memory", memoryBar)
}

func eventsBar(t *testing.T) {
	const publishers, rounds, blocks = 100, 30, 100
	var names []string
	for i := range publishers {
		names = append(names, fmt.Sprintf("e%03d", i))
	}
	f := newFleet(t, nil, names...)
	for _, s := range f.servers {
		s.publishes(t, nil)
	}
	f.run()
	f.wait("all publishers", func() bool {
		for _, s := range f.servers {
			if s.publisher.Subscribers() == 0 {
				return false
			}
		}
		return true
	})
	batches := make([][][]byte, rounds)
	for round := range batches {
		for i := range f.servers {
			batches[round] = append(batches[round], chain(uint64(round*publishers+i+1), blocks))
		}
	}
	before, began := processorTime(t), time.Now()
	for round := range batches {
		for i, s := range f.servers {
			s.publisher.Publish(batches[round][i])
		}
		time.Sleep(time.Until(began.Add(time.Duration(round+1) * 100 * time.Millisecond)))
	}
	want := int64(publishers * rounds * blocks)
	f.wait("all blocks", func() bool { return f.subscriber.Index.Stats().Entries == want })
	took := processorTime(t) - before
	each := took / time.Duration(want)
	t.Logf("%v of the processor for each block: %.2f cores for 100,000 blocks a second", each, each.Seconds()*1e5)
	if each > 10*time.Microsecond {
		t.Errorf("%v for each block; at most 10us is right", each)
	}
}

// chain is a batch that stores a prompt of its own.
func chain(seed uint64, blocks int) []byte {
	e := kvpub.Event{Kind: "BlockStored", BlockTokens: 16}
	for i := range blocks {
		e.Hashes = append(e.Hashes, (seed<<20|uint64(i))*0x9e3779b97f4a7c15)
		for j := range 16 {
			e.Tokens = append(e.Tokens, uint32(seed*31+uint64(i*16+j))%128_000)
		}
	}
	return kvpub.AppendBatch(nil, kvpub.Maps, 1, 0, []kvpub.Event{e})
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func memoryBar(t *testing.T) {
	const publishers, each = 100, 100_000
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	x := newIndex(t)
	for i := range publishers {
		p := kvindex.Publisher{Endpoint: fmt.Sprint("e", i)}
		for from := uint64(0); from < each; from += 1000 {
			hashes, keys := make([]uint64, 1000), make([]kvindex.Key, 1000)
			for j := range hashes {
				var b [8]byte
				binary.LittleEndian.PutUint64(b[:], uint64(i)<<32|from+uint64(j))
				key := kvindex.Root("", string(b[:]))
				hashes[j], keys[j] = uint64(key)+1, key
			}
			if err := x.Add(t.Context(), p, kvindex.GPU, hashes, keys); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	stats := x.Stats()
	bytes := after.HeapAlloc - before.HeapAlloc
	t.Logf("%d keys: %d MiB, %d bytes for each; %d MiB more from the system", stats.Keys, bytes>>20,
		bytes/uint64(stats.Keys), (after.Sys-before.Sys)>>20)
	if stats.Keys < publishers*each*999/1000 || after.Sys > 1<<30 {
		t.Errorf("%d MiB from the system for %d keys; at most 1024 for 10,000,000 is right", after.Sys>>20, stats.Keys)
	}
}
