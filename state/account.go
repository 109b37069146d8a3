package state

import "math"

// account is one user. id is 0 where there is none.
type account struct {
	id uint64
	// all is what requests are expected to take and were served, served what servers reported, each request up to a
	// bound.
	all, served     amounts
	total, standing float64
}

// amounts are tokens by the part of the window in which they came, and their sums.
type amounts struct {
	input, output uint64
	slots         [tokenSlots]struct{ input, output uint32 }
}

func (a *amounts) add(slot int64, input, output uint32) {
	s := &a.slots[slot]
	input, output = min(input, math.MaxUint32-s.input), min(output, math.MaxUint32-s.output)
	s.input += input
	s.output += output
	a.input += uint64(input)
	a.output += uint64(output)
}

// take takes tokens out of a slot, and returns those that it lacks.
func (a *amounts) take(slot int64, input, output uint32) (lacksInput, lacksOutput uint32) {
	s := &a.slots[slot]
	inputs, outputs := min(input, s.input), min(output, s.output)
	s.input -= inputs
	s.output -= outputs
	a.input -= uint64(inputs)
	a.output -= uint64(outputs)
	return input - inputs, output - outputs
}

// empty reports whether there was anything.
func (a *amounts) empty(slot int64) bool {
	s := a.slots[slot]
	if s.input == 0 && s.output == 0 {
		return false
	}
	a.take(slot, s.input, s.output)
	return true
}
