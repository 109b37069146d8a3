package state

import "math/bits"

const (
	// intervalBuckets are four for each doubling up to some six days, what is longer counts as that.
	intervalBuckets = 72
	// againPercent of what comes again comes within a window, which has leastWindow seconds at least: what was just
	// used may be in flight, and times are whole seconds.
	againPercent, leastWindow = 98, 10
	// intervalBlocks is how much comes again before older ones count half, in first blocks.
	intervalBlocks = 1 << 16
)

// intervals is how long blocks are not used before they are used again. The zero value is ready.
type intervals struct {
	counts [intervalBuckets]uint32 // in first blocks
	sum    uint32
	known  uint32 // the window, 0 for not up to date
}

// note takes blocks that are used again after so many seconds.
func (v *intervals) note(seconds uint32, blocks int) {
	if v.sum >= intervalBlocks {
		v.sum = 0
		for i := range v.counts {
			v.counts[i] /= 2
			v.sum += v.counts[i]
		}
	}
	n := uint32(min(blocks, intervalBlocks))
	v.counts[intervalBucket(seconds)] += n
	v.sum += n
	v.known = 0
}

// window is within how many seconds nearly all that comes again does, everything as long as that is unknown.
func (v *intervals) window() uint32 {
	if v.sum == 0 {
		return everything
	}
	if v.known == 0 {
		v.known = max(v.percentile(againPercent), leastWindow)
	}
	return v.known
}

func (v *intervals) percentile(percent uint32) (seconds uint32) {
	sum, most := uint64(0), uint64(v.sum)*uint64(percent)
	for i, n := range v.counts {
		if sum += 100 * uint64(n); n > 0 && sum >= most {
			return intervalEnd(i)
		}
	}
	return 0
}

// intervalBucket is the seconds themselves below 8, and four buckets for each doubling from there on.
func intervalBucket(seconds uint32) int {
	shift := max(bits.Len32(seconds), 3) - 3
	return min(4*shift+int(seconds>>shift), intervalBuckets-1)
}

// intervalEnd is the last of a bucket's seconds.
func intervalEnd(bucket int) uint32 {
	shift := max(bucket/4-1, 0)
	return uint32(bucket-4*shift+1)<<shift - 1
}
