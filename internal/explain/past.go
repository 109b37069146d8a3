package explain

import (
	"time"

	"github.com/pintle-dev/pintle/internal/strictjson"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/state"
)

// mostEvents bounds the requests that an endpoint or a model is said to have in flight or to have failed.
const mostEvents = 10_000

// past is what earlier requests left of an endpoint or a model.
type past struct {
	model    string
	inFlight int
	// failures is how many requests have failed on end.
	failures int
	// ttft and tpot are those of all completed requests; 0 is none.
	ttft, tpot time.Duration
}

// readState reads what the journal would hold of an endpoint.
func readState(o *strictjson.Object) past {
	failures := 0
	o.Int("failures", &failures, 0, mostEvents)
	p := readPast(o)
	p.failures = failures
	o.Close()
	return p
}

// readPast reads the keys of a past from o, which may hold others.
func readPast(o *strictjson.Object) past {
	p := past{}
	o.Int("inFlight", &p.inFlight, 0, mostEvents)
	o.Duration("ttft", &p.ttft, time.Microsecond)
	o.Duration("tpot", &p.tpot, time.Microsecond)
	if p.tpot > 0 && p.ttft == 0 {
		o.Missing("ttft", "a request with a time per token has a time to its first, too")
	}
	return p
}

// readModels reads what the journal would hold of models.
func (f *Fleet) readModels(root *strictjson.Object) {
	for _, entry := range root.Objects("models") {
		name := ""
		entry.String("name", &name)
		p := readPast(entry)
		p.model = name
		entry.Close()
		if name == "" {
			entry.Missing("name", "name the model that the servers are asked for")
		}
		f.models = append(f.models, p)
	}
}

// apply applies the past to s. event has what is common to all of it; leases are numbered on from lease.
func (p *past) apply(s *state.State, event journal.Event, lease *uint32) {
	for range p.inFlight {
		*lease++
		event.Kind, event.Lease = journal.Decision, *lease
		s.Apply(&event)
	}
	if p.ttft == 0 {
		return
	}
	*lease++
	event.Kind, event.Lease, event.Status, event.OutputTokens = journal.Completion, *lease, 200, 2
	event.TTFTMicros, event.DurationMicros = uint32(p.ttft.Microseconds()), uint32((p.ttft + p.tpot).Microseconds())
	s.Apply(&event)
}
