package state

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// BenchmarkFull is the worst of each operation: every table is full, and each event is of a name, a user or a model
// that nobody knows yet, so that another one has to make way.
func BenchmarkFull(b *testing.B) {
	b.Run("users", func(b *testing.B) { benchFullTokens(b, DefaultTokenUsers) })
	b.Run("users, most", func(b *testing.B) { benchFullTokens(b, 1<<16) })
	b.Run("users, the window moves", func(b *testing.B) {
		t := fullTokens(DefaultTokenUsers)
		now := someTime
		b.ReportAllocs()
		for b.Loop() {
			now += t.width
			t.Expire(now)
			if now-someTime > t.width*(tokenSlots-2) {
				b.StopTimer()
				t, now = fullTokens(DefaultTokenUsers), someTime
				b.StartTimer()
			}
		}
	})
	b.Run("leases", func(b *testing.B) {
		f, p := newInFlight(time.Hour, 1<<16, 64)
		e := decision(someTime, 0, 1, 2)
		step := func() {
			e.Lease, e.Primary, e.Time = e.Lease+1, uint64(1+e.Lease%64), e.Time+1
			f.Open(e, p)
		}
		for range 1 << 16 {
			step()
		}
		b.ReportAllocs()
		for b.Loop() {
			step()
		}
	})
	b.Run("models", func(b *testing.B) {
		m := NewModelLatency(0)
		e := journal.Event{Kind: journal.Completion, Status: 200, TTFTMicros: 5, OutputTokens: 5, DurationMicros: 100}
		b.ReportAllocs()
		for b.Loop() {
			e.Model, e.Time = e.Model+1, e.Time+1
			m.Complete(&e)
		}
	})
	b.Run("cold", func(b *testing.B) {
		c := NewColdLRU(0)
		c.Resize(MaxEndpoints)
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			i = (i + 1) % MaxEndpoints
			c.Use(i)
		}
	})
}

func fullTokens(users int) *Tokens {
	t := NewTokens(0, users, 1, 2, 3)
	t.Expire(someTime)
	for user := range uint64(users) {
		t.Serve(user+1, someTime, uint32(100+splitMix(user)%1000), 50)
	}
	return t
}

func benchFullTokens(b *testing.B, users int) {
	t := fullTokens(users)
	user := uint64(1 << 40)
	b.ReportAllocs()
	for b.Loop() {
		user++
		t.Add(user, someTime, 100, 150)
		t.Range()
	}
}

// An event costs about as much with a full table as with one that holds little, whoever invents the users. A busy
// machine may disturb one comparison, not each of several.
func TestFullTokensStayCheap(t *testing.T) {
	cost := func(users int) float64 {
		tokens := fullTokens(users)
		user, best := uint64(1<<40), time.Hour
		for range 20 {
			began := time.Now()
			for range 1000 {
				user++
				tokens.Add(user, someTime, 100, 150)
				tokens.Range()
			}
			best = min(best, time.Since(began))
		}
		return float64(best)
	}
	const attempts = 5
	for attempt := 1; ; attempt++ {
		few, many := cost(16), cost(16384)
		if many <= 40*few {
			return
		}
		if attempt == attempts {
			t.Fatalf("an event costs %.1f times as much with a thousand times the users, want it to grow by the "+
				"logarithm", many/few)
		}
	}
}
