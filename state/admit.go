package state

// AdmitByFrequency has a new block take the place of an old one only if it was seen at least as often lately, in lists
// whose blocks are believed however old they are. Prompts that come once then cannot evict those that come again and
// again, however many they are. To be called before anything is added.
func (p *Prefix) AdmitByFrequency() { p.seen = newSketch() }

// admit returns the leading blocks that may be added to a list, and counts all of them as seen.
func (p *Prefix) admit(index int, blocks []uint64, growth Chain) []uint64 {
	l := &p.lists[index]
	p.seen.reach(min(int(p.live), int(p.limit)))
	for start := 0; start < len(blocks); start += batch {
		p.count(l, blocks[start:min(start+batch, len(blocks))])
	}
	_, have := p.match(index, blocks)
	room := max(int(l.cap)-int(l.size), 0)
	full := p.live >= p.limit
	if growth.End(len(blocks))-growth.End(have) <= room && !full {
		return blocks
	}
	// What is there of the prompt is not to be weighed against the rest of it.
	p.touchAll(l, blocks[:have])
	if full && room > 0 {
		return blocks[:p.admitToFull(l, blocks, have, room, growth)]
	}
	n, victim := have, l.oldest
	for ; n < len(blocks); n++ {
		need := 1 << growth.doublings(n)
		if room >= need {
			room -= need
			continue
		}
		if victim == 0 {
			break
		}
		v := p.table.at(victim)
		if p.seen.estimate(mix(blocks[n]^l.salt, p.factor)) < p.seen.estimate(uint64(v.high)<<32|uint64(v.low)) {
			break
		}
		for ; room < need && victim != 0; victim = p.table.at(victim).newer {
			room += 1 << *p.doubled.at(victim)
		}
		if room < need {
			break
		}
		room -= need
	}
	return blocks[:n]
}

// admitToFull is admit for a list that has room in an index that has none, with have blocks of the prompt there. Each
// new block takes the place of one of the longest list: an endpoint that is new has none of its own to give.
func (p *Prefix) admitToFull(l *recency, blocks []uint64, have, room int, growth Chain) (admitted int) {
	p.findLongest()
	n, victim := have, p.lists[p.victim].oldest
	for ; n < len(blocks) && victim != 0; n++ {
		v := p.table.at(victim)
		room -= 1 << growth.doublings(n)
		if room < 0 || p.seen.estimate(mix(blocks[n]^l.salt, p.factor)) <
			p.seen.estimate(uint64(v.high)<<32|uint64(v.low)) {
			break
		}
		victim = v.newer
	}
	return n
}

// count counts a batch of blocks as seen.
func (p *Prefix) count(l *recency, blocks []uint64) {
	keys := p.keys[:len(blocks)]
	for i, block := range blocks {
		keys[i] = mix(block^l.salt, p.factor)
	}
	p.warmth += p.seen.warm(keys)
	for _, key := range keys {
		p.seen.add(key)
	}
}

// touchAll makes blocks that the list has the most recent ones, the first one most of all.
func (p *Prefix) touchAll(l *recency, blocks []uint64) {
	for i := len(blocks) - 1; i >= 0; i-- {
		if e := p.table.find(mix(blocks[i]^l.salt, p.factor)); e != 0 {
			p.table.touch(&l.ends, e)
		}
	}
}
