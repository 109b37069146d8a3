package precise

import "sync"

// room is how many bytes there are for something. The zero value has none.
type room struct {
	mu   sync.Mutex
	left int
}

// take takes bytes, but never more than half of what is left: what is large leaves room for what is small.
func (r *room) take(bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes > r.left/2 {
		return false
	}
	r.left -= bytes
	return true
}

func (r *room) give(bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left += bytes
}
