package journal

import (
	"encoding/binary"
	"math"
)

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
	s := stepsSource{StepsReader: r, endpoints: map[uint16]uint64{}}
	for len(steps) > 0 {
		operation, hash := steps[0], uint64(0)
		steps = steps[1:]
		switch operation {
		case stepProfile, stepRemoved, stepScore, stepScores:
			if len(steps) < 8 {
				return
			}
			hash, steps = binary.LittleEndian.Uint64(steps), steps[8:]
		}
		switch operation {
		case stepProfile:
			r.Profile(hash)
		case stepCandidates:
			steps = s.readCandidates(steps)
		case stepScores, stepTotals:
			steps = s.readNumbers(steps, operation, hash)
		case stepRemoved, stepScore, stepTotal, stepPicked:
			steps = s.readEntries(steps, operation, hash)
		default:
			return
		}
	}
}

// stepsSource is what is known while steps are read. Its methods return what is behind what they read, nil when that is
// cut.
type stepsSource struct {
	StepsReader
	endpoints map[uint16]uint64 // by index
	listed    []uint64
}

func (s *stepsSource) readCandidates(steps []byte) (rest []byte) {
	if len(steps) < 2 {
		return nil
	}
	count := binary.LittleEndian.Uint16(steps)
	steps, s.listed = steps[2:], s.listed[:0]
	for range count {
		endpoint, rest, ok := s.readEndpoint(steps)
		if !ok {
			return nil
		}
		s.listed, steps = append(s.listed, endpoint), rest
	}
	return steps
}

// readEndpoint reads an index.
func (s *stepsSource) readEndpoint(steps []byte) (endpoint uint64, rest []byte, ok bool) {
	if len(steps) < 2 {
		return 0, nil, false
	}
	index := binary.LittleEndian.Uint16(steps)
	steps = steps[2:]
	if index&stepNew != 0 {
		index &^= stepNew
		if len(steps) < 8 {
			return 0, nil, false
		}
		s.endpoints[index], steps = binary.LittleEndian.Uint64(steps), steps[8:]
	}
	return s.endpoints[index], steps, true
}

func readNumber(steps []byte) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(steps)))
}

func (s *stepsSource) readNumbers(steps []byte, operation byte, hash uint64) (rest []byte) {
	for _, endpoint := range s.listed {
		if len(steps) < 4 {
			return nil
		}
		if operation == stepScores {
			s.Scored(hash, endpoint, readNumber(steps))
		} else {
			s.Total(endpoint, readNumber(steps))
		}
		steps = steps[4:]
	}
	return steps
}

// readEntries reads the entries of an operation behind their number.
func (s *stepsSource) readEntries(steps []byte, operation byte, hash uint64) (rest []byte) {
	if len(steps) == 0 {
		return nil
	}
	count := steps[0]
	steps = steps[1:]
	for range count {
		endpoint, rest, ok := s.readEndpoint(steps)
		if !ok {
			return nil
		}
		steps = rest
		value := 0.0
		if operation == stepScore || operation == stepTotal {
			if len(steps) < 4 {
				return nil
			}
			value, steps = readNumber(steps), steps[4:]
		}
		switch operation {
		case stepRemoved:
			s.Removed(hash, endpoint)
		case stepScore:
			s.Scored(hash, endpoint, value)
		case stepTotal:
			s.Total(endpoint, value)
		case stepPicked:
			s.Picked(endpoint)
		}
	}
	return steps
}
