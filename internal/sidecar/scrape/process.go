package scrape

import (
	"time"

	"github.com/pintle-dev/pintle/internal/sidecar/engine"
	"github.com/pintle-dev/pintle/snapshot"
)

// process tells the processes of a server apart whose page does not say when its process started: what a process has
// done never becomes less. The zero value has seen none.
type process struct {
	start uint64
	done  float64
}

// tell fills in the sample's process where found lacks it. Of a process that was there before the first sample it is
// snapshot.SomeStart, of a later one the time at which that was seen.
func (p *process) tell(s *engine.Sample, found engine.Fields, now time.Time) {
	if found.Has(engine.Done) {
		switch {
		case p.start == 0:
			p.start = snapshot.SomeStart
		case s.Done < p.done:
			p.start = uint64(now.UnixMilli())
		}
		p.done = s.Done
	}
	if !found.Has(engine.ProcessStart) {
		s.ProcessStart = p.start
	}
}
