package state

// anchorStep is how far apart the blocks are that are kept of a prompt as long as its answer has not begun. To keep a
// block costs as much before that as after it, in each worker, and few look for it meanwhile.
const anchorStep = 4

// anchorAt is the number of the i-th block that is kept of n, both counted from 1, and 0 for 0: the first ones, one of
// anchorStep of those behind them, and the last.
func anchorAt(i, n int) int {
	if i > anchorStep {
		i = (i - anchorStep + 1) * anchorStep
	}
	return min(i, n)
}

// anchorsOf returns the blocks of a prompt that are kept of it. They are valid until the next call.
func (p *Prompts) anchorsOf(blocks []uint64) []uint64 {
	p.anchors = p.anchors[:0]
	for i, at := 0, 0; at < len(blocks); {
		i++
		at = anchorAt(i, len(blocks))
		p.anchors = append(p.anchors, blocks[at-1])
	}
	return p.anchors
}
