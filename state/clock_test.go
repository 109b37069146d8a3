package state

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// clocked has every part that goes by time.
func clocked() *State {
	s := New(Options{
		InFlight: true, Busy: true, RequestTimeout: 5 * time.Minute,
		Prefix: true, PrefixLimits: PrefixLimits{Age: time.Minute},
		Latency: true, ModelLatency: true, WindowAge: time.Minute, Failures: true,
		Usage:  true,
		Tokens: true, TokenWindow: time.Minute, TokenInputWeight: 1, TokenOutputWeight: 2,
	})
	s.SetEndpoints([]uint64{1, 2})
	return s
}

// tells is what decisions read of a State at a time of the host.
func tells(s *State, host int64) []float64 {
	var all []float64
	for i := range 2 {
		all = append(all, s.Failures.Share(i, host), s.InFlight.Busy(i), float64(s.InFlight.InFlight(i)),
			float64(s.InFlight.OpenSince(i, host-int64(time.Second))),
			float64(s.Prefix.Len(i)), s.Latency.TTFT.Mean(i), float64(s.Latency.TTFT.Count(i)), s.Usage.Output.Mean(i),
			s.Models.TTFT.Mean(i))
	}
	return append(all, s.Tokens.Total(1), s.Tokens.Total(2), float64(s.Tokens.Users()))
}

// A clock that is set back, as often as it may be, changes nothing that a State tells.
func TestClockSetBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	steady, adjusted := clocked(), clocked()
	now, behind := someTime, int64(0)
	lease := uint32(0)
	for step := range 20_000 {
		now += r.Int64N(200 * milli)
		steady.Expire(now)
		adjusted.Expire(now - behind)
		if r.IntN(500) == 0 {
			behind += r.Int64N(int64(2 * time.Hour))
			adjusted.Expire(now - behind)
		}
		lease++
		e := journal.Event{Kind: journal.Decision, Lease: lease, Primary: 1 + r.Uint64N(2), Model: 1 + r.Uint64N(2),
			User: 1 + r.Uint64N(2)}
		e.InputTokens, e.OutputTokens, e.Chains = 100, 200, chains(chain(r.Uint64N(50), 5))
		if r.IntN(2) == 0 {
			e = journal.Event{Kind: journal.Completion, Lease: r.Uint32N(lease), Primary: e.Primary, Model: e.Model,
				User: e.User}
			e.Status, e.TTFTMicros, e.DurationMicros, e.OutputTokens = uint16(200+300*r.IntN(2)), 1+r.Uint32N(1000),
				5000, 1+r.Uint32N(100)
		}
		e.Time = now
		steady.Apply(&e)
		e.Time = now - behind
		adjusted.Apply(&e)
		want, got := tells(steady, now), tells(adjusted, now-behind)
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 1e-6*max(1, want[i])) {
				t.Fatalf("step %d, clock %v behind: number %d is %v, want %v", step, time.Duration(behind), i, got[i],
					want[i])
			}
		}
	}
	if behind == 0 {
		t.Error("the clock was never set back")
	}
}

// A writer whose clock is ahead, or who wrote before the clock was set back, freezes nothing: what it tells fades as
// all else does.
func TestWriterAhead(t *testing.T) {
	for _, ahead := range []time.Duration{time.Second, 9 * time.Second, time.Minute, time.Hour, math.MaxInt64 / 2} {
		t.Run(ahead.String(), func(t *testing.T) {
			s, honest := clocked(), clocked()
			now := someTime
			for i := range uint32(200) {
				for _, state := range []*State{s, honest} {
					state.Expire(now)
					written := now
					if state == s {
						written = plus(now, int64(ahead))
					}
					state.Apply(&journal.Event{Kind: journal.Decision, Time: written, Lease: i, Primary: 1, User: 1,
						InputTokens: 5, Chains: chains(chain(uint64(i), 3))})
					state.Apply(&journal.Event{
						Kind: journal.Completion, Time: plus(written, milli), Lease: i, Primary: 1, Model: 1, User: 1,
						Status: 503,
					})
				}
				now += 100 * milli
			}
			for minute := range 10 {
				now += int64(time.Minute)
				s.Expire(now)
				honest.Expire(now)
				got, want := tells(s, now), tells(honest, now)
				for i := range want {
					if !(math.Abs(got[i]-want[i]) <= 0.01) && minute > 0 {
						t.Errorf("%d minutes later number %d is %v, want %v", minute+1, i, got[i], want[i])
					}
				}
			}
		})
	}
}

// The clock may do anything without harm.
func TestClockExtremes(t *testing.T) {
	extremes := []int64{0, math.MaxInt64, math.MinInt64, 1, math.MaxInt64, -1, math.MinInt64}
	var c clock
	last := int64(math.MinInt64)
	for _, host := range extremes {
		now := c.set(host)
		if now < last || c.at(math.MinInt64) > plus(now, maxSkew) || c.at(math.MaxInt64) > plus(now, maxSkew) {
			t.Errorf("set to %d: the clock is at %d after %d, events at %d to %d", host, now, last, c.at(math.MinInt64),
				c.at(math.MaxInt64))
		}
		last = now
	}
}
