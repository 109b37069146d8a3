package journal

import (
	"encoding/binary"
	"math"
)

// StepsWriter writes down how a decision comes about, for Event.Steps; FORMAT.md says how. Reset makes it ready, and
// uses its memory again. It writes at most MaxStepsBytes, and no more after that.
type StepsWriter struct {
	bytes []byte // of capacity MaxStepsBytes
	// count is where the number of the running operation's entries lies, 0 for none; operation and hash tell which it
	// is.
	count     int
	operation byte
	hash      uint64
	// told are by endpoint's index the decision in which it was told which one that is.
	told []uint32
	now  uint32
	// listed is how many endpoints the last Candidates has, list where they begin.
	listed, list int
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
	// Of all candidates at once:
	stepCandidates = 'C'
	stepScores     = 's'
	stepTotals     = 't'
)

// stepNew is added to the index of an endpoint where the endpoint follows it.
const stepNew = 1 << 15

// Reset begins the steps of another decision, with endpoints of indexes below n.
func (w *StepsWriter) Reset(n int) {
	if w.bytes == nil {
		w.bytes = make([]byte, 0, MaxStepsBytes)
	}
	w.bytes, w.count, w.operation, w.hash, w.listed = w.bytes[:0], 0, 0, 0, 0
	if w.now++; w.now == 0 || len(w.told) < n {
		w.told, w.now = make([]uint32, max(n, len(w.told))), 1
	}
}

// more returns the next n bytes, for which there must be room. They are to be written: appending is a call in Wasm.
func (w *StepsWriter) more(n int) []byte {
	start := len(w.bytes)
	w.bytes = w.bytes[:start+n]
	return w.bytes[start:]
}

// Bytes are the steps so far, valid until the next Reset.
func (w *StepsWriter) Bytes() []byte { return w.bytes }

// Profile begins a profile.
func (w *StepsWriter) Profile(hash uint64) {
	if w.room() {
		w.begin(stepProfile, hash)
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
		w.number(score)
	}
}

// Total notes a sum.
func (w *StepsWriter) Total(index int, endpoint uint64, total float64) {
	if w.entry(stepTotal, 0, index, endpoint) {
		w.number(total)
	}
}

// Picked notes a pick.
func (w *StepsWriter) Picked(index int, endpoint uint64) { w.entry(stepPicked, 0, index, endpoint) }

// Candidates begins a list of n endpoints, which Candidate is to be called for, in the order of what Scores and Totals
// are then told. Those for which there is no room are left out.
func (w *StepsWriter) Candidates(n int) {
	w.operation, w.listed = 0, min(n, max(MaxStepsBytes-len(w.bytes)-3, 0)/10)
	if w.listed > 0 {
		b := w.more(3)
		b[0] = stepCandidates
		binary.LittleEndian.PutUint16(b[1:], uint16(w.listed))
	}
	w.list = len(w.bytes)
}

// Candidate adds the next endpoint of the list and reports whether there is room for another one. The list ends at one
// whose index is too large.
func (w *StepsWriter) Candidate(place, index int, endpoint uint64) (more bool) {
	if place >= w.listed {
		return false
	}
	if index >= min(len(w.told), stepNew) {
		w.listed = place
		binary.LittleEndian.PutUint16(w.bytes[w.list-2:], uint16(place))
		return false
	}
	w.index(index, endpoint)
	return true
}

// Scores notes the scores of the listed endpoints.
func (w *StepsWriter) Scores(hash uint64, scores []float64) {
	if w.listed > 0 && len(w.bytes)+9+4*w.listed <= MaxStepsBytes {
		w.operation = 0
		w.begin(stepScores, hash)
		w.numbers(scores)
	}
}

// Totals notes the sums of the listed endpoints.
func (w *StepsWriter) Totals(totals []float64) {
	if w.listed > 0 && len(w.bytes)+1+4*w.listed <= MaxStepsBytes {
		w.operation = 0
		w.more(1)[0] = stepTotals
		w.numbers(totals)
	}
}

func (w *StepsWriter) numbers(of []float64) {
	to := w.more(4 * w.listed)
	for _, n := range of[:w.listed] {
		binary.LittleEndian.PutUint32(to, math.Float32bits(float32(n)))
		to = to[4:]
	}
}

func (w *StepsWriter) number(n float64) {
	binary.LittleEndian.PutUint32(w.more(4), math.Float32bits(float32(n)))
}

// begin writes an operation that has a plug-in's or a profile's hash.
func (w *StepsWriter) begin(operation byte, hash uint64) {
	b := w.more(9)
	b[0] = operation
	binary.LittleEndian.PutUint64(b[1:], hash)
}

// room reports whether there is room for another operation with an entry.
func (w *StepsWriter) room() bool { return len(w.bytes) < MaxStepsBytes-32 }

// entry adds an endpoint to the running operation, or begins one.
func (w *StepsWriter) entry(operation byte, hash uint64, index int, endpoint uint64) bool {
	if !w.room() || index >= len(w.told) || index >= stepNew {
		return false
	}
	if w.operation != operation || w.hash != hash || w.bytes[w.count] == math.MaxUint8 {
		w.operation, w.hash = operation, hash
		if operation == stepRemoved || operation == stepScore {
			w.begin(operation, hash)
		} else {
			w.more(1)[0] = operation
		}
		w.count = len(w.bytes)
		w.more(1)[0] = 0
	}
	w.bytes[w.count]++
	w.index(index, endpoint)
	return true
}

// index adds an endpoint's index, and the endpoint where it is the first time.
func (w *StepsWriter) index(index int, endpoint uint64) {
	if w.told[index] == w.now {
		binary.LittleEndian.PutUint16(w.more(2), uint16(index))
		return
	}
	w.told[index] = w.now
	b := w.more(10)
	binary.LittleEndian.PutUint16(b, uint16(index)|stepNew)
	binary.LittleEndian.PutUint64(b[2:], endpoint)
}
