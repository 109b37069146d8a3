package journal

import (
	"testing"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

// counting counts what a journal reads.
type counting struct {
	Store
	gets int
}

func (c *counting) Get(key string) ([]byte, uint32, bool) {
	c.gets++
	return c.Store.Get(key)
}

// TestAppendGoesByThePoll: what Poll has just read is not read again to append to it, and what another has appended
// since is not lost by that.
func TestAppendGoesByThePoll(t *testing.T) {
	tests := []struct {
		name    string
		between func(t *testing.T, j, other *Journal)
		gets    int
		want    []string
	}{
		{"nothing happens in between", func(*testing.T, *Journal, *Journal) {}, 0, []string{"d2.1", "d1.1"}},
		{"another appends", func(t *testing.T, _, other *Journal) { decide(t, other, 3) }, 1,
			[]string{"d2.1", "d2.2", "d1.1"}},
		{"it has appended itself", func(t *testing.T, j, _ *Journal) { decide(t, j, 3) }, 1,
			[]string{"d2.1", "d1.1", "d1.2"}},
		{"the page was full", func(t *testing.T, j, other *Journal) {
			decide(t, other, MaxBlocks)
			j.Poll()
		}, 2, []string{"d2.1", "d2.2", "d1.1"}},
		{"a new log begins", func(t *testing.T, j, _ *Journal) { j.create(0) }, 1, []string{"d1.1"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			data := journaltest.New(0)
			store := &counting{Store: data.Store()}
			j, other := open(t, store, 1, 4), open(t, data.Store(), 2, 4)
			decide(t, other, 3)
			j.Poll()
			store.gets = 0
			tc.between(t, j, other)
			decide(t, j, 3)
			if store.gets != tc.gets {
				t.Errorf("got %d reads, want %d", store.gets, tc.gets)
			}
			late := open(t, data.Store(), 3, 4)
			expect(t, late, tc.want...)
			if got := late.Stats(); got.Corrupt != 0 {
				t.Errorf("got %+v, want nothing corrupt", got)
			}
		})
	}
}

// TestOldPollSpoilsNoPage: a full page that was polled long ago does not come over the later one that has its slot.
func TestOldPollSpoilsNoPage(t *testing.T) {
	data := journaltest.New(0)
	j, other := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
	decide(t, other, MaxBlocks)
	j.Poll()
	for range 10 {
		decide(t, other, MaxBlocks)
	}
	decide(t, j, 3)
	late := open(t, data.Store(), 3, 4)
	expect(t, late, "d2.9", "d2.10", "d2.11", "d1.1")
	if got := late.Stats(); got.Corrupt != 0 {
		t.Errorf("got %+v, want nothing corrupt", got)
	}
}
