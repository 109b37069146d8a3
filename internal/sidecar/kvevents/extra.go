package kvevents

// addSalt has the salt distinguish a prompt's first block, as in a request. Those behind it are told apart by it.
func (e *event) addSalt() {
	if e.salt == "" || e.hasParent {
		return
	}
	if len(e.extra) == 0 {
		e.extra = append(e.extra, nil)
	}
	e.extra[0] = append(e.extra[0], e.salt)
}

// readExtra reads extra_keys: for each block nil, or a list of the adapter's name, of media, each its identifier or a
// pair of that and its place, of the salt, and of what else the engine has hashed.
func (d *decoder) readExtra(r *reader) bool {
	list, _ := r.next()
	if list.kind == kindNil {
		return true
	}
	if list.kind != kindArray || list.n > maxBlocks {
		return false
	}
	for range list.n {
		start := len(d.names)
		if !d.readNames(r) {
			return false
		}
		d.event.extra = append(d.event.extra, d.names[start:len(d.names):len(d.names)])
	}
	return true
}

func (d *decoder) readNames(r *reader) bool {
	block, _ := r.next()
	if block.kind == kindNil {
		return true
	}
	if block.kind != kindArray {
		return false
	}
	for range block.n {
		start := r.at
		v, _ := r.next()
		if v.kind == kindArray && v.n > 0 {
			inner, _ := r.next()
			at, _ := r.next()
			r.at = start
			if r.skip() != nil {
				return false
			}
			if size := d.event.blockTokens; v.n > 1 && at.kind == kindUint && size > 0 && at.n >= uint64(size) {
				continue // begins behind the block: with speculative decoding vLLM's hash covers the next tokens, too
			}
			v = inner
		} else if v.kind == kindMap {
			r.at = start
			if r.skip() != nil {
				return false
			}
		}
		if v.kind == kindString || v.kind == kindBinary {
			if len(d.names) == maxBlocks {
				return false
			}
			d.names = append(d.names, string(v.bytes))
		}
	}
	return true
}
