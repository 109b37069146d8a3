package branchhints

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// A side of a branch is rare when it is taken less than once in rareRequests requests and, were it taken once more,
// still not more than once where the other is taken rareSides times. A loop's end is taken once where its body runs a
// thousand times, and is not rare, as each request comes past it.
const (
	rareRequests = 100
	rareSides    = 50
)

// Counting returns the module with counters of its branches, as exported globals, which Profile reads.
func (m *Module) Counting() []byte {
	counters := 0
	code := binary.AppendUvarint(nil, uint64(len(m.functions)))
	for i := range m.functions {
		code = appendVector(code, m.functions[i].counting(m.globals, &counters))
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range m.sections {
		payload := s.payload
		switch s.id {
		case sectionGlobal:
			// Each is an i32 that can be set and begins as 0.
			payload = longer(payload, counters, func(out []byte, _ int) []byte {
				return append(out, "\x7f\x01\x41\x00\x0b"...)
			})
		case sectionExport:
			payload = longer(payload, counters, func(out []byte, i int) []byte {
				out = appendVector(out, []byte(counterName(i)))
				return binary.AppendUvarint(append(out, 3), uint64(m.globals+i))
			})
		case sectionCode:
			payload = code
		}
		out = appendVector(append(out, s.id), payload)
	}
	return out
}

// counterName is the export of a counter: two for each branch, how often it was come to and how often its condition
// held.
func counterName(i int) string { return "branch " + strconv.Itoa(i) }

// longer appends n entries to a section that is a list.
func longer(payload []byte, n int, add func(out []byte, i int) []byte) []byte {
	r := reader{bytes: payload}
	out := binary.AppendUvarint(nil, uint64(r.uint()+n))
	out = append(out, payload[r.at:]...)
	for i := range n {
		out = add(out, i)
	}
	return out
}

// counting returns a body that adds to two globals before each branch. globals are those of the module without
// counters, which are numbered after them.
func (f *function) counting(globals int, counters *int) []byte {
	groups := reader{bytes: f.body}
	groups.uint()
	out := binary.AppendUvarint(nil, uint64(f.groups+1))
	out = append(out, f.body[groups.at:f.code]...)
	out = append(out, 1, 0x7f) // a further local, an i32, for the condition
	condition := binary.AppendUvarint(nil, uint64(f.params+f.locals))
	with := func(op byte, number []byte) { out = append(append(out, op), number...) }
	for n, i := range f.instructions {
		if i.branches() {
			come := binary.AppendUvarint(nil, uint64(globals+*counters))
			held := binary.AppendUvarint(nil, uint64(globals+*counters+1))
			*counters += 2
			with(0x21, condition)            // local.set
			with(0x23, come)                 // global.get
			out = append(out, 0x41, 1, 0x6a) // i32.const 1, i32.add
			with(0x24, come)                 // global.set
			with(0x23, held)
			with(0x20, condition)                  // local.get
			out = append(out, 0x41, 0, 0x47, 0x6a) // i32.const 0, i32.ne, i32.add
			with(0x24, held)
			with(0x20, condition)
		}
		end := len(f.body)
		if n+1 < len(f.instructions) {
			end = f.instructions[n+1].at
		}
		out = append(out, f.body[i.at:end]...)
	}
	return out
}

// Profile says what a module that counted was seen to do. counter returns the value of an exported global, summed over
// all VMs; requests is how many went through them.
func (m *Module) Profile(requests int, counter func(name string) uint64) Profile {
	type count struct{ come, held uint64 }
	counts := map[uint64][]count{} // by shape: what is the same code is one
	at := 0
	for i := range m.functions {
		f := &m.functions[i]
		var own []count
		for _, c := range f.instructions {
			if c.branches() {
				own = append(own, count{counter(counterName(at)), counter(counterName(at + 1))})
				at += 2
			}
		}
		shape := f.shape()
		if counts[shape] == nil {
			counts[shape] = own
			continue
		}
		for j, c := range own {
			counts[shape][j].come += c.come
			counts[shape][j].held += c.held
		}
	}
	p := Profile{}
	for shape, all := range counts {
		var sides strings.Builder
		for _, c := range all {
			sides.WriteByte(byte(sideOf(c.held, c.come-c.held, uint64(requests))))
		}
		if strings.Trim(sides.String(), string(Unknown)) != "" {
			p[shape] = sides.String()
		}
	}
	return p
}

// sideOf tells a branch by how often its condition held and how often it did not.
func sideOf(held, failed, requests uint64) Side {
	rare := func(side, other uint64) bool {
		return (side+1)*rareSides <= other && side*rareRequests < requests
	}
	switch {
	case rare(held, failed):
		return Unlikely
	case rare(failed, held):
		return Likely
	}
	return Unknown
}
