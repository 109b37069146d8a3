package shared

import (
	"encoding/binary"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/snapshot"
)

// Reader is one worker's decoded copy of the snapshot. The zero value, with a Store, is ready. Not safe for concurrent
// use.
type Reader struct {
	Store journal.Store
	// Topology is the last topology that could be read, nil before. It must not be changed.
	Topology *snapshot.Topology
	// Load belongs to Topology, unless it has no endpoints: then the topology's load is still to come.
	Load snapshot.Load
	// ReceivedAt is when Envoy got the load, in nanoseconds since 1970; 0 before the first.
	ReceivedAt int64

	topologyID uint64
	change     uint32
}

// News is what Poll found.
type News uint8

// The news, each with those before it.
const (
	// Nothing is new.
	Nothing News = iota
	// NewLoad: the load is new.
	NewLoad
	// NewTopology: the topology is new, and its load, if there is one.
	NewTopology
)

// Poll reads the snapshot if it has changed; if not, that costs one Get of a small value. What cannot be used leaves
// the copy as it was, but a load that names the topology and does not fit it leaves none; Poll looks again the next
// time.
func (r *Reader) Poll() News {
	version, change, ok := r.Store.Get(KeyVersion)
	if !ok || change == r.change || len(version) != 8 {
		return Nothing
	}
	news := Nothing
	if binary.LittleEndian.Uint64(version) != r.topologyID || r.Topology == nil {
		news = r.readTopology()
	}
	read := r.readLoad()
	if !read && news == Nothing {
		// The version may be older than the topology, when two wrote at once.
		news = r.readTopology()
		read = news == NewTopology && r.readLoad()
	}
	if read {
		r.change = change
		news = max(news, NewLoad)
	}
	return news
}

// readTopology takes a topology that is another than the last one.
func (r *Reader) readTopology() News {
	value, _, ok := r.Store.Get(KeyTopology)
	if !ok {
		return Nothing
	}
	record, _, err := snapshot.Next(value)
	if err != nil || record.Kind != snapshot.KindTopology {
		return Nothing
	}
	id := snapshot.PayloadID(record.Payload)
	if r.Topology != nil && id == r.topologyID {
		return Nothing
	}
	topology, err := snapshot.DecodeTopology(record.Payload)
	if err != nil {
		return Nothing
	}
	r.Topology, r.topologyID = topology, id
	r.Load.Endpoints = r.Load.Endpoints[:0]
	return NewTopology
}

// readLoad takes a load that belongs to the topology.
func (r *Reader) readLoad() bool {
	value, _, ok := r.Store.Get(KeyLoad)
	if !ok || r.Topology == nil {
		return false
	}
	record, ok := loadRecord(value)
	if !ok {
		return false
	}
	if id, ok := snapshot.LoadTopology(record.Payload); !ok || id != r.topologyID {
		return false
	}
	if r.Load.Decode(record.Payload) != nil || len(r.Load.Endpoints) != len(r.Topology.Endpoints) {
		r.Load.Endpoints = r.Load.Endpoints[:0]
		return false
	}
	r.ReceivedAt = int64(binary.LittleEndian.Uint64(value))
	return true
}
