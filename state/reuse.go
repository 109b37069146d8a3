package state

// reuseBlocks is how long the prompts are, in first blocks, that count before older ones count half.
const reuseBlocks = 1 << 16

// reuse is which part of prompts was believed to be cached where they went.
type reuse struct{ found, all float64 }

// note takes a prompt of which so many blocks were found. Both are in first blocks.
func (r *reuse) note(found, all int) {
	r.found, r.all = r.found+float64(found), r.all+float64(all)
	if r.all > reuseBlocks {
		r.found, r.all = r.found/2, r.all/2
	}
}

// share is 0 before anything was noted.
func (r *reuse) share() float64 {
	if r.all == 0 {
		return 0
	}
	return r.found / r.all
}
