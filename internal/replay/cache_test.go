package replay

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// asked is a request whose prompt has these units of two blocks each, and one more block for its answer.
func asked(units ...uint64) *request {
	r := &request{units: units, size: 16, input: 32 * len(units), output: 16}
	for i := range units {
		r.ends = append(r.ends, 32*(i+1))
	}
	return r
}

// whole is a request of one unit of so many tokens that needs ten blocks with its answer.
func whole(tokens int) *request {
	return &request{units: []uint64{1}, ends: []int{tokens}, size: 16, input: tokens, output: 160 - tokens}
}

// TestCacheRoom: a request has room as far as nobody holds it, and what it finds there is no room for the rest.
func TestCacheRoom(t *testing.T) {
	for _, test := range []struct {
		name        string
		held        []*request // have been admitted and have not ended
		ended       []*request // have been admitted and have ended, before
		asked       *request
		hits        int
		ok          bool
		blank, idle int // blocks afterwards
	}{
		{"empty", nil, nil, asked(1, 2), 0, true, 5, 0},
		{"all of it", nil, nil, asked(1, 2, 3, 4), 0, true, 1, 0},
		{"more than all", nil, nil, asked(1, 2, 3, 4, 5), 0, false, 10, 0},
		{"others hold too much", []*request{asked(1, 2, 3)}, nil, asked(7, 8), 0, false, 3, 0},
		{"beside others", []*request{asked(1, 2)}, nil, asked(7, 8), 0, true, 0, 0},
		{"what others hold", []*request{asked(1, 2)}, nil, asked(1, 2, 3), 2, true, 2, 0},
		{"what others left", nil, []*request{asked(1, 2)}, asked(1, 2, 3), 2, true, 2, 1},
		{"in the place of what others left", nil, []*request{asked(1, 2, 3, 4)}, asked(5, 6), 0, true, 1, 4},
		{"about all of it, beside what others count as more", nil, []*request{whole(64)}, whole(63), 0, true, 0, 0},
		{"finds what leaves no room for the rest", []*request{asked(9)}, []*request{asked(1, 2)},
			asked(1, 2, 3, 4), 0, false, 2, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCache(10)
			for _, r := range test.ended {
				c.admit(r)
				c.release(r)
			}
			for _, r := range test.held {
				c.admit(r)
			}
			hits, ok := c.admit(test.asked)
			if hits != test.hits || ok != test.ok || c.blank != test.blank || c.idle != test.idle {
				t.Errorf("got %d units, %v, %d blank and %d idle blocks, want %d, %v, %d and %d", hits, ok, c.blank,
					c.idle, test.hits, test.ok, test.blank, test.idle)
			}
			if test.ok {
				c.release(test.asked)
			}
			for _, r := range test.held {
				c.release(r)
			}
			if c.blank+c.idle != c.all {
				t.Errorf("when all have ended: got %d blank and %d idle blocks, want %d in all", c.blank, c.idle, c.all)
			}
		})
	}
}

// TestCacheLengths: the tokens of a text are as many as each request's own ratio of tokens to bytes makes of it. Where
// two make other numbers of a unit, no block comes to be or is lost.
func TestCacheLengths(t *testing.T) {
	of := func(tokens int) *request {
		return &request{units: []uint64{1, 2}, ends: []int{tokens, 2 * tokens}, size: 16, input: 2 * tokens, output: 16}
	}
	for _, test := range []struct {
		name        string
		first, then int // tokens of a unit
		blank, idle int // blocks while the second request is there
	}{
		{"as long", 32, 32, 14, 1},
		{"longer", 32, 64, 14, 1},
		{"shorter", 64, 32, 10, 1},
		{"so short that the first had more than all of it", 64, 16, 10, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCache(20)
			first, then := of(test.first), of(test.then)
			c.admit(first)
			c.release(first)
			if hits, ok := c.admit(then); hits != 2 || !ok || c.blank != test.blank || c.idle != test.idle {
				t.Errorf("got %d units, %v, %d blank and %d idle blocks, want 2, true, %d and %d", hits, ok, c.blank,
					c.idle, test.blank, test.idle)
			}
			c.release(then)
			if c.blank+c.idle != c.all {
				t.Errorf("when all have ended: got %d blank and %d idle blocks, want %d in all", c.blank, c.idle, c.all)
			}
		})
	}
}

// TestCacheProperties: whatever comes and goes, with texts that begin alike, lengths that differ and answers that stay,
// each block is blank, idle or held by somebody, and once nobody is there none is held.
func TestCacheProperties(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := newCache(200)
		var held []*request
		check := func() {
			t.Helper()
			blocks := c.blank + c.idle
			for _, r := range held {
				blocks += r.private
			}
			for _, u := range c.units {
				if u.refs > 0 {
					blocks += u.blocks
				}
			}
			if blocks != c.all || c.blank < 0 || c.idle < 0 {
				t.Fatalf("seed %d: %d blank, %d idle and %d blocks in all, want %d", seed, c.blank, c.idle, blocks,
					c.all)
			}
		}
		for range 400 {
			if len(held) > 0 && random.IntN(2) == 0 {
				i := random.IntN(len(held))
				c.release(held[i])
				held = slices.Delete(held, i, i+1)
				check()
				continue
			}
			r := &request{size: 16, output: 1 + random.IntN(200)}
			text, tokens := uint64(random.IntN(6))*100, 16+random.IntN(60)
			for n := range 1 + random.IntN(8) {
				r.units, r.ends = append(r.units, text+uint64(n)+1), append(r.ends, tokens*(n+1))
			}
			for n := range random.IntN(3) {
				r.answer = append(r.answer, text+uint64(len(r.units)+n)+1)
			}
			r.input = r.ends[len(r.ends)-1] + random.IntN(30)
			if _, ok := c.admit(r); ok {
				held = append(held, r)
			}
			check()
		}
		for _, r := range held {
			c.release(r)
		}
		held = nil
		check()
	}
}
