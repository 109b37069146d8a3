package sim

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/internal/kvpub"
)

// EventOptions say where a server publishes what its caches store and forget, and how.
type EventOptions struct {
	// Address is where rank 0 listens for subscribers. Further ranks take consecutive ports, each one of its own choice
	// when the port is 0.
	Address string
	// Replay is where rank 0 is asked for batches again, further ranks as above; empty is nowhere.
	Replay string
	// Endpoint is the server's own address, for the topic kv@ENDPOINT@MODEL, by which llm-d and Heimdall know it.
	Endpoint string
	// Form is how events are written; empty is kvpub.Maps. SGLang's knows no adapters and no salts, has one block in
	// each event and its tokens where it is offloaded, too, of which vLLM's have just the hash; its replays have no
	// topic.
	Form kvpub.Form
}

// EventForms are the values of EventOptions.Form.
var EventForms = []kvpub.Form{kvpub.Maps, kvpub.Arrays, kvpub.SGLang}

// PublishEvents has the server publish its caches' events until Close. It is called once, before the first request.
func (s *Server) PublishEvents(o EventOptions) error {
	form := cmp.Or(o.Form, kvpub.Maps)
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	for rank, c := range s.engine.caches {
		address, err := OffsetAddress(o.Address, rank)
		if err != nil {
			return err
		}
		replay, err := OffsetAddress(o.Replay, rank)
		if err != nil {
			return err
		}
		publisher, err := kvpub.New(kvpub.Options{Listen: address, Replay: replay, ShortReplay: form == kvpub.SGLang,
			Topic: "kv@" + o.Endpoint + "@" + s.config.Models[0]})
		if err != nil {
			return err
		}
		c.events = &kvEvents{publisher: publisher, rank: rank, form: form}
	}
	return nil
}

// OffsetAddress is an address, host:port, with a port that is so much higher: of a rank, given that of rank 0. Port 0
// stays 0, for any, and nowhere is nowhere.
func OffsetAddress(address string, by int) (string, error) {
	if address == "" {
		return "", nil
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || int(port)+by > math.MaxUint16 {
		return "", fmt.Errorf("address %q: want a port such that %d more end below 65536", address, by)
	}
	if port > 0 {
		port += uint64(by)
	}
	return net.JoinHostPort(host, strconv.FormatUint(port, 10)), nil
}

// EventAddress is where a rank publishes events and is asked for them again; empty is nowhere.
type EventAddress struct{ Events, Replay string }

// EventAddresses has an address for each rank, or is empty when no events are published.
func (s *Server) EventAddresses() (all []EventAddress) {
	for _, e := range s.events() {
		all = append(all, EventAddress{e.publisher.Address(), e.publisher.ReplayAddress()})
	}
	return all
}

// events are those of the ranks; none when they are not published.
func (s *Server) events() (all []*kvEvents) {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	for _, c := range s.engine.caches {
		if c.events != nil {
			all = append(all, c.events)
		}
	}
	return all
}

// kvEvents collects what a cache does, and publishes it in batches. The engine's lock guards it. Of nil nobody hears.
type kvEvents struct {
	publisher *kvpub.Publisher
	rank      int
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
	if n := len(e.pending); n > 0 && i > 0 && e.form != kvpub.SGLang {
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

// offloaded takes it that a block is kept in the CPU's memory, too. As with vLLM that event has no tokens.
func (e *kvEvents) offloaded(b *block) {
	if e == nil || e.form != kvpub.SGLang {
		e.note("BlockStored", b.hash, mediumCPU)
		return
	}
	event := kvpub.Event{Kind: "BlockStored", Hashes: []uint64{b.hash}, Medium: e.medium(mediumCPU),
		Tokens: b.content.tokens, BlockTokens: len(b.content.tokens)}
	if parent := b.content.parent; b.content.hasParent {
		event.Parent = &parent
	}
	e.pending = append(e.pending, event)
}

// medium is what events call a memory.
func (e *kvEvents) medium(name string) string {
	if e.form == kvpub.SGLang && name == mediumCPU {
		return "CPU_PINNED"
	}
	return name
}

// removed takes it that a block is not to be found there any more.
func (e *kvEvents) removed(hash uint64, medium string) { e.note("BlockRemoved", hash, medium) }

func (e *kvEvents) note(kind string, hash uint64, medium string) {
	if e == nil {
		return
	}
	medium = e.medium(medium)
	if n := len(e.pending); n > 0 && e.form != kvpub.SGLang {
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
	payload := kvpub.AppendBatch(nil, e.form, float64(time.Now().UnixNano())/1e9, e.rank, e.pending)
	if fault == "torn" {
		payload = payload[:len(payload)/2]
	}
	e.publisher.Publish(payload)
	e.pending = nil
}
