package kvevents

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"

	"github.com/pintle-dev/pintle/internal/sidecar/kvindex"
)

// stream takes one publisher's events into the index, in their order, from one goroutine.
type stream struct {
	index *kvindex.Indexer
	name  kvindex.Publisher
	// base is the base model by the topic; empty is the configuration's.
	base   string
	counts *counts

	decoder     decoder
	orphans     orphans
	waiting     atomic.Int64 // of orphans, for those who only look
	blockTokens int
	// group is the group of layers that counts, when events name groups: the first whose attention is to all tokens. A
	// prompt's blocks are stored in each group.
	group    int
	grouped  bool
	keys     []kvindex.Key
	settling []uint64
	context  context.Context
	failure  error
}

// counts is what a publisher's events were. It is read while they come.
type counts struct {
	batches, stored, removed, cleared atomic.Uint64
	// malformed are events and batches that cannot be read, foreign ones those that are not for the index: of groups
	// with a window, or of parts of blocks.
	malformed, foreign atomic.Uint64
	// unknown are blocks that were removed, or moved to another tier, of which nothing was known.
	unknown atomic.Uint64
	// lost are events with unknown parents that were given up.
	lost atomic.Uint64
	// mended and forgotten are gaps in the numbers, once it is known whether a replay fills them. Restarts are of the
	// engine.
	mended, forgotten, restarts atomic.Uint64
}

// apply takes a batch in. It fails only when the index cannot be reached; the entries are not right any more then.
func (s *stream) apply(ctx context.Context, payload []byte) (batch, error) {
	s.context, s.failure = ctx, nil
	s.counts.batches.Add(1)
	b, err := s.decoder.decode(payload, s.take)
	s.decoder.trim()
	s.counts.malformed.Add(uint64(b.skipped))
	if err != nil {
		s.counts.malformed.Add(1)
	}
	s.waiting.Store(int64(s.orphans.waiting))
	return b, s.failure
}

// clear forgets all that the publisher has told.
func (s *stream) clear(ctx context.Context) error {
	s.orphans.clear()
	s.waiting.Store(0)
	s.grouped, s.blockTokens = false, 0
	return s.index.Clear(ctx, s.name)
}

func (s *stream) fail(err error) {
	if err != nil && s.failure == nil {
		s.failure = err
	}
}

func (s *stream) take(e *event) {
	if s.failure != nil || !s.ofGroup(e) {
		return
	}
	switch e.kind {
	case stored:
		s.counts.stored.Add(uint64(len(e.hashes)))
		s.store(e)
	case removed:
		s.counts.removed.Add(uint64(len(e.hashes)))
		s.remove(e)
	case cleared:
		s.counts.cleared.Add(1)
		s.orphans.clear()
		s.fail(s.index.Clear(s.context, s.name))
	}
}

// ofGroup reports whether the event is of the group that counts.
func (s *stream) ofGroup(e *event) bool {
	if e.kind == cleared || e.group < 0 && e.full {
		return true
	}
	if !s.grouped && e.kind == stored && e.full {
		s.grouped, s.group = true, e.group
	}
	if !e.full || s.grouped && e.group != s.group {
		s.counts.foreign.Add(1)
		return false
	}
	return true
}

func (s *stream) store(e *event) {
	if len(e.tokens) == 0 {
		s.move(e)
		return
	}
	if e.blockTokens < s.blockTokens {
		s.counts.foreign.Add(1) // a part of a block, of use to nobody but the engine
		return
	}
	if e.blockTokens > s.blockTokens {
		if s.blockTokens > 0 {
			s.orphans.clear()
			s.fail(s.index.Clear(s.context, s.name))
		}
		s.blockTokens = e.blockTokens
		s.index.SetBlockTokens(s.name.Endpoint, e.blockTokens)
	}
	e.trimAdapter()
	parent, err := s.parent(e)
	if errors.Is(err, kvindex.ErrUnknown) {
		s.counts.lost.Add(uint64(s.orphans.add(e)))
		return
	}
	if err != nil {
		s.fail(err)
		return
	}
	s.add(parent, e.tier, e.hashes, e.tokens, e.extra, nil)
	s.settle(e.hashes)
}

// trimAdapter leaves the adapter's name out of what distinguishes blocks: their chain begins with it.
func (e *event) trimAdapter() {
	if e.lora == "" {
		if e.loraID != 0 {
			// An old engine that does not say the name. Nobody asks for this one, and nobody takes it for the base.
			e.lora = "adapter " + strconv.FormatUint(e.loraID, 10)
		}
		return
	}
	for i, names := range e.extra {
		if len(names) > 0 && names[0] == e.lora {
			e.extra[i] = names[1:]
		}
	}
}

func (s *stream) parent(e *event) (kvindex.Key, error) {
	if !e.hasParent {
		return s.index.Root(e.lora, s.base), nil
	}
	return s.index.Key(s.context, s.name, e.parent)
}

// add adds the blocks behind parent that are not gone.
func (s *stream) add(parent kvindex.Key, tier kvindex.Tier, hashes []uint64, tokens []uint32, extra [][]string,
	gone []bool) {
	size := s.blockTokens
	s.keys = s.keys[:0]
	for i, hash := range hashes {
		var names []string
		if i < len(extra) {
			names = extra[i]
		}
		parent = kvindex.Next(parent, tokens[i*size:(i+1)*size], names)
		if tier != kvindex.GPU && len(names) == 0 {
			// vLLM's offloading tells copies without their adapter, salt and media, but the hash stands for them, too.
			if known, err := s.index.Key(s.context, s.name, hash); err == nil {
				parent = known
			}
		}
		s.keys = append(s.keys, parent)
	}
	if gone == nil {
		s.fail(s.index.Add(s.context, s.name, tier, hashes, s.keys))
		return
	}
	for i := range hashes {
		if !gone[i] {
			s.fail(s.index.Add(s.context, s.name, tier, hashes[i:i+1], s.keys[i:i+1]))
		}
	}
}

// settle adds what has waited for these blocks, and what has waited for that.
func (s *stream) settle(hashes []uint64) {
	if len(s.orphans.byParent) == 0 {
		return
	}
	s.settling = append(s.settling[:0], hashes...)
	for len(s.settling) > 0 {
		hash := s.settling[len(s.settling)-1]
		s.settling = s.settling[:len(s.settling)-1]
		if len(s.orphans.byParent[hash]) == 0 {
			continue
		}
		parent, err := s.index.Key(s.context, s.name, hash)
		if err != nil {
			continue
		}
		for _, n := range s.orphans.of(hash) {
			s.add(parent, n.tier, n.hashes, n.tokens, n.extra, n.gone)
			s.settling = append(s.settling, n.hashes...)
			*n = orphan{settled: true} // the queue has it for as long as what came before it waits
		}
	}
}

// move takes it that blocks are in another tier, too: their event has no tokens.
func (s *stream) move(e *event) {
	for i, hash := range e.hashes {
		key, err := s.index.Key(s.context, s.name, hash)
		if errors.Is(err, kvindex.ErrUnknown) {
			s.counts.unknown.Add(1)
			continue
		}
		if err == nil {
			s.keys = append(s.keys[:0], key)
			err = s.index.Add(s.context, s.name, e.tier, e.hashes[i:i+1], s.keys)
		}
		s.fail(err)
	}
}

func (s *stream) remove(e *event) {
	if s.orphans.waiting == 0 {
		unknown, err := s.index.Evict(s.context, s.name, e.tier, e.hashes)
		s.fail(err)
		s.counts.unknown.Add(uint64(unknown))
		return
	}
	for i, hash := range e.hashes {
		unknown, err := s.index.Evict(s.context, s.name, e.tier, e.hashes[i:i+1])
		s.fail(err)
		if unknown > 0 && !s.orphans.remove(hash, e.tier) {
			s.counts.unknown.Add(1)
		}
	}
}
