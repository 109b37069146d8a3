package branchhints

import "fmt"

// Instructions of control, by their codes.
const (
	opUnreachable = 0x00
	opBlock       = 0x02
	opLoop        = 0x03
	opIf          = 0x04
	opElse        = 0x05
	opEnd         = 0x0b
	opBr          = 0x0c
	opBrIf        = 0x0d
	opBrTable     = 0x0e
	opReturn      = 0x0f
)

// instruction is where one begins in its function's body.
type instruction struct {
	at int
	op byte
	// depth is how many blocks br and br_if leave.
	depth int
}

// branches says whether it goes one of two ways by a condition: these are what hints are for.
func (i instruction) branches() bool { return i.op == opIf || i.op == opBrIf }

func (r *reader) instructions() (all []instruction) {
	for r.more() {
		i := instruction{at: r.at}
		i.op = r.byte()
		r.immediates(&i)
		all = append(all, i)
	}
	return all
}

// immediates goes past what follows an instruction's code.
func (r *reader) immediates(i *instruction) {
	switch op := i.op; {
	case op == opBr || op == opBrIf:
		i.depth = r.uint()
	case op == opBrTable:
		for range r.uint() + 1 {
			if r.skipNumber(); r.err != nil {
				return
			}
		}
	case op == opBlock || op == opLoop || op == opIf, // the type of its result
		op == 0x10,               // call
		op >= 0x20 && op <= 0x26, // locals, globals, tables
		op == 0x3f || op == 0x40, // size and growth of the memory
		op == 0x41 || op == 0x42, // constants
		op == 0xd0 || op == 0xd2: // references
		r.skipNumber()
	case op == 0x11, op >= 0x28 && op <= 0x3e: // call_indirect; loads and stores
		r.skipNumber()
		r.skipNumber()
	case op == 0x1c: // select with types
		r.vector()
	case op == 0x43:
		r.skip(4)
	case op == 0x44:
		r.skip(8)
	case op == 0xfc:
		r.extended()
	case op == opUnreachable || op == 0x01 || op == opElse || op == opEnd || op == opReturn || op == 0x1a ||
		op == 0x1b || op == 0xd1 || op >= 0x45 && op <= 0xc4:
	case r.err == nil:
		r.err = fmt.Errorf("instruction %#x at %d is unknown", op, i.at)
	}
}

// extended goes past the instructions that begin with 0xfc: conversions, then those of memories and tables.
func (r *reader) extended() {
	switch op := r.uint(); {
	case op <= 7:
	case op == 8 || op == 10 || op == 12 || op == 14:
		r.skipNumber()
		r.skipNumber()
	case op <= 17:
		r.skipNumber()
	case r.err == nil:
		r.err = fmt.Errorf("instruction 0xfc %d is unknown", op)
	}
}
