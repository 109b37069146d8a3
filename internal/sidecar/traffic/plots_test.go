package traffic

import (
	"testing"
	"time"

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

// TestPlotsOfAnOldEvent: what is older than the plots reach does not replace what has come since.
func TestPlotsOfAnOldEvent(t *testing.T) {
	f := newFixture(t, false)
	f.take(journal.Event{Kind: journal.Refused, Code: 429}, false)
	if at := f.plots.at(f.now.Add(-plotPoints*plotStep).UnixNano(), f.Traffic.now); at != nil {
		t.Errorf("got the point %+v for an event that is too old, want none", at)
	}
}
