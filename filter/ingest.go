package main

import (
	"crypto/subtle"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/snapshot"
)

// ingestPath is where the sidecar posts snapshots, on the ingest listener.
const ingestPath = "/pintle/v1/snapshot"

// refusal is why a snapshot was not taken.
type refusal struct {
	status        int
	code, message string
	// current, when set, is the position that the snapshot would have had to exceed.
	current *snapshot.Position
}

// onIngestListener reports whether the request came in where snapshots are taken. Elsewhere the path is an ordinary one.
func (s *stream) onIngestListener() bool {
	ingest := s.config.Ingest
	if ingest.Socket != "" {
		peer, ok := hostcalls.Property(&s.property, "source", "address")
		return ok && string(peer) == ingest.Socket
	}
	port, ok := hostcalls.Property(&s.property, "destination", "port")
	return ok && ingest.Port != 0 && len(port) == 8 && binary.LittleEndian.Uint64(port) == uint64(ingest.Port)
}

// beginIngest checks who posts before any of the body is taken in.
func (s *stream) beginIngest(endOfStream bool) hostcalls.Action {
	if !s.localPeer() {
		return s.refuseSnapshot(refusal{status: 403, code: "foreign_peer", message: "snapshots are taken from this machine only"})
	}
	if method, _ := hostcalls.RequestHeader(&s.header, ":method"); method != "POST" {
		return s.refuseSnapshot(refusal{status: 405, code: "method", message: "snapshots are sent with POST"})
	}
	if !s.authorized() {
		return s.refuseSnapshot(refusal{status: 401, code: "unauthorized", message: "the bearer token is missing or is not the one configured as ingest.token"})
	}
	if length, ok := hostcalls.RequestHeader(&s.header, "content-length"); ok {
		if n, err := strconv.ParseUint(length, 10, 64); err != nil || n > snapshot.MaxMessageBytes {
			return s.refuseSnapshot(tooLarge)
		}
	}
	if endOfStream {
		return s.refuseSnapshot(refusal{status: 400, code: snapshot.ErrTruncated.Error(), message: "the snapshot is empty"})
	}
	s.phase = ingesting
	return s.holdAction()
}

var tooLarge = refusal{status: 413, code: snapshot.ErrTooLarge.Error(), message: "a snapshot takes at most " + strconv.Itoa(snapshot.MaxMessageBytes) + " bytes"}

func (s *stream) localPeer() bool {
	if s.config.Ingest.Socket != "" {
		return true
	}
	peer, ok := hostcalls.Property(&s.property, "source", "address")
	return ok && (strings.HasPrefix(string(peer), "127.") || strings.HasPrefix(string(peer), "[::1]:"))
}

func (s *stream) authorized() bool {
	const scheme = "Bearer "
	value, ok := hostcalls.RequestHeader(&s.header, "authorization")
	if !ok || len(value) < len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(value[len(scheme):]), []byte(s.token)) == 1
}

func (s *stream) ingestBody(bodyBytes int, endOfStream bool) hostcalls.Action {
	s.held = bodyBytes
	if bodyBytes > snapshot.MaxMessageBytes {
		return s.refuseSnapshot(tooLarge)
	}
	if !endOfStream {
		return hostcalls.Pause
	}
	message, err := hostcalls.RequestBody(&s.body, 0, s.held)
	if err != nil {
		return s.refuseSnapshot(refusal{status: 500, code: "internal_error", message: "the snapshot could not be read back from Envoy"})
	}
	if refused := s.store(message); refused != nil {
		return s.refuseSnapshot(*refused)
	}
	s.stats.snapshotsAccepted.Add(1)
	return s.answer(204, "", nil)
}

// store verifies a snapshot and makes it the one that all workers see. Only a newer one replaces another, also when two
// arrive on two workers at once: each record is set on the condition that nobody else set it meanwhile.
func (s *stream) store(message []byte) *refusal {
	m, err := snapshot.Split(message)
	if err != nil {
		status := 400
		if err == snapshot.ErrTooLarge {
			status = 413
		}
		return &refusal{status: status, code: err.Error(), message: "the snapshot is refused and changes nothing"}
	}
	value := make([]byte, receivedBytes, receivedBytes+len(m.LoadRecord))
	binary.LittleEndian.PutUint64(value, uint64(hostcalls.Now()))
	value = append(value, m.LoadRecord...)
	for {
		topology, load := s.pool.stored()
		if refused := admits(&m, topology, load); refused != nil {
			return refused
		}
		if m.TopologyRecord != nil {
			ok, err := hostcalls.SetSharedData(keyTopology, m.TopologyRecord, topology.change)
			if err != nil {
				return storeFailed
			}
			if !ok {
				continue
			}
		}
		ok, err := hostcalls.SetSharedData(keyLoad, value, load.change)
		if err != nil {
			return storeFailed
		}
		if ok {
			break
		}
	}
	version := binary.LittleEndian.AppendUint64(nil, m.TopologyID)
	if _, err := hostcalls.SetSharedData(keyVersion, version, 0); err != nil {
		return storeFailed
	}
	return nil
}

var storeFailed = &refusal{status: 500, code: "internal_error", message: "Envoy's shared data does not take the snapshot"}

// stored is one of the two records that all workers see.
type stored struct {
	present  bool
	position snapshot.Position
	// topology is the ID of a topology record.
	topology uint64
	// change is what to condition a write on.
	change uint32
}

// stored reads both records. What is there but is no record counts as absent.
func (p *pool) stored() (topology, load stored) {
	value, change, ok := hostcalls.SharedData(&p.large, keyTopology)
	topology.change = change
	if ok {
		if record, _, err := snapshot.Next(value); err == nil {
			topology.present, topology.position, topology.topology = true, record.Position, snapshot.PayloadID(record.Payload)
		}
	}
	value, load.change, ok = hostcalls.SharedData(&p.large, keyLoad)
	if ok && len(value) > receivedBytes {
		if record, _, err := snapshot.Next(value[receivedBytes:]); err == nil {
			load.present, load.position = true, record.Position
		}
	}
	return topology, load
}

// admits says why a message may not follow what is stored, nil if it may. A newer topology whose load is still to come, from another
// worker, counts like a newer load.
func admits(m *snapshot.Message, topology, load stored) *refusal {
	switch {
	case load.present && !m.Position.After(load.position):
		return &refusal{status: 409, code: "older", message: "a newer snapshot is already there", current: &load.position}
	case topology.present && topology.position.After(m.Position):
		return &refusal{status: 409, code: "older", message: "a newer snapshot is already there", current: &topology.position}
	case m.TopologyRecord == nil && (!topology.present || topology.topology != m.TopologyID):
		refused := &refusal{status: 409, code: "unknown_topology", message: "the load belongs to a topology that is not here; send both"}
		if load.present {
			refused.current = &load.position
		}
		return refused
	}
	return nil
}

func (s *stream) refuseSnapshot(r refusal) hostcalls.Action {
	s.stats.snapshotsRejected.Add(1)
	body := appendError(nil, "snapshot_refused", r.code, r.message)
	if r.current != nil {
		body = append(body, `,"current":{"epoch":`...)
		body = strconv.AppendUint(body, r.current.Epoch, 10)
		body = append(body, `,"sequence":`...)
		body = strconv.AppendUint(body, r.current.Sequence, 10)
		body = append(body, '}')
	}
	return s.answer(r.status, r.code, append(body, '}'))
}
