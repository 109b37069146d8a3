package main

// kept are bytes that outlive their callback, in blocks that the worker uses again: one large piece for each request
// would tear the heap apart. The zero value is empty.
type kept struct {
	blocks [][]byte
	size   int
	// most is what may be kept; over is set when it was more, or when the worker has no more room.
	most   int
	over   bool
	worker *worker
}

const (
	keptBlockBytes = 16 << 10
	// mostKeptBlocks bounds what a worker keeps in sum, at 64 MiB.
	mostKeptBlocks = 4096
)

// Keep implements openai.Sink.
func (k *kept) Keep(b []byte) {
	if k.over = k.over || k.size+len(b) > k.most; k.over {
		return
	}
	for len(b) > 0 {
		used := k.size % keptBlockBytes
		if used == 0 {
			block := k.worker.keptBlock()
			if block == nil {
				k.over = true
				return
			}
			k.blocks = append(k.blocks, block)
		}
		n := copy(k.blocks[len(k.blocks)-1][used:], b)
		k.size += n
		b = b[n:]
	}
}

// appendTo appends all bytes to dst.
func (k *kept) appendTo(dst []byte) []byte {
	left := k.size
	for _, block := range k.blocks {
		n := min(left, keptBlockBytes)
		dst = append(dst, block[:n]...)
		left -= n
	}
	return dst
}

// free gives the blocks back.
func (k *kept) free() {
	k.worker.keptFree = append(k.worker.keptFree, k.blocks...)
	clear(k.blocks)
	k.blocks, k.size, k.over = k.blocks[:0], 0, false
}

// keptBlock returns a block, nil when there are no more.
func (w *worker) keptBlock() []byte {
	if n := len(w.keptFree); n > 0 {
		block := w.keptFree[n-1]
		w.keptFree = w.keptFree[:n-1]
		return block
	}
	if w.keptMade == mostKeptBlocks {
		return nil
	}
	w.keptMade++
	return make([]byte, keptBlockBytes)
}
