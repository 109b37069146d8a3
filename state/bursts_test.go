package state

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal"
)

// burst plays a load balancer: each prompt goes to the endpoint with the largest share, of several to the first one.
type burst struct {
	state *State
	now   int64
	lease uint32
}

const burstChain = 7

func newBurst(endpoints int, o BurstOptions) *burst {
	o.Chain, o.Window, o.Most = burstChain, 100*time.Millisecond, 64
	b := &burst{state: New(Options{Bursts: &o}), now: 1e18}
	ids := make([]uint64, endpoints)
	for i := range ids {
		ids[i] = uint64(i + 1)
	}
	b.state.SetEndpoints(ids)
	return b
}

// share is what the endpoints count for.
func (b *burst) share(prompt []uint64) []int32 {
	indexes := make([]uint16, b.state.Endpoints.Len())
	for i := range indexes {
		indexes[i] = uint16(i)
	}
	matched := make([]int32, len(indexes))
	b.state.Expire(b.now)
	b.state.Bursts.Share(b.now, prompt, indexes, matched)
	return matched
}

// send has a prompt go where its share is largest, or to fallback when there is none.
func (b *burst) send(prompt []uint64, fallback int) (endpoint int) {
	matched := b.share(prompt)
	endpoint = fallback
	if largest := slices.Max(matched); largest > 0 {
		endpoint = slices.Index(matched, largest)
	}
	b.tell(prompt, endpoint, 0)
	return endpoint
}

// tell tells that a prompt went to an endpoint, so much later than now.
func (b *burst) tell(prompt []uint64, endpoint int, later time.Duration) {
	b.lease++
	b.state.Apply(&journal.Event{Kind: journal.Decision, Time: b.now + int64(later), Instance: 1, Lease: b.lease,
		Primary: uint64(endpoint + 1), Chains: []journal.Chain{{ID: burstChain, Blocks: prompt}}})
}

// TestBursts: what goes where, as llm-d's examples have it for a whole batch; here it is the same but for the first
// request of each group, which goes elsewhere's way: to the next endpoint in turn.
func TestBursts(t *testing.T) {
	tests := []struct {
		name      string
		endpoints int
		options   BurstOptions
		prompts   string // each letter is a prompt's block, | ends a prompt
		want      []int  // requests by endpoint
	}{
		{"all together", 4, BurstOptions{}, "a|a|a|a|a|a|a|a", []int{8, 0, 0, 0}},
		{"two each", 4, BurstOptions{PerEndpoint: 2}, "a|a|a|a|a|a|a|a", []int{2, 2, 2, 2}},
		{"four each", 4, BurstOptions{PerEndpoint: 4}, "a|a|a|a|a|a|a|a", []int{4, 4, 0, 0}},
		{"more than fit", 2, BurstOptions{PerEndpoint: 2}, "a|a|a|a|a|a|a|a", []int{4, 4}},
		{"two groups", 4, BurstOptions{}, "a|a|b|a|b|a|b|b|b", []int{4, 5, 0, 0}},
		{"four groups", 2, BurstOptions{}, "a|a|a|b|b|b|c|c|c|d|d|d", []int{6, 6}},
		{"alike", 2, BurstOptions{Shared: 2}, "xya|xyb|xyc|xyd", []int{2, 2}},
		{"less alike", 2, BurstOptions{Shared: 3}, "xya|xyb|xyc|xyd", []int{4, 0}}, // nothing said: all to the first
		{"alike to a group", 2, BurstOptions{Shared: 2}, "xya|xya|xya|xya|zzz|zzz|zzz|zzz|xyb", []int{5, 4}},
		{"above the fair share", 4, BurstOptions{Shared: 2}, "xya|xya|xya|xya|zzz|zzz|zzz|zzz|xyb",
			[]int{4, 4, 1, 0}},
		{"one endpoint", 1, BurstOptions{PerEndpoint: 1}, "a|a|b", []int{3}},
		{"long prompts apart", 2, BurstOptions{ByTokens: true}, "abcdefgh|abcdefgh|p|p|q|q|r|r", []int{2, 6}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b, got := newBurst(tc.endpoints, tc.options), make([]int, tc.endpoints)
			for _, prompt := range burstPrompts(tc.prompts) {
				got[b.send(prompt, 0)]++
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// burstPrompts are chained hashes of letters.
func burstPrompts(text string) (all [][]uint64) {
	var prompt []uint64
	hash := uint64(0)
	for _, letter := range text + "|" {
		if letter == '|' {
			all, prompt, hash = append(all, prompt), nil, 0
			continue
		}
		hash = splitMix(hash + uint64(letter))
		prompt = append(prompt, hash)
	}
	return all
}

// TestBurstShares: what endpoints count for at one moment.
func TestBurstShares(t *testing.T) {
	four := burstPrompts("abcd")[0]
	other := burstPrompts("wxyz")[0]
	tests := []struct {
		name string
		play func(b *burst)
		want []int32
	}{
		{"nothing yet", func(*burst) {}, []int32{0, 0, 0}},
		{"the second one follows", func(b *burst) { b.send(four, 1) }, []int32{0, 4, 0}},
		{"one that is like none", func(b *burst) { b.send(other, 1) }, []int32{0, 0, 0}},
		{"beside a group", func(b *burst) { b.send(other, 1); b.send(other, 1) }, []int32{4, 0, 4}},
		{"beside two groups", func(b *burst) {
			b.send(other, 1)
			b.send(other, 1)
			for range 4 {
				b.send(burstPrompts("k")[0], 2)
			}
		}, []int32{0, 1, 4}},
		{"a window later", func(b *burst) { b.send(four, 1); b.now += int64(100 * time.Millisecond) },
			[]int32{0, 0, 0}},
		{"just before", func(b *burst) { b.send(four, 1); b.now += int64(99 * time.Millisecond) }, []int32{0, 4, 0}},
		{"the clock set back", func(b *burst) { b.send(four, 1); b.now -= int64(time.Second) }, []int32{0, 4, 0}},
		{"a window after the clock was set back", func(b *burst) {
			b.send(four, 1)
			b.now -= int64(time.Second)
			b.share(four)
			b.now += int64(100 * time.Millisecond)
		}, []int32{0, 0, 0}},
		{"one that is told late", func(b *burst) { b.send(four, 1); b.tell(four, 2, -time.Minute) },
			[]int32{0, 4, 0}},
		{"beside one of which another is told late", func(b *burst) {
			b.send(other, 1)
			b.tell(other, 2, -time.Minute)
		}, []int32{0, 0, 0}},
		{"one of a clock that is ahead", func(b *burst) { b.send(four, 1); b.tell(other, 2, time.Second) },
			[]int32{0, 4, 0}},
		{"a window after one of a clock that is ahead", func(b *burst) {
			b.share(four)
			b.tell(four, 1, time.Second)
			b.now += int64(100 * time.Millisecond)
		}, []int32{0, 0, 0}},
		{"its endpoint left", func(b *burst) {
			b.send(four, 1)
			b.state.SetEndpoints([]uint64{1, 3})
			b.state.SetEndpoints([]uint64{1, 2, 3})
		}, []int32{0, 0, 0}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b := newBurst(3, BurstOptions{})
			tc.play(b)
			if got := b.share(four); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestBurstsReadLater: a worker that is new reads what the others read at once, and has the same burst.
func TestBurstsReadLater(t *testing.T) {
	prompt, other := burstPrompts("abcd")[0], burstPrompts("wxyz")[0]
	for _, late := range []bool{false, true} {
		b := newBurst(3, BurstOptions{})
		begin := b.now
		for _, after := range []time.Duration{0, 90 * time.Millisecond} {
			if b.now = begin + int64(after); late {
				b.now = begin + int64(150*time.Millisecond)
			}
			b.share(prompt)
			b.tell(prompt, 1, time.Duration(begin-b.now)+after)
		}
		b.now = begin + int64(150*time.Millisecond)
		if got := b.share(other); !slices.Equal(got, []int32{4, 0, 4}) {
			t.Errorf("read later %v: got %v beside a request that was equal to one, want [4 0 4]", late, got)
		}
	}
}

// TestBurstTokensStayWithTheLast: of equal prompts and of what is alike an endpoint has the blocks as long as it has
// one of them, whichever was the first.
func TestBurstTokensStayWithTheLast(t *testing.T) {
	for _, tc := range []struct {
		name, prompts string
		want          []int32 // of four blocks
	}{
		{"equal ones", "abcdefgh|abcdefgh", []int32{4, 0, 4}},
		{"alike ones", "abcdefgh|abcdefgx", []int32{4, 0, 4}},
		{"one beside others", "abcdefgh|abcdefgh|abcd", []int32{4, 0, 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBurst(3, BurstOptions{ByTokens: true, Shared: 4})
			for _, prompt := range burstPrompts(tc.prompts) {
				b.state.Bursts.place(prompt, 1, b.now)
				b.now += int64(60 * time.Millisecond)
			}
			if got := b.share(burstPrompts("wxyz")[0]); !slices.Equal(got, tc.want) {
				t.Errorf("without the first: got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestBurstsAreBounded: of a burst that is full the oldest requests are forgotten, as are those that are over, and
// nothing is allocated any more.
func TestBurstsAreBounded(t *testing.T) {
	b := newBurst(3, BurstOptions{Size: 2, PerEndpoint: 2})
	prompt := burstPrompts("abcd")[0]
	b.send(prompt, 1)
	b.send(burstPrompts("x")[0], 2)
	b.send(burstPrompts("y")[0], 2)
	if got := b.share(prompt); !slices.Equal(got, []int32{0, 0, 0}) {
		t.Errorf("what a full burst has forgotten counts for %v, want nothing", got)
	}
	for step := range int64(20) { // half a window each: one counts beside the new one
		b.now += int64(50 * time.Millisecond)
		if got := b.send(prompt, 1); got != 1 {
			t.Errorf("step %d: the prompt went to %d, want 1", step, got)
		}
	}
	unbounded, matched := newBurst(3, BurstOptions{}), make([]int32, 3)
	event := journal.Event{Kind: journal.Decision, Time: 1e18, Instance: 1, Primary: 1,
		Chains: []journal.Chain{{ID: burstChain, Blocks: prompt}}}
	for range mostBurst {
		unbounded.state.Apply(&event)
	}
	if n := testing.AllocsPerRun(10, func() {
		unbounded.state.Apply(&event)
		unbounded.state.Bursts.Share(1e18, prompt, []uint16{0, 1, 2}, matched)
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
	if got := unbounded.state.MemoryBytes(); got > 160*mostBurst {
		t.Errorf("got %s bytes, want %d at most", strconv.Itoa(got), 160*mostBurst)
	}
}
