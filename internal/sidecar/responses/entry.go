// Package responses keeps the conversations of the Responses API for the filter, which asks it over HTTP: what came
// before a response, for the request that goes on with it, and the stored responses themselves.
//
// An entry holds all that came before it, so that it is of use whatever becomes of the others.
package responses

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Entry is a stored response with the conversation that led to it. Items are JSON values with commas between them.
type Entry struct {
	ID, Tenant, Previous string
	Expires              time.Time
	// Before are the items of the turns before, Input those of its own request.
	Before, Input []byte
	// Response is the response as the server gave it, but for previous_response_id.
	Response []byte
	// second says that it was read from the second tier.
	second bool
}

// Key is what an entry is stored under. No two tenants' ids have the same.
func (e *Entry) Key() string { return keyOf(e.Tenant, e.ID) }

// keyOf has no ambiguity, as an id has no colon.
func keyOf(tenant, id string) string { return id + ":" + tenant }

// Size is what counts for limits.
func (e *Entry) Size() int { return len(e.Before) + len(e.Input) + len(e.Response) }

// InputItems are those that the response was computed from.
func (e *Entry) InputItems() []byte { return join(e.Before, e.Input) }

// Items are those that the next turn begins with.
func (e *Entry) Items() []byte { return join(e.Before, e.Input, outputOf(e.Response)) }

// join puts commas between the lists that are not empty.
func join(lists ...[]byte) []byte {
	size := 0
	for _, list := range lists {
		size += len(list) + 1
	}
	all := make([]byte, 0, size)
	for _, list := range lists {
		if len(list) == 0 {
			continue
		}
		if len(all) > 0 {
			all = append(all, ',')
		}
		all = append(all, list...)
	}
	return all
}

// entryVersion begins every encoded entry.
const entryVersion = 1

// encode appends the entry in the form that stores keep.
func (e *Entry) encode(dst []byte) []byte {
	dst = append(dst, entryVersion)
	dst = binary.AppendVarint(dst, e.Expires.UnixMilli())
	for _, field := range [][]byte{[]byte(e.ID), []byte(e.Tenant), []byte(e.Previous), e.Before, e.Input, e.Response} {
		dst = append(binary.AppendUvarint(dst, uint64(len(field))), field...)
	}
	return dst
}

var errEncoding = errors.New("an entry is not of a form that is known")

// otherVersion is an entry that another release has written.
type otherVersion struct{ version byte }

// Error implements error.
func (o *otherVersion) Error() string {
	return fmt.Sprintf("an entry has version %d; this pintle reads version %d", o.version, entryVersion)
}

// decode reads an entry; its bytes are b's.
func decode(b []byte) (*Entry, error) {
	if len(b) == 0 {
		return nil, errEncoding
	}
	if b[0] != entryVersion {
		return nil, &otherVersion{b[0]}
	}
	millis, n := binary.Varint(b[1:])
	if n <= 0 {
		return nil, errEncoding
	}
	b = b[1+n:]
	var fields [6][]byte
	for i := range fields {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, errEncoding
		}
		fields[i], b = b[n:n+int(size):n+int(size)], b[n+int(size):]
	}
	if len(b) > 0 {
		return nil, errEncoding
	}
	return &Entry{
		ID: string(fields[0]), Tenant: string(fields[1]), Previous: string(fields[2]), Expires: time.UnixMilli(millis),
		Before: fields[3], Input: fields[4], Response: fields[5],
	}, nil
}
