package branchhints

// flow is where the instructions of a function lead.
type flow struct {
	code []instruction
	// target is the index that a br or br_if leads to, and that an else leads to from above; else and if are those of
	// the false side of an if. None is -1, which is also said of what leads back or out of the function.
	target []int
}

// none is no index.
const none = -1

// maxDepth bounds how many branches one after the other are looked behind.
const maxDepth = 6

func newFlow(code []instruction) *flow {
	f := &flow{code: code, target: make([]int, len(code))}
	var open []int              // blocks, loops and ifs around an instruction
	waiting := map[int][]int{}  // by the block that they leave
	otherwise := map[int]bool{} // ifs with an else
	for i, c := range code {
		f.target[i] = none
		switch c.op {
		case opBlock, opLoop, opIf:
			open = append(open, i)
		case opBr, opBrIf:
			if c.depth < len(open) {
				if block := open[len(open)-1-c.depth]; code[block].op != opLoop {
					waiting[block] = append(waiting[block], i)
				}
			}
		case opElse:
			if len(open) > 0 {
				block := open[len(open)-1]
				f.target[block] = i + 1
				otherwise[block] = true
				waiting[block] = append(waiting[block], i)
			}
		case opEnd:
			if len(open) == 0 {
				continue
			}
			block := open[len(open)-1]
			open = open[:len(open)-1]
			for _, from := range waiting[block] {
				f.target[from] = i + 1
			}
			if code[block].op == opIf && !otherwise[block] {
				f.target[block] = i + 1
			}
		}
	}
	return f
}

// sides are the indexes that a branch leads to when its condition holds and when it does not.
func (f *flow) sides(i int) (holds, fails int) {
	if f.code[i].op == opIf {
		return i + 1, f.target[i]
	}
	return f.target[i], i + 1
}

// panics says whether all that can follow from an index on, without a loop, is unreachable.
func (f *flow) panics(i, depth int) bool {
	for steps := 0; i >= 0 && i < len(f.code) && steps < len(f.code); steps++ {
		switch c := f.code[i]; c.op {
		case opUnreachable:
			return true
		case opReturn, opBrTable, opLoop:
			return false
		case opBr, opElse:
			i = f.target[i]
		case opBrIf, opIf:
			if depth == maxDepth {
				return false
			}
			holds, fails := f.sides(i)
			return f.panics(holds, depth+1) && f.panics(fails, depth+1)
		default:
			i++
		}
	}
	return false
}

// panicking is what is known of a branch when one of its sides leads to a panic alone.
func (f *flow) panicking(i int) Side {
	holds, fails := f.sides(i)
	switch a, b := f.panics(holds, 0), f.panics(fails, 0); {
	case a && !b:
		return Unlikely
	case b && !a:
		return Likely
	}
	return Unknown
}
