package state

import (
	"math/rand/v2"
	"testing"

	"github.com/pintle-dev/pintle/journal"
)

// lruServer is a server's cache of blocks, of which those used longest ago go.
type lruServer struct {
	room, clock int
	used        map[uint64]int
}

// serve returns how many of the leading blocks were cached.
func (c *lruServer) serve(blocks []uint64) (had int) {
	for had < len(blocks) && c.used[blocks[had]] > 0 {
		had++
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		c.clock++
		c.used[blocks[i]] = c.clock
	}
	for len(c.used) > c.room {
		oldest, at := uint64(0), c.clock+1
		for block, used := range c.used {
			if used < at {
				oldest, at = block, used
			}
		}
		delete(c.used, oldest)
	}
	return had
}

// fresh is n blocks that no other number has.
func fresh(number uint64, n int) []uint64 {
	blocks := make([]uint64, n)
	for i := range blocks {
		blocks[i] = splitMix(number<<16 + uint64(i))
	}
	return blocks
}

// answers has endpoint 1 answer a prompt and report how many of its tokens, of a block each 16, it had.
func answers(s *State, lease uint32, blocks []uint64, had int) {
	answersCut(s, lease, Chain{BlockBytes: 64}, blocks, had)
}

// answersCut is answers of a prompt of which the journal has blocks that grow.
func answersCut(s *State, lease uint32, chain Chain, blocks []uint64, had int) {
	const tokens = 16
	known := journal.Chain{ID: chain.ID()}
	for n := 1; chain.End(n) <= len(blocks)*chain.BlockBytes; n++ {
		known.Blocks = append(known.Blocks, blocks[chain.End(n)/chain.BlockBytes-1])
	}
	s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: lease, Primary: 1,
		PromptBytes: uint32(len(blocks) * chain.BlockBytes), Chains: []journal.Chain{known}})
	e := ended(lease)
	e.UsageReported, e.CachedReported = true, true
	e.InputTokens, e.CachedTokens = uint32(len(blocks)*tokens), uint32(had*tokens)
	s.Apply(&e)
}

// What a server reports of prompts corrects what it told of its cache.
func TestCapacityIsLearnt(t *testing.T) {
	const room, prompts, long = 400, 60, 20
	for _, tt := range []struct {
		name    string
		told    int
		growing int
	}{
		{"a tenth", room / 10, 0},
		{"the truth", room, 0},
		{"ten times as much", 10 * room, 0},
		{"nothing", 0, 0},
		{"a tenth, blocks grow", room / 10, 2},
		{"the truth, blocks grow", room, 2},
		{"ten times as much, blocks grow", 10 * room, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{Prefix: true, PrefixCapacity: 5 * room})
			s.SetEndpoints([]uint64{1})
			server := &lruServer{room: room, used: map[uint64]int{}}
			r := rand.New(rand.NewPCG(1, 2))
			for lease := range uint32(1000) {
				s.Prefix.SetCapacity(0, tt.told) // with each sample
				number := r.IntN(prompts)
				if r.IntN(2) > 0 {
					number %= 10 // some come more often
				}
				blocks := fresh(uint64(number), long)
				answersCut(s, lease+1, Chain{BlockBytes: 64, DoubleEvery: tt.growing}, blocks, server.serve(blocks))
			}
			want := room
			if tt.growing > 0 {
				want = room * 14 / long // of a prompt, blocks of 1, 1, 2, 2, 4 and 4 are seen
			}
			if got, ok := s.Prefix.Capacity(0); !ok || got < want/2 || got > 2*want {
				t.Errorf("a capacity of %d blocks (%v), want about %d", got, ok, want)
			}
		})
	}
}

func TestCapacityCorrections(t *testing.T) {
	const told = 100
	tests := []struct {
		name    string
		between int // blocks that come before the prompt comes again
		change  func(*journal.Event)
		want    int // below, at or above told
	}{
		{"had, and believed", 50, func(e *journal.Event) { e.CachedTokens = 20 * 16 }, 0},
		{"had, and not believed", 300, func(e *journal.Event) { e.CachedTokens = 20 * 16 }, 1},
		{"not had, and not believed", 300, func(e *journal.Event) { e.CachedTokens = 0 }, 0},
		{"not had, and believed", 50, func(e *journal.Event) { e.CachedTokens = 0 }, -1},
		{"a third of it had, and believed", 50, func(e *journal.Event) { e.CachedTokens = 6 * 16 }, -1},
		{"half of the tokens, which may be of all but a little", 50,
			func(e *journal.Event) { e.CachedTokens = 10 * 16 }, 0},
		{"all but a little had", 50, func(e *journal.Event) { e.CachedTokens = 18 * 16 }, 0},
		{"more than the whole prompt", 300, func(e *journal.Event) { e.CachedTokens = 1 << 31 }, 1},
		{"nothing reported", 50, func(e *journal.Event) { e.CachedReported = false }, 0},
		{"tokens of the prompt unknown", 300, func(e *journal.Event) { e.InputTokens = 0 }, 0},
		{"answered by another", 50, func(e *journal.Event) { e.Tried = 2 }, 0},
		{"failed", 50, func(e *journal.Event) { e.Status = 500 }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := prompts(1000)
			s.Prefix.SetCapacity(0, told)
			blocks, lease := fresh(1, 20), uint32(2)
			answers(s, 1, blocks, 0)
			for n := 0; n < tt.between; n += 50 {
				answers(s, lease, fresh(uint64(lease), 50), 0)
				lease++
			}
			s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: lease, Primary: 1, PromptBytes: 20 * 64,
				Chains: []journal.Chain{{ID: 64, Blocks: blocks}}})
			e := ended(lease)
			e.UsageReported, e.CachedReported, e.InputTokens = true, true, 20*16
			tt.change(&e)
			s.Apply(&e)
			got, _ := s.Prefix.Capacity(0)
			if sign := min(max(got-told, -1), 1); sign != tt.want {
				t.Errorf("%d blocks after %d were told; want a change of sign %d", got, told, tt.want)
			}
		})
	}
}

// What another answer used while a prompt waited proves nothing: it may have been stored anew.
func TestCapacityOfWhatIsRenewed(t *testing.T) {
	const told = 40
	for _, renewed := range []bool{false, true} {
		s, blocks := prompts(1000), fresh(1, 20)
		s.Prefix.SetCapacity(0, told)
		answers(s, 1, blocks, 0)
		answers(s, 2, fresh(2, 50), 0)
		s.Apply(&journal.Event{Kind: journal.Decision, Instance: 9, Lease: 3, Primary: 1, PromptBytes: 20 * 64,
			Chains: []journal.Chain{{ID: 64, Blocks: blocks}}})
		if renewed {
			sent(s, 4, blocks)
			e := ended(4)
			s.Apply(&e)
		}
		e := ended(3)
		e.UsageReported, e.CachedReported, e.InputTokens, e.CachedTokens = true, true, 20*16, 20*16
		s.Apply(&e)
		if got, _ := s.Prefix.Capacity(0); got > told == renewed {
			t.Errorf("renewed: %v; a capacity of %d blocks after %d were told", renewed, got, told)
		}
	}
}

// TestCapacityOutlivesTheProcess: what was learnt of a server holds for its next process, which tells the same.
func TestCapacityOutlivesTheProcess(t *testing.T) {
	s := prompts(1000)
	s.Prefix.SetCapacity(0, 40)
	s.Apply(&journal.Event{Kind: journal.Held, Primary: 1, Held: 100,
		Chains: []journal.Chain{{ID: 64, Blocks: fresh(1, 100)}}})
	for _, start := range []int64{5000, 95_000} {
		s.Prefix.Started(0, start, 0)
		s.Prefix.SetCapacity(0, 40)
		if got, _ := s.Prefix.Capacity(0); got != 100 {
			t.Errorf("started at %d: a capacity of %d blocks, want the 100 that were there", start, got)
		}
	}
}

// What is too old counts no longer, and is remembered all the same.
func TestCapacityOfMatches(t *testing.T) {
	s := prompts(1000)
	s.Prefix.SetCapacity(0, 40)
	first, second := fresh(1, 20), fresh(2, 30)
	answers(s, 1, first, 0)
	answers(s, 2, second, 0)
	s.Prefix.tentative.clear(0)
	matched, kept := make([]int32, 2), make([]int32, 2)
	for _, when := range []string{"nothing is on its way", "more than there is room for is"} {
		s.Prefix.MatchKept(Chain{}, first, []uint16{0, 1}, matched, kept)
		if matched[0] > 10 || matched[0] < 10-40/imprecise || kept[0] != 20 || matched[1] != 0 || kept[1] != 0 {
			t.Errorf("%s: matched %v, kept %v; want 10 or a little less of 20, and nothing at the other endpoint", when,
				matched, kept)
		}
		sent(s, 3, fresh(3, 50))
	}
	if got := s.Prefix.Match(0, fresh(3, 50)); got != 40 {
		t.Errorf("of what is on its way %d blocks match, want the 40 for which there is room", got)
	}
	if got := s.Prefix.Len(0); got != 40 {
		t.Errorf("%d blocks are believed, want 40", got)
	}
	s.Prefix.SetCapacity(0, 60)
	if got := s.Prefix.Match(0, first); got != 20 {
		t.Errorf("with another capacity told: %d blocks match, want all 20", got)
	}
}

// A report of nothing for what is older than all that a server had of late says how much room it has; for what is
// younger, that it lost everything.
func TestCapacityIsNotLoss(t *testing.T) {
	const long = 20
	tests := []struct {
		name string
		deep bool // which prompts the server had nothing of
		want int  // blocks that are believed of another prompt
	}{
		{"older than what it had", true, long},
		{"younger than what it had", false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, lease := prompts(1000), uint32(0)
			s.Prefix.SetCapacity(0, 1000)
			answer := func(number uint64, had int) {
				lease++
				answers(s, lease, fresh(number, long), had)
			}
			for number := range uint64(12) {
				answer(number, 0)
			}
			answer(7, long) // of which four others were used since
			for i := range uint64(2) {
				if tt.deep {
					answer(i, 0)
				} else {
					answer(10+i, 0)
				}
			}
			if got := s.Prefix.Match(0, fresh(7, long)); got != tt.want {
				t.Errorf("%d blocks are believed, want %d", got, tt.want)
			}
		})
	}
}
