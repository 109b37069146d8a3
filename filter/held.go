package main

import (
	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/scoring"
)

// heldBodies are the requests of a worker whose bodies, or parts of them, wait in Envoy. Each lies at its place in
// list; where one leaves, the last takes its place.
type heldBodies struct {
	list  []*stream
	bytes int64
	next  int // where the next search begins
}

const (
	// heldSearch is among how many requests the one is looked for that makes room. It bounds what that costs.
	heldSearch = 64
	// crowdedMillis is when room is made.
	crowdedMillis = 1
)

var heldTooMuch = &scoring.Failure{Status: 503, Reason: "held_too_much", RetryAfter: 1,
	Message: "too much is held for requests that have not come to their end; try again"}

// place is where a stream lies among the held ones.
type place struct {
	index int // from 1 on; 0 is nowhere
	bytes int64
	since int64
}

// keep holds the request. If a worker then holds more than it may, the next tick makes room, at once: in a callback of
// one request Envoy loses what that has brought when another is refused. Until then it is this one that goes: a quarter
// above the limit if it holds more than most, at half above it anyway.
func (s *stream) keep() hostcalls.Action {
	s.count()
	h, limit := &s.worker.heldBodies, int64(s.config.HeldBytes)
	if h.bytes <= limit {
		return hostcalls.Pause
	}
	large := s.place.bytes >= h.bytes/int64(len(h.list))
	if over := h.bytes - limit; over > limit/2 || over > limit/4 && large {
		return s.giveWay()
	}
	if !s.plugin.crowded {
		s.plugin.crowded = true
		s.check(hostcalls.SetTick(crowdedMillis))
	}
	return hostcalls.Pause
}

// giveWay refuses the request as too much is held.
func (s *stream) giveWay() hostcalls.Action {
	s.leave()
	s.stats.heldTooMuch.Add(1)
	return s.refuse(heldTooMuch)
}

// count adds what Envoy holds for the request to the sum.
func (s *stream) count() {
	h := &s.worker.heldBodies
	if s.place.index == 0 {
		h.list = append(h.list, s)
		s.place = place{index: len(h.list), since: hostcalls.Now()}
	}
	h.bytes += int64(s.held) - s.place.bytes
	s.place.bytes = int64(s.held)
}

// makeRoom refuses held requests until a sixteenth of the limit is free. To be called in a tick.
func (p *plugin) makeRoom() {
	if !p.crowded {
		return
	}
	p.crowded = false
	h, limit, now := &p.heldBodies, int64(p.config.HeldBytes), hostcalls.Now()
	for h.bytes > limit-limit/16 {
		s := h.heaviest(now)
		if s == nil {
			break
		}
		if hostcalls.Enter(s.id) != nil {
			s.release()
			continue
		}
		s.giveWay()
	}
	hostcalls.Leave() // the request may have been another plug-in's
	if len(p.waiting) == 0 {
		p.slowDown()
	}
}

// heaviest looks among heldSearch requests for the one that has held most for the longest: bytes times time. What is
// quick is not found, however large it is; what stands still grows heavier. Requests that have come whole and are asked
// about are not looked at.
func (h *heldBodies) heaviest(now int64) (found *stream) {
	most := 0.0
	for range min(heldSearch, len(h.list)) {
		if h.next >= len(h.list) {
			h.next = 0
		}
		s := h.list[h.next]
		h.next++
		if weight := s.heldWeight(now); s.phase != asking && (found == nil || weight > most) {
			found, most = s, weight
		}
	}
	return found
}

// heldWeight is what the request has taken from others. A body that has just begun has taken something, too.
func (s *stream) heldWeight(now int64) float64 {
	const least = 1e6
	return float64(s.place.bytes) * max(float64(now-s.place.since), least)
}

// release no longer counts the request: it goes on, or ends.
func (s *stream) release() {
	if s.place.index == 0 {
		return
	}
	h := &s.worker.heldBodies
	last := len(h.list) - 1
	moved := h.list[last]
	h.list[s.place.index-1] = moved
	moved.place.index = s.place.index
	h.list[last] = nil
	h.list = h.list[:last]
	h.bytes -= s.place.bytes
	s.place = place{}
}
