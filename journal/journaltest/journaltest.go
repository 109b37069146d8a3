// Package journaltest has the data that Envoy's workers share, for tests: the same rules, without Envoy.
package journaltest

import (
	"bytes"
	"strings"
	"sync"
)

// Data is what all VMs of one process share: keys that are never deleted, one lock, one count of changes
// (proxy-wasm-cpp-host, src/shared_data.cc). Safe for concurrent use; New makes one.
type Data struct {
	mu     sync.Mutex
	change uint32
	values map[string]*entry
}

type entry struct {
	bytes  []byte
	change uint32
}

// New returns empty data. change is the number that the last change had; 0 is that of a process that has just begun.
func New(change uint32) *Data { return &Data{change: change, values: map[string]*entry{}} }

// Size returns how many keys there are, and the bytes of keys and values.
func (d *Data) Size() (keys int, total int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, v := range d.values {
		total += int64(len(key) + len(v.bytes))
	}
	return len(d.values), total
}

// Store returns one VM's access to the data.
func (d *Data) Store() *Store { return &Store{data: d} }

// Store is a journal.Store. Not safe for concurrent use, as no VM is; many may use the same Data.
type Store struct {
	data *Data
	// current holds what Get returned last, earlier what it returned before.
	current, earlier []byte
}

// stale is longer than any value of the journal.
var stale = bytes.Repeat([]byte{0xdb}, 32<<10)

// Get implements journal.Store. What an earlier call returned is overwritten with 0xdb, so that its use shows.
func (s *Store) Get(key string) (value []byte, change uint32, ok bool) {
	copy(s.current, stale)
	s.current, s.earlier = s.earlier, s.current
	s.current = s.current[:0]
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	v, ok := s.data.values[key]
	if !ok {
		return nil, 0, false
	}
	s.current = append(s.current, v.bytes...)
	return s.current, v.change, true
}

// Set implements journal.Store. A change other than 0 has to be the key's last one, unless the key was never set.
func (s *Store) Set(key string, value []byte, change uint32) (ok bool) {
	d := s.data
	d.mu.Lock()
	defer d.mu.Unlock()
	v, exists := d.values[key]
	if exists && change != 0 && change != v.change {
		return false
	}
	if !exists {
		v = &entry{}
		d.values[strings.Clone(key)] = v
	}
	if d.change++; d.change == 0 { // 0 is never issued
		d.change++
	}
	v.bytes = append(v.bytes[:0], value...)
	v.change = d.change
	return true
}
