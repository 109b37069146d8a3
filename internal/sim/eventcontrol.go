package sim

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// eventFault is how the events of a server misbehave. Fault is
//
//	none     not at all any more
//	lose     the next Count batches do not arrive; they can be asked for again
//	skip     the next Count batches are gone with their numbers, and cannot be asked for, either
//	unknown  the next Count batches begin with an event of a kind that nobody knows
//	torn     the next Count batches end in their middle
//	clear    the cache forgets all, and says so
//	gone     connections end, and are refused until restart or none; the cache goes on
//	restart  the cache forgets all as by a new start: connections end, and numbers begin at zero
//
// Count is 1 by default. With several ranks it befalls each of them.
type eventFault struct {
	Fault string `json:"fault"`
	Count int    `json:"count"`
}

var eventFaults = []string{"none", "lose", "skip", "unknown", "torn", "clear", "gone", "restart"}

func (s *Server) setEventFault(w http.ResponseWriter, r *http.Request) {
	f := eventFault{Count: 1}
	if !decode(w, r, &f) {
		return
	}
	switch {
	case !slices.Contains(eventFaults, f.Fault):
		badRequest("fault", fmt.Sprintf("fault %q: want one of %s", f.Fault, strings.Join(eventFaults, ", "))).write(w)
	case f.Count < 1:
		badRequest("count", fmt.Sprintf("count %d: want 1 or more", f.Count)).write(w)
	case len(s.events()) == 0:
		badRequest("fault", "this server publishes no events").write(w)
	default:
		if err := s.engine.strike(f); err != nil {
			badRequest("fault", err.Error()).write(w)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// strike fails when the publisher cannot listen again where it did.
func (e *engine) strike(f eventFault) error {
	e.mu.Lock()
	defer e.unlock()
	var failures []error
	for _, c := range e.caches {
		failures = append(failures, c.strike(f))
	}
	return errors.Join(failures...)
}

func (c *kvCache) strike(f eventFault) error {
	events := c.events
	switch f.Fault {
	case "lose", "skip":
		events.publisher.Lose(f.Count, f.Fault == "skip")
	case "clear":
		c.forgetAll()
		events.cleared()
	case "gone":
		events.publisher.Leave()
	case "restart":
		c.forgetAll()
		events.pending = nil
		events.publisher.Restart()
		fallthrough
	case "none":
		events.publisher.Lose(0, false)
		events.left = 0
		return events.publisher.Return()
	default:
		events.fault, events.left = f.Fault, f.Count
	}
	return nil
}

func (s *Server) showEvents(w http.ResponseWriter) {
	var shown struct {
		Published   uint64 `json:"published"`
		Subscribers int    `json:"subscribers"`
	}
	for _, e := range s.events() {
		shown.Published += e.publisher.Published()
		shown.Subscribers += e.publisher.Subscribers()
	}
	writeJSON(w, http.StatusOK, shown)
}

// showSources says where the ranks' events are published, as vLLM does. SGLang says it at /server_info, by the first of
// consecutive ports, which these need not be.
func (s *Server) showSources(w http.ResponseWriter) {
	all := s.EventAddresses()
	if len(all) == 0 {
		(&apiError{http.StatusNotFound, "this server publishes no events", "NotFoundError", ""}).write(w)
		return
	}
	ranks := map[string]map[string]string{}
	for rank, at := range all {
		shown := map[string]string{"publisher": "zmq", "endpoint": bound(at.Events)}
		if at.Replay != "" {
			shown["replay_endpoint"] = bound(at.Replay)
		}
		ranks[strconv.Itoa(rank)] = shown
	}
	writeJSON(w, http.StatusOK, ranks)
}

// bound is a socket in ZeroMQ's form, at any address: who asks knows the server's.
func bound(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return "tcp://*:" + port
}
