package state

import (
	"unsafe"

	"github.com/pintle-dev/pintle/journal"
)

const (
	// outputSlots is how many pairs of model and user are known at once.
	outputSlots = 1 << 10
	// outputGain is the least weight of a new answer in the mean.
	outputGain = 1.0 / 32
	// enoughOfUser and enoughOfModel are how many answers tell how long the next one is.
	enoughOfUser, enoughOfModel = 3, 8
	// mostOutput bounds what one answer adds.
	mostOutput = 1 << 17
)

// Outputs is how many tokens answers have, in the mean of late, by model and by model and user, as servers reported
// them. A pair that is seldom seen makes way for one that is seen more often.
type Outputs struct {
	everywhere
	slots chunks[output]
}

type output struct {
	key  uint64
	mean float32
	n    uint32
}

func newOutputs() *Outputs {
	o := new(Outputs)
	o.slots.shift = nodeShift
	o.slots.reach(outputSlots - 1)
	return o
}

// Expire does nothing: how long answers are depends on who asks, and not on when.
func (*Outputs) Expire(int64) {}

// apply implements part.
func (o *Outputs) apply(s *step) {
	if s.Kind != journal.Completion || s.Status != 200 || !s.UsageReported || s.OutputTokens == 0 || s.Model == 0 {
		return
	}
	tokens := float32(min(s.OutputTokens, mostOutput))
	o.add(outputKey(s.Model, 0), tokens)
	if s.User != 0 {
		o.add(outputKey(s.Model, s.User), tokens)
	}
}

func outputKey(model, user uint64) uint64 { return mix(model^user*0x9e3779b97f4a7c15, 1) | 1 }

func (o *Outputs) slot(key uint64) *output { return o.slots.at(uint32(key>>32) % outputSlots) }

func (o *Outputs) add(key uint64, tokens float32) {
	at := o.slot(key)
	if at.key != key {
		if at.n > 1 {
			at.n /= 2
			return
		}
		*at = output{key: key}
	}
	at.n = min(at.n+1, 1<<20)
	at.mean += (tokens - at.mean) * max(1/float32(at.n), outputGain)
}

// Tokens is how many tokens an answer of the model to the user has; user 0 is any. ok is false as long as too little is
// known of either.
func (o *Outputs) Tokens(model, user uint64) (tokens float64, ok bool) {
	if user != 0 {
		if at := o.slot(outputKey(model, user)); at.key == outputKey(model, user) && at.n >= enoughOfUser {
			return float64(at.mean), true
		}
	}
	at := o.slot(outputKey(model, 0))
	return float64(at.mean), at.key == outputKey(model, 0) && at.n >= enoughOfModel
}

// MemoryBytes implements part.
func (o *Outputs) MemoryBytes() int { return o.slots.memory() + int(unsafe.Sizeof(*o)) }
