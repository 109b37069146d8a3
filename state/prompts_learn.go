package state

import "github.com/pintle-dev/pintle/journal"

const (
	// leastDoubt is how many blocks of a prompt must have been believed for a server's report of none to mean
	// something: it rounds down to blocks of its own.
	leastDoubt = 2
	// depthFades is in how many reports of something a depth that no longer shows fades to some third.
	depthFades = 32
)

// apply implements part.
func (p *Prompts) apply(s *step) {
	switch s.Kind {
	case journal.Decision:
		p.decided(s)
	case journal.Began, journal.Completion:
		if s.Status == 200 && s.TTFTMicros > 0 {
			p.begun(s)
		}
		if s.Kind == journal.Completion {
			p.pending.drop(s.Instance, s.Lease)
		}
	case journal.Held:
		p.held(s)
	}
}

func (p *Prompts) decided(s *step) {
	if len(s.Chains) == 0 || p.former(s.primary, s.Time) {
		return
	}
	believed, known := 0, memory{}
	for i := range s.Chains {
		chain := &s.Chains[i]
		for index := range p.indexes {
			if !p.learns(index, chain.ID) {
				continue
			}
			list, has := p.list(s.primary, index), 0
			if i == 0 && index == 0 {
				known, has = p.recall(s)
				p.tentative.Add(list, chain.Blocks[has:])
			} else {
				has = p.await(list, chain)
			}
			if s.prefill != s.primary {
				p.await(p.list(s.prefill, index), chain)
			}
			if i == 0 && chain.ID != mediaChain {
				believed = max(believed, has)
			}
		}
	}
	p.pending.put(s.Event, believed, &known)
	if first := &s.Chains[0]; first.ID != mediaChain {
		growth := growthOf(first.ID)
		p.reuse.note(growth.End(believed), growth.End(len(first.Blocks)))
	}
}

// await takes blocks that follow those that a list is believed to have for such as its endpoint computes now, and
// returns how many it is believed to have. Media follow none: one may be new between two that are there.
func (p *Prompts) await(list int, chain *journal.Chain) (believed int) {
	if chain.ID != mediaChain {
		believed = p.answered.Match(list, chain.Blocks)
	}
	p.tentative.Add(list, chain.Blocks[believed:])
	return believed
}

// settle takes blocks of a chain for answered. The first ones were when the prompt was sent: they are not tentative for
// it. Each of media counts by itself: one that is not admitted keeps none behind it from being used.
func (p *Prompts) settle(list int, chain uint64, blocks []uint64, first int) {
	for ; chain == mediaChain && len(blocks) > 1; blocks = blocks[1:] {
		p.settle(list, chain, blocks[:1], 0)
	}
	n := p.answered.add(list, blocks, growthOf(chain))
	if first < n && p.tentative.Len(list) > 0 {
		p.tentative.remove(list, blocks[first:n])
	}
}

// recall notes what is known of a decision's first chain, if reports are to correct it, and returns how many of its
// blocks are believed.
func (p *Prompts) recall(s *step) (m memory, believed int) {
	list, chain := p.list(s.primary, 0), &s.Chains[0]
	m.blockBytes, m.doubleEvery = blockBytes(chain.ID)
	if _, ok := p.room(s.primary); !ok || m.blockBytes == 0 {
		return memory{}, p.answered.Match(list, chain.Blocks)
	}
	m.bytes = s.PromptBytes
	// Not in the return itself: TinyGo would read m before the call that changes it.
	believed = p.answered.recall(list, chain.Blocks, &m)
	return m, believed
}

// begun takes a prompt for cached where it was answered.
func (p *Prompts) begun(s *step) {
	w := p.pending.find(s.Instance, s.Lease)
	if w == nil || p.former(s.primary, s.Time) {
		return
	}
	reported := s.Kind == journal.Completion && s.CachedReported && s.Tried == 0 && w.prefill == 0
	if w.memory.kept > 0 && !w.answered {
		words := p.pending.words(w)
		p.answered.review(p.list(s.primary, 0), words[2:2+words[1]], &w.memory)
	}
	oldest, youngest := uint32(0), uint32(everything)
	if reported {
		oldest, youngest = p.answered.correct(p.list(s.primary, 0), &w.memory, s.CachedTokens, s.InputTokens)
	}
	if reported && int(w.believed) >= leastDoubt {
		p.judge(s.primary, s.CachedTokens > 0, oldest, youngest)
	} else if w.answered {
		return
	}
	w.answered = true
	prefill := -1
	if w.prefill != w.primary {
		prefill = s.endpoints.Index(w.prefill)
	}
	first := 0
	if p.indexes == 1 {
		first = int(w.believed)
	}
	for words := p.pending.words(w); len(words) > 0; {
		chain, n := words[0], int(words[1])
		for index := range p.indexes {
			if p.learns(index, chain) {
				p.settle(p.list(s.primary, index), chain, words[2:2+n], first)
				p.settle(p.list(prefill, index), chain, words[2:2+n], 0)
			}
		}
		words, first = words[2+n:], 0
	}
}

// judge takes an endpoint's report of whether it had something of a prompt that it was believed to have, with what
// Prefix.correct made of it. That it has nothing of what is older than all that it had of late says how much room it
// has, and not that it lost everything.
func (p *Prompts) judge(index int, had bool, oldest, youngest uint32) {
	if uint(index) >= uint(len(p.servers)) {
		return
	}
	s := &p.servers[index]
	switch {
	case had:
		s.proved, s.doubted = true, false
		s.depth = max(s.depth-s.depth/depthFades, oldest)
	case s.proved && s.depth > 0 && youngest > s.depth && youngest < everything:
	case s.proved && !s.doubted:
		s.doubted = true
	default:
		s.proved, s.doubted, s.depth = false, false, 0
		p.forget(index)
	}
}
