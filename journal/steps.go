package journal

import (
	"encoding/binary"
	"math"
)

// StepsWriter writes down how a decision comes about, for Event.Steps; FORMAT.md says how. The zero value is ready; its
// memory is used again by Reset. It writes at most MaxStepsBytes, and no more after that.
type StepsWriter struct {
	bytes []byte
	// count is where the number of the running operation's entries lies, 0 for none; operation and hash tell which it
	// is.
	count     int
	operation byte
	hash      uint64
	// told are by endpoint's index the decision in which it was told which one that is.
	told []uint32
	now  uint32
}

// MaxStepsBytes bounds the steps of a decision.
const MaxStepsBytes = 4096

// The operations.
const (
	stepProfile = 'P'
	stepRemoved = 'F'
	stepScore   = 'S'
	stepTotal   = 'T'
	stepPicked  = 'K'
)

// stepNew is added to the index of an endpoint where the endpoint follows it.
const stepNew = 1 << 15

// Reset begins the steps of another decision, with endpoints of indexes below n.
func (w *StepsWriter) Reset(n int) {
	w.bytes, w.count, w.operation, w.hash = w.bytes[:0], 0, 0, 0
	if w.now++; w.now == 0 || len(w.told) < n {
		w.told, w.now = make([]uint32, max(n, len(w.told))), 1
	}
}

// Bytes are the steps so far, valid until the next Reset.
func (w *StepsWriter) Bytes() []byte { return w.bytes }

// Profile begins a profile.
func (w *StepsWriter) Profile(hash uint64) {
	if w.room() {
		w.bytes = binary.LittleEndian.AppendUint64(append(w.bytes, stepProfile), hash)
		w.operation = 0
	}
}

// Removed notes that a plug-in, by the hash of its name, removed an endpoint.
func (w *StepsWriter) Removed(hash uint64, index int, endpoint uint64) {
	w.entry(stepRemoved, hash, index, endpoint)
}

// Scored notes a score.
func (w *StepsWriter) Scored(hash uint64, index int, endpoint uint64, score float64) {
	if w.entry(stepScore, hash, index, endpoint) {
		w.bytes = binary.LittleEndian.AppendUint32(w.bytes, math.Float32bits(float32(score)))
	}
}

// Total notes a sum.
func (w *StepsWriter) Total(index int, endpoint uint64, total float64) {
	if w.entry(stepTotal, 0, index, endpoint) {
		w.bytes = binary.LittleEndian.AppendUint32(w.bytes, math.Float32bits(float32(total)))
	}
}

// Picked notes a pick.
func (w *StepsWriter) Picked(index int, endpoint uint64) { w.entry(stepPicked, 0, index, endpoint) }

// room reports whether there is room for another operation with an entry.
func (w *StepsWriter) room() bool { return len(w.bytes) < MaxStepsBytes-32 }

// entry adds an endpoint to the running operation, or begins one.
func (w *StepsWriter) entry(operation byte, hash uint64, index int, endpoint uint64) bool {
	if !w.room() || index >= len(w.told) || index >= stepNew {
		return false
	}
	if w.operation != operation || w.hash != hash || w.bytes[w.count] == math.MaxUint8 {
		w.operation, w.hash = operation, hash
		w.bytes = append(w.bytes, operation)
		if operation == stepRemoved || operation == stepScore {
			w.bytes = binary.LittleEndian.AppendUint64(w.bytes, hash)
		}
		w.count = len(w.bytes)
		w.bytes = append(w.bytes, 0)
	}
	w.bytes[w.count]++
	if w.told[index] == w.now {
		w.bytes = binary.LittleEndian.AppendUint16(w.bytes, uint16(index))
		return true
	}
	w.told[index] = w.now
	w.bytes = binary.LittleEndian.AppendUint16(w.bytes, uint16(index)|stepNew)
	w.bytes = binary.LittleEndian.AppendUint64(w.bytes, endpoint)
	return true
}

// StepsReader is told the steps of a decision, see ReadSteps. Endpoints are IDs, names are hashes.
type StepsReader interface {
	Profile(hash uint64)
	Removed(plugin, endpoint uint64)
	Scored(plugin, endpoint uint64, score float64)
	Total(endpoint uint64, total float64)
	Picked(endpoint uint64)
}

// ReadSteps tells r the steps of an event, up to the first that cannot be read.
func ReadSteps(steps []byte, r StepsReader) {
	endpoints := map[uint16]uint64{}
	for len(steps) > 0 {
		operation := steps[0]
		steps = steps[1:]
		hash := uint64(0)
		switch operation {
		case stepProfile, stepRemoved, stepScore:
			if len(steps) < 8 {
				return
			}
			hash, steps = binary.LittleEndian.Uint64(steps), steps[8:]
			if operation == stepProfile {
				r.Profile(hash)
				continue
			}
		case stepTotal, stepPicked:
		default:
			return
		}
		if len(steps) == 0 {
			return
		}
		count := int(steps[0])
		steps = readEntries(steps[1:], operation, count, hash, endpoints, r)
	}
}

// readEntries reads the entries of an operation and returns what is behind them, nil when they are cut.
func readEntries(steps []byte, operation byte, count int, hash uint64, endpoints map[uint16]uint64,
	r StepsReader) (rest []byte) {
	for range count {
		if len(steps) < 2 {
			return nil
		}
		index, value := binary.LittleEndian.Uint16(steps), 0.0
		steps = steps[2:]
		if index&stepNew != 0 {
			index &^= stepNew
			if len(steps) < 8 {
				return nil
			}
			endpoints[index], steps = binary.LittleEndian.Uint64(steps), steps[8:]
		}
		if operation == stepScore || operation == stepTotal {
			if len(steps) < 4 {
				return nil
			}
			value, steps = float64(math.Float32frombits(binary.LittleEndian.Uint32(steps))), steps[4:]
		}
		endpoint := endpoints[index]
		switch operation {
		case stepRemoved:
			r.Removed(hash, endpoint)
		case stepScore:
			r.Scored(hash, endpoint, value)
		case stepTotal:
			r.Total(endpoint, value)
		case stepPicked:
			r.Picked(endpoint)
		}
	}
	return steps
}
