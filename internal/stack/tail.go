package stack

import (
	"bytes"
	"sync"
)

// tailBytes is how much of a child's output is kept.
const tailBytes = 256 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu    sync.Mutex
	text  []byte
	taken int // how much of text take has returned
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
		t.taken = max(t.taken-over, 0)
	}
	return len(b), nil
}

// take returns what was written since the last call.
func (t *tail) take() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	news := string(t.text[t.taken:])
	t.taken = len(t.text)
	return news
}

// lines returns the last n lines.
func (t *tail) lines(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	return string(bytes.Join(all[max(len(all)-n, 0):], []byte("\n")))
}
