package explain

import (
	"math"
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
	// tokens is how many tokens of prompts the requests in flight have it compute in all, rate how many it computes in
	// a second; 0 is unknown.
	tokens int
	rate   float64
	// blocks is how many leading blocks of the prompt it has by its events, worth is what they are worth.
	blocks int
	worth  float64
}

// readState reads what the journal would hold of an endpoint, which has failed that share of its requests where o says
// nothing of failures.
func readState(o *strictjson.Object, share float64) past {
	failures := failuresOf(share)
	o.Int("failures", &failures, 0, mostEvents)
	p := readPast(o)
	p.failures = failures
	o.Int("tokensInFlight", &p.tokens, 0, math.MaxInt32)
	o.Float("prefillTokensPerSecond", &p.rate, 1, 1e9)
	o.Int("cachedBlocks", &p.blocks, 0, math.MaxInt32)
	p.worth = float64(p.blocks)
	o.Float("cachedScore", &p.worth, 0, math.MaxInt32)
	if o.Has("cachedScore") && p.blocks == 0 {
		o.Missing("cachedBlocks", "a score is that of blocks")
	}
	if p.tokens > 0 && p.inFlight == 0 {
		o.Missing("inFlight", "tokens in flight are those of requests")
	}
	o.Close()
	return p
}

// failuresOf is how many requests that fail on end leave the share of failures that is nearest to one.
func failuresOf(share float64) int {
	const most = 64
	kept := math.Log(1 - state.FailureWeight)
	return int(math.Round(min(math.Log(1-share)/kept, most)))
}

// readPast reads the keys of a past from o, which may hold others.
func readPast(o *strictjson.Object) past {
	p := past{}
	o.Int("inFlight", &p.inFlight, 0, mostEvents)
	o.Duration("ttft", &p.ttft, time.Microsecond)
	o.Duration("tpot", &p.tpot, time.Microsecond)
	if p.tpot > 0 && p.ttft == 0 && !o.Has("prefillTokensPerSecond") {
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

// apply calls each with the past. event has what is common to all of it; leases are numbered on from lease.
func (p *past) apply(each func(*journal.Event), event journal.Event, lease *uint32) {
	for i := range p.inFlight {
		*lease++
		event.Kind, event.Lease, event.Streamed = journal.Decision, *lease, p.rate > 0
		event.PrimaryLoad = uint32(p.tokens / p.inFlight)
		if i == 0 {
			event.PrimaryLoad += uint32(p.tokens % p.inFlight)
		}
		event.InputTokens = event.PrimaryLoad
		each(&event)
	}
	if p.ttft == 0 {
		return
	}
	*lease++
	event.Kind, event.Lease, event.Status, event.OutputTokens = journal.Completion, *lease, 200, 2
	event.TTFTMicros, event.DurationMicros = uint32(p.ttft.Microseconds()), uint32((p.ttft + p.tpot).Microseconds())
	each(&event)
}

const (
	// lessons is how many answers of each endpoint tell how fast it is, lessonEvery the time between them.
	lessons     = 256
	lessonEvery = int64(time.Minute)
	// lessonTokens is the length of the shortest of their prompts.
	lessonTokens = 256
)

// teach calls each with the i-th of the answers that tell how fast the endpoint is, each to a prompt that it had to
// compute alone.
func (p *past) teach(each func(*journal.Event), event journal.Event, i int, lease *uint32) {
	if p.rate == 0 {
		return
	}
	*lease++
	event.Time -= int64(lessons-i) * lessonEvery
	event.Kind, event.Lease, event.Streamed = journal.Decision, *lease, true
	event.PrimaryLoad = lessonTokens * uint32(1+i%16)
	event.InputTokens = event.PrimaryLoad
	each(&event)
	first := time.Duration(float64(event.PrimaryLoad) / p.rate * float64(time.Second))
	event.Kind, event.Status = journal.Began, 200
	event.Time += int64(first)
	event.TTFTMicros = uint32(first.Microseconds())
	each(&event)
	const tokens = 11
	rest := (tokens - 1) * p.tpot
	event.Kind, event.OutputTokens = journal.Completion, tokens
	event.Time += int64(rest)
	event.DurationMicros = event.TTFTMicros + uint32(rest.Microseconds())
	each(&event)
}
