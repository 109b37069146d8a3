package journal

import (
	"testing"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

// counted counts the calls of a Store.
type counted struct {
	Store
	gets, sets int
}

func (c *counted) Get(key string) ([]byte, uint32, bool) {
	c.gets++
	return c.Store.Get(key)
}

func (c *counted) Set(key string, value []byte, change uint32) bool {
	c.sets++
	return c.Store.Set(key, value, change)
}

// TestDecisionAfterPoll: a decision is appended to what Poll has seen, for one Set. Where another VM was faster it is
// appended to what that has written.
func TestDecisionAfterPoll(t *testing.T) {
	data := journaltest.New(0)
	store := &counted{Store: data.Store()}
	own, other := open(t, store, 1, 4), open(t, data.Store(), 2, 4)
	decide(t, own, 0)
	tests := []struct {
		name       string
		between    func()
		poll       bool
		gets, sets int
		conflicts  uint64
	}{
		{"nothing in between", func() {}, true, 1, 1, 0},
		{"another in between", func() { decide(t, other, 0) }, true, 2, 2, 1},
		{"nothing new", func() {}, true, 1, 1, 0},
		{"no poll", func() { decide(t, other, 0) }, false, 1, 1, 0},
		{"a completion in between, of the same", func() { complete(t, own, 1) }, true, 3, 2, 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for own.Poll(); own.Next() != nil; {
			}
			if !tc.poll {
				own.polledAt = 0
			}
			store.gets, store.sets = 0, 0
			before := own.Stats()
			if tc.poll {
				own.Poll()
			}
			tc.between()
			decide(t, own, 0)
			if store.gets != tc.gets || store.sets != tc.sets {
				t.Errorf("got %d gets and %d sets, want %d and %d", store.gets, store.sets, tc.gets, tc.sets)
			}
			if got := own.Stats().Conflicts - before.Conflicts; got != tc.conflicts {
				t.Errorf("conflicts: got %d, want %d", got, tc.conflicts)
			}
		})
	}
	reader := open(t, data.Store(), 3, 4)
	n := 0
	for reader.Poll(); reader.Next() != nil; n++ {
	}
	if want := 9; n != want || reader.Stats().Missed+reader.Stats().Corrupt != 0 {
		t.Errorf("read %d events and missed some: %+v, want %d", n, reader.Stats(), want)
	}
}

// TestFullPageIsReadAgain: a page goes into its slot as it is stored, not as it was when Poll saw it.
func TestFullPageIsReadAgain(t *testing.T) {
	data := journaltest.New(0)
	store := &counted{Store: data.Store()}
	j := open(t, store, 1, 4)
	for decide(t, j, 100); ; decide(t, j, 100) {
		if j.Poll(); j.reader.head.full() {
			break
		}
	}
	store.gets = 0
	decide(t, j, 100)
	if store.gets != 1 {
		t.Errorf("got %d gets before a page was sealed, want 1", store.gets)
	}
}
