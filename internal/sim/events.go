package sim

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/kvpub"
)

// EventOptions say where a server publishes what its cache stores and forgets, as vLLM publishes its KV events.
type EventOptions struct {
	// Address is where it listens for subscribers.
	Address string
	// Replay is where it is asked for batches again; empty is nowhere.
	Replay string
	// Endpoint is the server's own address, for the topic kv@ENDPOINT@MODEL, by which llm-d and Heimdall know it.
	Endpoint string
	// Form is how events are written; empty is kvpub.Maps. SGLang's knows no adapters and no salts, and its replays
	// have no topic.
	Form kvpub.Form
}

// EventForms are the values of EventOptions.Form.
var EventForms = []kvpub.Form{kvpub.Maps, kvpub.Arrays, kvpub.Short}

// PublishEvents has the server publish its cache's events until Close. It is called once, before the first request.
func (s *Server) PublishEvents(o EventOptions) error {
	form := cmp.Or(o.Form, kvpub.Maps)
	publisher, err := kvpub.New(kvpub.Options{Listen: o.Address, Replay: o.Replay,
		Topic: "kv@" + o.Endpoint + "@" + s.config.Models[0], ShortReplay: form == kvpub.Short})
	if err != nil {
		return err
	}
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	s.engine.cache.events = &kvEvents{publisher: publisher, form: form}
	return nil
}

// EventAddresses are where the server publishes events and is asked for them again; empty is nowhere.
func (s *Server) EventAddresses() (events, replay string) {
	if e := s.events(); e != nil {
		return e.publisher.Address(), e.publisher.ReplayAddress()
	}
	return "", ""
}

func (s *Server) events() *kvEvents {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	return s.engine.cache.events
}

// kvEvents collects what a cache does, and publishes it in batches. The engine's lock guards it. Of nil nobody hears.
type kvEvents struct {
	publisher *kvpub.Publisher
	form      kvpub.Form
	pending   []kvpub.Event
	fault     string // of the next batches, left of them
	left      int
}

// told is what events tell of a request's blocks beside their hashes.
type told struct {
	tokens        prompt
	adapter, salt string
}

// stored takes it that the i-th block of a request can be found from now on.
func (e *kvEvents) stored(h *hold, i, blockTokens int) {
	if e == nil || h.told == nil {
		return
	}
	if n := len(e.pending); n > 0 && i > 0 {
		last := &e.pending[n-1]
		if len(last.Tokens) > 0 && last.Hashes[len(last.Hashes)-1] == h.hashes[i-1] {
			last.Hashes = append(last.Hashes, h.hashes[i])
			last.Tokens = h.told.appendBlock(last.Tokens, i, blockTokens)
			return
		}
	}
	event := kvpub.Event{Kind: "BlockStored", Hashes: []uint64{h.hashes[i]}, BlockTokens: blockTokens,
		Tokens: h.told.appendBlock(nil, i, blockTokens), Lora: h.told.adapter}
	if i > 0 {
		event.Parent = &h.hashes[i-1]
	} else if h.told.salt != "" {
		event.Extra = [][]string{{h.told.salt}}
	}
	e.pending = append(e.pending, event)
}

func (t *told) appendBlock(dst []uint32, i, blockTokens int) []uint32 {
	for at := i * blockTokens; at < (i+1)*blockTokens; at++ {
		dst = append(dst, binary.LittleEndian.Uint32(t.tokens[at*tokenBytes:]))
	}
	return dst
}

// The media of blocks, as engines call them.
const (
	mediumGPU = "GPU"
	mediumCPU = "CPU"
)

// moved takes it that a block is kept in another memory, too. As with vLLM that event has no tokens.
func (e *kvEvents) moved(hash uint64, medium string) { e.note("BlockStored", hash, medium) }

// removed takes it that a block is not to be found there any more.
func (e *kvEvents) removed(hash uint64, medium string) { e.note("BlockRemoved", hash, medium) }

func (e *kvEvents) note(kind string, hash uint64, medium string) {
	if e == nil || e.form == kvpub.Short && medium != mediumGPU { // a form that knows of no other
		return
	}
	if n := len(e.pending); n > 0 {
		last := &e.pending[n-1]
		if last.Kind == kind && last.Medium == medium && len(last.Tokens) == 0 {
			last.Hashes = append(last.Hashes, hash)
			return
		}
	}
	e.pending = append(e.pending, kvpub.Event{Kind: kind, Hashes: []uint64{hash}, Medium: medium})
}

// cleared takes it that no block is to be found any more.
func (e *kvEvents) cleared() {
	if e != nil {
		e.pending = append(e.pending[:0], kvpub.Event{Kind: "AllBlocksCleared"})
	}
}

// flush publishes what is pending.
func (e *kvEvents) flush() {
	if e == nil || len(e.pending) == 0 {
		return
	}
	fault := ""
	if e.left > 0 {
		e.left--
		fault = e.fault
	}
	if fault == "unknown" {
		e.pending = slices.Insert(e.pending, 0, kvpub.Event{Kind: "BlockPondered"})
	}
	payload := kvpub.AppendBatch(nil, e.form, float64(time.Now().UnixNano())/1e9, 0, e.pending)
	if fault == "torn" {
		payload = payload[:len(payload)/2]
	}
	e.publisher.Publish(payload)
	e.pending = nil
}

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
// Count is 1 by default.
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
	case s.events() == nil:
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
	events := e.cache.events
	switch f.Fault {
	case "lose", "skip":
		events.publisher.Lose(f.Count, f.Fault == "skip")
	case "clear":
		e.cache.forgetAll()
		events.cleared()
	case "gone":
		events.publisher.Leave()
	case "restart":
		e.cache.forgetAll()
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
	if e := s.events(); e != nil {
		shown.Published, shown.Subscribers = e.publisher.Published(), e.publisher.Subscribers()
	}
	writeJSON(w, http.StatusOK, shown)
}

// showSources says where events are published, as vLLM does.
func (s *Server) showSources(w http.ResponseWriter) {
	events, replay := s.EventAddresses()
	if events == "" {
		(&apiError{http.StatusNotFound, "this server publishes no events", "NotFoundError", ""}).write(w)
		return
	}
	rank := map[string]string{"publisher": "zmq", "endpoint": bound(events)}
	if replay != "" {
		rank["replay_endpoint"] = bound(replay)
	}
	writeJSON(w, http.StatusOK, map[string]any{"0": rank})
}

// bound is a socket in ZeroMQ's form, at any address: who asks knows the server's.
func bound(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return "tcp://*:" + port
}
