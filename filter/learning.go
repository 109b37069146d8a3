package main

import (
	"github.com/pintle-dev/pintle/internal/hostcalls"
	"github.com/pintle-dev/pintle/journal"
	"github.com/pintle-dev/pintle/scoring"
	"github.com/pintle-dev/pintle/state"
)

// promptsPath is where the sidecar is handed prompts after the decision, see scoring.PrecisePrompt.
const promptsPath = prefixPath + "/prompts"

// mostLearning bounds the bytes of what a worker has to hand over.
const mostLearning = 1 << 20

// notePrompt has the sidecar handed, from a tick, the prompt that was just decided on, if the plan wants that. body is
// the client's.
func (s *stream) notePrompt(body []byte) {
	index, p := s.config.Plan.PreciseIndex(), s.plugin
	if index == nil || !index.Background || s.cycle.Request.Model != s.request.Model {
		return
	}
	chain := textChain(s.history.event.Chains)
	api := s.preciseAPI()
	if chain == nil || api == "" {
		return
	}
	prompt := scoring.PrecisePrompt{API: api, Chain: chain.ID, Blocks: chain.Blocks,
		TextBytes: int(s.cycle.Request.TextBytes()), Body: s.salted(body)}
	if len(p.learning)+prompt.Bytes() > mostLearning {
		s.stats.prefixSkipped.Add(1)
		return
	}
	if len(p.learning) == 0 && !p.handed {
		s.check(hostcalls.SetTick(handOverMillis))
	}
	p.learning = prompt.AppendTo(p.learning)
	s.stats.prefixHanded.Add(1)
}

// textChain returns the first of a decision's chains that is of blocks of text, nil for none.
func textChain(chains []journal.Chain) *journal.Chain {
	for i := range chains {
		if _, ok := state.Plain(chains[i].ID); ok && len(chains[i].Blocks) > 0 {
			return &chains[i]
		}
	}
	return nil
}

// handPrompts hands the sidecar the prompts that it is to learn from, unless it still has to say that it got the last
// ones. To be called in a tick.
func (p *plugin) handPrompts() {
	if len(p.learning) == 0 || p.handed {
		return
	}
	// What does not get there is learnt from another request with the same beginning.
	err := hostcalls.Send(&p.reply, p.sidecarCall("POST", promptsPath, p.learning), func(hostcalls.Answer) {
		if p.handed = false; len(p.learning) > 0 {
			_ = hostcalls.SetTick(handOverMillis)
		}
	})
	p.handed = err == nil
	p.learning = p.learning[:0]
	if len(p.waiting) == 0 && !p.handsOver {
		p.slowDown()
	}
}
