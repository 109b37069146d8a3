package main

import (
	"crypto/subtle"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/snapshot"
	"github.com/pintle-dev/pintle/snapshot/shared"
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

// onIngestListener reports whether the request came in where snapshots are taken. Elsewhere the path is an ordinary
// one.
func (s *stream) onIngestListener() bool {
	ingest := s.config.Ingest
	if ingest.Socket != "" {
		peer, ok := hostcalls.Property(&s.property, sourceAddress)
		return ok && string(peer) == ingest.Socket
	}
	port, ok := hostcalls.Number(&s.property, "destination\x00port")
	return ok && ingest.Port != 0 && port == uint64(ingest.Port)
}

// beginIngest checks who posts before any of the body is taken in.
func (s *stream) beginIngest(endOfStream bool) hostcalls.Action {
	s.warnOfWideListener()
	if !s.localPeer() {
		return s.refuseSnapshot(refusal{status: 403, code: "foreign_peer",
			message: "snapshots are taken from this machine only"})
	}
	if s.sent(":method") != "POST" {
		return s.refuseSnapshot(refusal{status: 405, code: "method", message: "snapshots are sent with POST"})
	}
	if !s.authorized() {
		return s.refuseSnapshot(refusal{status: 401, code: "unauthorized",
			message: "the bearer token is missing or is not the one configured as ingest.token"})
	}
	if length, ok := hostcalls.RequestHeader(&s.header, "content-length"); ok {
		if n, err := strconv.ParseUint(length, 10, 64); err != nil || n > snapshot.MaxMessageBytes {
			return s.refuseSnapshot(tooLarge)
		}
	}
	if endOfStream {
		return s.refuseSnapshot(refusal{status: 400, code: snapshot.ErrTruncated.Error(),
			message: "the snapshot is empty"})
	}
	s.phase = ingesting
	return s.holdAction()
}

var tooLarge = refusal{
	status: 413, code: snapshot.ErrTooLarge.Error(),
	message: "a snapshot takes at most " + strconv.Itoa(snapshot.MaxMessageBytes) + " bytes",
}

// refusalOf says how a snapshot is refused for err, an error of shared.Put.
func refusalOf(err error) refusal {
	r := refusal{status: 400, code: err.Error(), message: "the snapshot is refused and changes nothing"}
	switch err {
	case snapshot.ErrTooLarge:
		return tooLarge
	case shared.ErrOlder:
		r.status, r.message = 409, "a newer snapshot is already there"
	case shared.ErrUnknownTopology:
		r.status, r.message = 409, "the load belongs to a topology that is not here; send both"
	case shared.ErrAhead:
		r.message = "the epoch lies years ahead of this machine's clock"
	case shared.ErrStore:
		r.status, r.message = 500, "Envoy's shared data does not take the snapshot"
	}
	return r
}

// localPeer reports whether the connection comes from this machine. Where Envoy takes the source's address from
// x-forwarded-for, or from anything else that is only said, it has no port; a connection always has.
func (s *stream) localPeer() bool {
	if s.config.Ingest.Socket != "" {
		return true
	}
	port, ok := hostcalls.Number(&s.property, "source\x00port")
	return ok && port != 0 && s.loopback("source")
}

// loopback reports whether one end of the connection, source or destination, has a loopback address.
func (s *stream) loopback(end string) bool {
	address, ok := hostcalls.Property(&s.property, end+"\x00address")
	text := hostcalls.Text(address)
	return ok && (strings.HasPrefix(text, "127.") || strings.HasPrefix(text, "[::1]:") ||
		strings.HasPrefix(text, "[::ffff:127."))
}

// warnOfWideListener says, once for each worker, that the ingest listener can be reached from elsewhere: nothing tells
// a plug-in what a listener is bound to before somebody comes.
func (s *stream) warnOfWideListener() {
	if s.wide || s.config.Ingest.Socket != "" || s.loopback("source") && s.loopback("destination") {
		return
	}
	s.wide = true
	address, _ := hostcalls.Property(&s.property, "destination\x00address")
	hostcalls.LogWarn("pintle: the ingest listener was reached at " + string(address) +
		"; bind it to 127.0.0.1 or to a unix socket")
}

// authorized reports whether the request carries the token, which the headers that are left may no longer have: strip
// can name it, so that servers do not see what clients say there.
func (s *stream) authorized() bool {
	const scheme = "Bearer "
	value := s.sent("authorization")
	if len(value) < len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) {
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
		return s.refuseSnapshot(refusal{status: 500, code: "internal_error",
			message: "the snapshot could not be read back from Envoy"})
	}
	if s.relays {
		return s.relay(message)
	}
	if current, err := shared.Put(&s.data, message, hostcalls.Now()); err != nil {
		refused := refusalOf(err)
		refused.current = current
		return s.refuseSnapshot(refused)
	}
	s.stats.snapshotsAccepted.Add(1)
	return s.answer(204, "", nil, ownVersion())
}

func (s *stream) refuseSnapshot(r refusal) hostcalls.Action {
	if s.relays {
		return s.answer(r.status, r.code, append(appendError(nil, "events_refused", "", r.code, r.message), '}'))
	}
	s.stats.snapshotsRejected.Add(1)
	body := appendError(nil, "snapshot_refused", "", r.code, r.message)
	if r.current != nil {
		body = append(body, `,"current":{"epoch":`...)
		body = strconv.AppendUint(body, r.current.Epoch, 10)
		body = append(body, `,"sequence":`...)
		body = strconv.AppendUint(body, r.current.Sequence, 10)
		body = append(body, '}')
	}
	body = append(body, '}')
	if s.phase != ingesting {
		return s.answer(r.status, r.code, body) // who has not shown the token learns nothing
	}
	return s.answer(r.status, r.code, body, ownVersion())
}

// ownVersion is what answers to snapshots say of the module.
func ownVersion() [2]string { return [2]string{headerVersion, version()} }
