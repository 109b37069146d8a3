package traffic

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/config"
	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/journal"
)

// TestPlotsAfterAClockThatWasAhead: what was plotted for another day must not keep this one's from being plotted.
func TestPlotsAfterAClockThatWasAhead(t *testing.T) {
	f := newFixture(t, false)
	real := f.now
	refuse := func(steps int) {
		for range steps {
			f.take(journal.Event{Kind: journal.Refused, Code: 429}, false)
			f.now = f.now.Add(plotStep)
		}
	}
	f.now = real.Add(24 * time.Hour)
	refuse(plotPoints)
	f.now = real
	refuse(plotPoints)
	points := 0
	for _, refused := range f.Plots().Refused {
		if *refused > 0 {
			points++
		}
	}
	if points != plotPoints-1 { // the last one has just begun
		t.Errorf("%d points of the last %d have a refusal, want %d", points, plotPoints, plotPoints-1)
	}
}

// TestPlotsAfterAClockThatWasALittleAhead: what was plotted ahead of time does not count again when that time comes.
func TestPlotsAfterAClockThatWasALittleAhead(t *testing.T) {
	f := newFixture(t, false)
	refuse := func() { f.take(journal.Event{Kind: journal.Refused, Code: 429}, false) }
	sample := func() { f.Sample(nil, &config.Metrics{}) }
	real := f.now
	f.now = real.Add(time.Minute)
	refuse()
	f.now = real
	sample()
	f.now = real.Add(time.Minute)
	refuse()
	if got, want := *f.Plots().Refused[plotPoints-1], 1/plotStep.Seconds(); got != want {
		t.Errorf("got %v refusals a second, want %v", got, want)
	}
}

// TestPlotsOfAnOldEvent: what is older than the plots reach does not replace what has come since.
func TestPlotsOfAnOldEvent(t *testing.T) {
	f := newFixture(t, false)
	f.take(journal.Event{Kind: journal.Refused, Code: 429}, false)
	if at := f.plots.at(f.now.Add(-plotPoints*plotStep).UnixNano(), f.Traffic.now); at != nil {
		t.Errorf("got the point %+v for an event that is too old, want none", at)
	}
}

// TestPlotsOfRefusalsAndQueues: refusals are told by the second, what waits by endpoint, and the slowest tenth of the
// first tokens; a server's report of more cached than was predicted does not matter.
func TestPlotsOfRefusalsAndQueues(t *testing.T) {
	f := newFixture(t, false)
	for range 5 {
		f.take(journal.Event{Kind: journal.Refused, Code: 429}, false)
	}
	for i := range uint32(10) {
		e := f.decide("m1", "vllm-0")
		if e.TTFTMicros = 10_000; i == 0 {
			e.TTFTMicros, e.PredictedTokens = 500, 1000 // more than the 100 that the prompt has
		} else if i > 7 {
			e.TTFTMicros = 3_600_000_000
		}
		f.take(e, false)
	}
	for range 20 {
		unknown := f.decide("m1", "vllm-0")
		unknown.CachedReported, unknown.Streamed, unknown.TTFTMicros = false, false, 1000
		f.take(unknown, false)
	}
	f.Sample(f.sampled(0, map[string]engine.Sample{"vllm-0": {WaitingRequests: 7}}),
		&config.Metrics{QueueDepth: 5, KVUsage: 0.8})
	got, last := f.Plots(), plotPoints-1
	for _, test := range []struct {
		name      string
		got       *float64
		want, off float64
	}{
		{"refused a second", got.Refused[last], 1, 0}, {"requests a second", got.Requests[last], 6, 0},
		{"waiting", got.Waiting["vllm-0"][last], 7, 0}, {"hit rate", got.HitRate[last], 0.16, 0},
		{"expected hit rate", got.Expected[last], (100 + 9*10) / 1000.0, 0},
		{"half of the first tokens, ms", got.TTFT50[last], 10, 1},
		{"nine of ten, ms", got.TTFT90[last], 190_000, 10_000}, // the last class
	} {
		if test.got == nil || !(math.Abs(*test.got-test.want) <= test.off+1e-9) {
			t.Errorf("%s: got %v, want %v", test.name, text(test.got), test.want)
		}
	}
	if end := f.now.Truncate(plotStep); !got.End.Equal(end) {
		t.Errorf("the last step began at %v, want %v", got.End, end)
	}
}

func text(v *float64) string {
	if v == nil {
		return "nothing"
	}
	return fmt.Sprint(*v)
}

// TestPlotsOfManyEndpoints: only so many are plotted.
func TestPlotsOfManyEndpoints(t *testing.T) {
	for _, test := range []struct {
		name            string
		endpoints, want int
	}{{"few", 3, 3}, {"many", 33, 32}} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, false)
			var names []string
			for i := range test.endpoints {
				names = append(names, fmt.Sprint("e", i))
			}
			f.SetEndpoints(names)
			if n := len(f.Plots().InFlight); n != test.want {
				t.Errorf("%d endpoints are plotted, want %d", n, test.want)
			}
		})
	}
}

// TestPlotsOfErrors: that a full server refuses at once makes no first token look early.
func TestPlotsOfErrors(t *testing.T) {
	f := newFixture(t, false)
	answer := func(code uint16, ttft time.Duration) {
		f.take(journal.Event{Kind: journal.Completion, Streamed: true, Status: code, Code: code,
			TTFTMicros: uint32(ttft.Microseconds()), Ended: journal.EndedWhole}, false)
	}
	answer(200, time.Second)
	for _, code := range []uint16{400, 500, 503, 503} {
		answer(code, time.Millisecond)
	}
	p := f.Plots()
	if got := *p.TTFT50[plotPoints-1]; got < 950 || got > 1050 {
		t.Errorf("half of the first tokens came within %v ms, want some 1000, as the one answer's", got)
	}
	if got, want := *p.Requests[plotPoints-1], 5/plotStep.Seconds(); got != want {
		t.Errorf("got %v requests a second, want %v, errors among them", got, want)
	}
}

// TestPlotsOfWhoFollowsNobody: without events nothing is known of requests, which is not that there are none.
func TestPlotsOfWhoFollowsNobody(t *testing.T) {
	for _, test := range []struct {
		name  string
		blind bool
		want  string
	}{{"follows", false, "0"}, {"follows nobody", true, "nothing"}} {
		p := newFixtureWith(t, Options{Blind: test.blind}).Plots()
		for name, line := range map[string][]*float64{"requests": p.Requests, "refused": p.Refused} {
			if got := text(line[plotPoints-1]); got != test.want {
				t.Errorf("%s: got %s %s each second, want %s", test.name, got, name, test.want)
			}
		}
	}
}
