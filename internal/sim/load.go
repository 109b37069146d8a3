package sim

import "slices"

// load is the state of an engine at one moment, of all ranks. KV is the pinned part of their caches.
type load struct {
	Running       int     `json:"running"`
	Waiting       int     `json:"waiting"`
	KV            float64 `json:"kv"`
	PinnedBlocks  int     `json:"pinnedBlocks"`
	CachedBlocks  int     `json:"cachedBlocks"`
	Offloaded     int     `json:"offloadedBlocks,omitempty"` // and not on the GPU
	Reserved      int     `json:"reservedBlocks"`
	Blocks        int     `json:"blocks"`
	PeakRunning   int     `json:"peakRunning"`
	runningLoRA   []string
	waitingLoRA   []string
	statsSnapshot stats
}

func (e *engine) load() load {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := load{Running: e.running, Waiting: e.queue.Len(), PeakRunning: e.peak, statsSnapshot: *e.stats}
	for _, c := range e.caches {
		l.PinnedBlocks += c.pinned()
		l.CachedBlocks += len(c.cached)
		l.Offloaded += c.offloadedOnly()
		l.Reserved += c.reserved
		l.Blocks += c.size
	}
	l.KV = float64(l.PinnedBlocks) / float64(l.Blocks)
	for name := range e.adapters {
		l.runningLoRA = append(l.runningLoRA, name)
	}
	slices.Sort(l.runningLoRA)
	for element := e.queue.Front(); element != nil && len(e.config.Adapters) > 0; element = element.Next() {
		if name := element.Value.(*sequence).adapter; name != "" && !slices.Contains(l.waitingLoRA, name) {
			l.waitingLoRA = append(l.waitingLoRA, name)
		}
	}
	slices.Sort(l.waitingLoRA)
	return l
}
