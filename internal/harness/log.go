package harness

import (
	"bytes"
	"sync"
)

// Log keeps what is written, such as a log. The zero value is empty. Safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	written bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.Write(b)
}

// String is all that was written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.String()
}
