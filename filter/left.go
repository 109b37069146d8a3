package main

import (
	"encoding/binary"
	"time"

	"github.com/pintle-dev/pintle/internal/hostcalls"
)

// leftKey has the turns that a plug-in could not hand over before its end, for the one that takes its place: Envoy ends
// a plug-in that it replaces by itself with the last of its requests, and so before the tick that would hand that over.
const leftKey = "pintle/v1/responses/left"

const (
	// mostLeftBytes bounds them in sum: what lies under a key is never given back.
	mostLeftBytes = 4 << 20
	// leftHeadBytes is the fixed part: bytes of all behind them (4), until when the turn is handed over, nanoseconds
	// since 1970 (8), bytes of the input (4), of the predecessor (4), and of the tenant and 1, 0 for none (4). Then
	// come predecessor, tenant, and what is kept.
	leftHeadBytes = 24
	// leftMargin is how long another plug-in may take to hand them over: it looks once a second.
	leftMargin = 3 * time.Second
	// neverSet is a change number that no key is at.
	neverSet = ^uint32(0)
)

// leave leaves the turns that the sidecar has not taken to the next plug-in. Those that it is being asked to take are
// among them, as the call ends with the plug-in; to take one twice changes nothing.
func (p *plugin) leave() {
	if len(p.unstored) == 0 {
		return
	}
	for _, t := range p.unstored {
		if !p.leaveTurn(t) {
			p.stats.turnsLost.Add(1)
		}
		t.free() // the room is the worker's, and so the next plug-in's
	}
	p.unstored = nil
	if !p.lateTurns() {
		p.markLate(hostcalls.Now() + int64(leftMargin))
	}
}

// leaveTurn adds a turn to those that are left; done is false where there is no room.
func (p *plugin) leaveTurn(t *turn) (done bool) {
	for range 100 { // each failure means that another worker was faster
		value, change, ok := p.data.Get(leftKey)
		if !ok {
			change = neverSet
		}
		next := t.appendLeft(append(p.patch[:0], value...))
		p.patch = next
		if len(next) > mostLeftBytes {
			return false
		}
		if p.data.Set(leftKey, next, change) {
			return true
		}
	}
	return false
}

// takeLeft takes over what other plug-ins have left.
func (p *plugin) takeLeft() {
	if p.config.Plan.ResponsesStore() == nil {
		return
	}
	value, change, ok := p.data.Get(leftKey)
	if !ok || len(value) == 0 {
		return
	}
	p.patch = append(p.patch[:0], value...)
	if !p.data.Set(leftKey, nil, change) {
		return // another worker takes them, or more have come
	}
	for rest := p.patch; len(rest) > 0; {
		var t *turn
		if t, rest = p.readLeft(rest); t == nil {
			break
		}
		if t.over || len(p.unstored) >= mostUnstored {
			p.stats.turnsLost.Add(1)
			t.free()
			continue
		}
		p.unstored = append(p.unstored, t)
	}
	p.handOver()
}

// appendLeft appends the turn as it is left.
func (t *turn) appendLeft(dst []byte) []byte {
	start := len(dst)
	tenant, has := "", uint32(0)
	if len(t.tenant) > 0 {
		tenant, has = t.tenant[0][1], 1
	}
	dst = append(dst, make([]byte, leftHeadBytes)...)
	dst = t.appendTo(append(append(dst, t.previous...), tenant...))
	head := dst[start:]
	binary.LittleEndian.PutUint32(head, uint32(len(head)-4))
	binary.LittleEndian.PutUint64(head[4:], uint64(t.until))
	binary.LittleEndian.PutUint32(head[12:], uint32(t.input))
	binary.LittleEndian.PutUint32(head[16:], uint32(len(t.previous)))
	binary.LittleEndian.PutUint32(head[20:], uint32(len(tenant))+has)
	return dst
}

// readLeft reads a turn and returns what is behind it; nil is none.
func (p *plugin) readLeft(src []byte) (t *turn, rest []byte) {
	if len(src) < leftHeadBytes {
		return nil, nil
	}
	size := uint64(binary.LittleEndian.Uint32(src)) + 4
	previous, tenant := uint64(binary.LittleEndian.Uint32(src[16:])), uint64(binary.LittleEndian.Uint32(src[20:]))
	has := min(tenant, 1)
	tenant -= has
	input := uint64(binary.LittleEndian.Uint32(src[12:]))
	if size > uint64(len(src)) || leftHeadBytes+previous+tenant+input > size {
		return nil, nil
	}
	t = &turn{until: int64(binary.LittleEndian.Uint64(src[4:])), input: int(input)}
	record := src[leftHeadBytes:size]
	t.previous = string(record[:previous])
	if has > 0 {
		t.tenant = [][2]string{{headerTenant, string(record[previous : previous+tenant])}}
	}
	text := record[previous+tenant:]
	t.worker, t.most = p.worker, len(text)
	t.Keep(text)
	return t, src[size:]
}
