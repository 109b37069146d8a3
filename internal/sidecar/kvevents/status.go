package kvevents

import "time"

// Status is how it stands with one publisher.
type Status struct {
	Endpoint string `json:"endpoint"`
	Rank     int    `json:"rank"`
	// Address is where it publishes, empty when it connects by itself.
	Address   string `json:"address,omitempty"`
	Replay    string `json:"replay,omitempty"`
	Connected bool   `json:"connected"`
	Failure   string `json:"failure,omitempty"`
	// Lag is how old the last batch was when it came, by both machines' clocks.
	Lag float64 `json:"lagSeconds"`
	// Last is when it came.
	Last time.Time `json:"last,omitzero"`
	// Stored and Removed are blocks, Cleared is how often all were. PassedOver are events that could not be read, or
	// whose parents never came.
	Stored     uint64 `json:"stored"`
	Removed    uint64 `json:"removed"`
	Cleared    uint64 `json:"cleared"`
	PassedOver uint64 `json:"passedOver"`
	// Mended and Forgotten are gaps in the numbers of batches.
	Mended    uint64 `json:"mended"`
	Forgotten uint64 `json:"forgotten"`
}

func (s *subscription) note(change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status)
}

// now returns how it stands.
func (s *subscription) now() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, c := s.status, s.stream.counts
	st.Stored, st.Removed, st.Cleared = c.stored.Load(), c.removed.Load(), c.cleared.Load()
	st.PassedOver, st.Mended, st.Forgotten = c.malformed.Load()+c.lost.Load(), c.mended.Load(), c.forgotten.Load()
	return st
}
