package state

import "math"

// A list has depthGroups of blocks at most, and a new one begins with each of so many grains of what is believed.
const depthGroups, grains = 96, 64

// depths is how deep the blocks of a list lie: what of it was used since they were, in first blocks of a prompt. Blocks
// that were used one behind the other make a group and share a stamp, which stays the same while others are used. So a
// depth is known to about the size of a group, and to find it or to change it takes no look at other blocks.
type depths struct {
	// starts are the first stamps of groups, oldest first, sizes what is there of them, and times when one of them was
	// used last as one of the newest, in seconds.
	starts, sizes, times [depthGroups]uint32
	n                    int
}

// newest is the size of the newest group.
func (d *depths) newest() uint32 { return d.sizes[d.n-1] }

// join adds what a block takes to the newest group.
func (d *depths) join(size, seconds uint32) {
	d.sizes[d.n-1] += size
	d.times[d.n-1] = seconds
}

// group is the one of a stamp.
func (d *depths) group(stamp uint32) int {
	low, high := 0, d.n-1
	if high == 0 || int32(stamp-d.starts[1]) < 0 {
		return 0 // as of all blocks that go for being the oldest
	}
	for low < high {
		middle := (low + high + 1) / 2
		if int32(stamp-d.starts[middle]) >= 0 {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// open begins a group with a stamp behind all others.
func (d *depths) open(stamp uint32) {
	if d.n == depthGroups {
		d.merge()
	}
	d.starts[d.n], d.sizes[d.n], d.times[d.n] = stamp, 0, 0
	d.n++
}

// merge makes one group of two neighbours, those that together are the least part of their depth: what is believed may
// be far from the truth, so that all depths are to be known equally well.
func (d *depths) merge() {
	least, part, depth := 1, math.Inf(1), 0.0
	for i := d.n - 1; i > 0; i-- {
		both := float64(d.sizes[i]) + float64(d.sizes[i-1])
		if of := both / (depth + both); of < part {
			least, part = i, of
		}
		depth += float64(d.sizes[i])
	}
	d.sizes[least-1] += d.sizes[least]
	d.times[least-1] = d.times[least]
	copy(d.starts[least:], d.starts[least+1:d.n])
	copy(d.sizes[least:], d.sizes[least+1:d.n])
	copy(d.times[least:], d.times[least+1:d.n])
	d.n--
}

// leave takes what a block with a stamp takes out of its group.
func (d *depths) leave(stamp, size uint32) {
	g := d.group(stamp)
	d.sizes[g] -= min(size, d.sizes[g])
}

// depth is what there is of a stamp's group and of all that are newer, but for the block itself.
func (d *depths) depth(stamp uint32) uint32 {
	sum := uint32(0)
	for _, size := range d.sizes[d.group(stamp):d.n] {
		sum += size
	}
	return max(sum, 1) - 1
}

// since is what there is of the groups that were used at a time or later.
func (d *depths) since(seconds uint32) (sum uint32) {
	for i := d.n - 1; i >= 0 && d.times[i] >= seconds; i-- {
		sum += d.sizes[i]
	}
	return sum
}

// within is the first stamp of the newest groups that have at most so much together.
func (d *depths) within(most uint32) (first uint32) {
	i := d.n - 1
	first = d.starts[i] + 1 // if one is too much
	for ; i >= 0 && d.sizes[i] <= most; i-- {
		most -= d.sizes[i]
		first = d.starts[i]
	}
	return first
}
