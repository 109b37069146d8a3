// Package shared keeps the snapshot in the data that all Envoy workers share: whichever worker gets a message writes
// it, and all read it. Of two that write at once the newer message wins, and no reader takes halves of two for one.
package shared

import (
	"encoding/binary"

	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/snapshot"
)

// The keys. Every key starts with pintle/v1/, as all plug-ins of a proxy may share one namespace.
const (
	// KeyTopology holds the last topology record.
	KeyTopology = "pintle/v1/topology"
	// KeyLoad holds 8 bytes, the nanoseconds since 1970 at which Envoy received it, and the last load record.
	KeyLoad = "pintle/v1/load"
	// KeyVersion holds the topology's ID and changes with every snapshot. It is small, as workers read it with every
	// request.
	KeyVersion = "pintle/v1/version"
)

// receivedBytes is the length of the time in front of the load record.
const receivedBytes = 8

// MaxAhead is how far a message's epoch may be ahead of the clock, in nanoseconds: two years. Time goes on, so there is
// always room above what was taken for the sidecar's successor.
const MaxAhead = 2 * 365 * 24 * 3600 * 1_000_000_000

// The reasons for which Put refuses a message that is well formed.
const (
	// ErrOlder: what is stored is as new or newer.
	ErrOlder = snapshot.Error("older")
	// ErrUnknownTopology: the message has a load only, and that of a topology that is not stored.
	ErrUnknownTopology = snapshot.Error("unknown_topology")
	// ErrAhead: the epoch is more than MaxAhead ahead.
	ErrAhead = snapshot.Error("epoch_ahead")
	// ErrStore: the store does not take it.
	ErrStore = snapshot.Error("internal_error")
)

// maxAttempts bounds how often Put tries again. Each failure means that another worker was faster.
const maxAttempts = 100

// absent is a change that no key is at, so that Set succeeds only for a key that was never set: see journal.
const absent = ^uint32(0)

// Put verifies a message that came at now, nanoseconds since 1970, and makes it the snapshot that all workers see. Only
// a newer one replaces another, also when two are put by two workers at once: each record is set on the condition that
// nobody else set it meanwhile. On an error, one of package snapshot's or of those above, the snapshot stays as it was;
// current is then the position to exceed, if that is the reason.
func Put(store journal.Store, message []byte, now int64) (current *snapshot.Position, err error) {
	m, err := snapshot.Split(message)
	if err != nil {
		return nil, err
	}
	if m.Position.Epoch > uint64(max(now, 0))+MaxAhead {
		return nil, ErrAhead
	}
	value := make([]byte, receivedBytes, receivedBytes+len(m.LoadRecord))
	binary.LittleEndian.PutUint64(value, uint64(now))
	value = append(value, m.LoadRecord...)
	for range maxAttempts {
		topology, load := readStored(store)
		if current, err := admits(&m, &topology, &load); err != nil {
			return current, err
		}
		if store.Set(KeyLoad, value, load.change) {
			return finish(store, &m, topology.change)
		}
	}
	return nil, ErrStore
}

// finish makes the topology follow the load that has just been set. The load comes first because that one write settles
// which of two messages is the newer: while the stored topology is not the stored load's, somebody is between the two
// or died there, and readers keep what they have. change is that of the topology before the load was set.
func finish(store journal.Store, m *snapshot.Message, change uint32) (current *snapshot.Position, err error) {
	for range maxAttempts {
		if m.TopologyRecord == nil || store.Set(KeyTopology, m.TopologyRecord, change) {
			version := binary.LittleEndian.AppendUint64(nil, m.TopologyID)
			if !store.Set(KeyVersion, version, 0) {
				break
			}
			return nil, nil
		}
		topology, load := readStored(store)
		if load.present && load.position != m.Position {
			return &load.position, ErrOlder
		}
		change = topology.change
	}
	return nil, ErrStore
}

// Topology returns the ID of the topology that is stored, 0 for none.
func Topology(store journal.Store) uint64 {
	version, _, ok := store.Get(KeyVersion)
	if !ok || len(version) != 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(version)
}

// stored is one of the two records that all workers see.
type stored struct {
	present  bool
	position snapshot.Position
	// topology is the ID of a topology record, or of the topology that a load record belongs to.
	topology uint64
	// change is what to condition a write on.
	change uint32
}

// readStored reads both records. What is there but is no record counts as absent, and is replaced.
func readStored(store journal.Store) (topology, load stored) {
	value, change, ok := store.Get(KeyTopology)
	topology.change = change
	if !ok {
		topology.change = absent
	} else if record, _, err := snapshot.Next(value); err == nil && record.Kind == snapshot.KindTopology {
		topology.present, topology.position, topology.topology = true, record.Position,
			snapshot.PayloadID(record.Payload)
	}
	value, load.change, ok = store.Get(KeyLoad)
	if !ok {
		load.change = absent
	} else if record, ok := loadRecord(value); ok {
		load.present, load.position = true, record.Position
		load.topology, _ = snapshot.LoadTopology(record.Payload)
	}
	return topology, load
}

func loadRecord(value []byte) (record snapshot.Record, ok bool) {
	if len(value) < receivedBytes {
		return snapshot.Record{}, false
	}
	record, _, err := snapshot.Next(value[receivedBytes:])
	return record, err == nil && record.Kind == snapshot.KindLoad
}

// admits says why a message may not follow what is stored. A load alone needs its topology there, and nobody about to
// replace it.
func admits(m *snapshot.Message, topology, load *stored) (current *snapshot.Position, err error) {
	switch {
	case load.present && !m.Position.After(load.position):
		return &load.position, ErrOlder
	case topology.present && topology.position.After(m.Position):
		return &topology.position, ErrOlder
	case m.TopologyRecord != nil:
		return nil, nil
	case topology.present && topology.topology == m.TopologyID && (!load.present || load.topology == m.TopologyID):
		return nil, nil
	case load.present:
		return &load.position, ErrUnknownTopology
	}
	return nil, ErrUnknownTopology
}
