package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

// TestAnswersHaveWhatIsNew: an answer has no more than what is behind the position in this log, and all that the log
// counts on where there is none.
func TestAnswersHaveWhatIsNew(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	j := open(t, data.Store(), 1, 4)
	const blocks = MaxBlocks / 2 // of which two events make a page
	for range 11 {
		decide(t, j, blocks)
	}
	value, _, _ := store.Get(headKey)
	head, _ := parsePage(value)
	record := len(appendRecord(nil, &Event{Kind: Decision, Chains: chain(hashes(blocks))}))
	if head.number != 5 || head.count != 1 || int(head.length) != record {
		t.Fatalf("the head is %+v, want page 5 with one event of %d bytes", head, record)
	}
	at := func(page uint64, events int) Position {
		return Position{Epoch: head.epoch, Page: page, Seq: 2*page + uint64(events), Offset: uint32(events * record)}
	}
	other := at(5, 1)
	other.Epoch++
	tests := []struct {
		name          string
		at            []Position
		pages, events int
	}{
		{"all is known", []Position{at(5, 1)}, 0, 0},
		{"the head is not", []Position{at(5, 0)}, 1, 1},
		{"the end of a page", []Position{at(4, 2)}, 1, 1},
		{"the middle of a page", []Position{at(4, 1)}, 2, 2},
		{"the oldest page", []Position{at(2, 0)}, 4, 7},
		{"the middle of the oldest page", []Position{at(2, 1)}, 4, 6},
		{"an older one", []Position{at(1, 1)}, 4, 7},
		{"no position", nil, 4, 7},
		{"one of another log", []Position{other}, 4, 7},
		{"one of this log before another's", []Position{at(5, 1), other}, 0, 0},
		{"one of this log behind another's", []Position{other, at(4, 1)}, 2, 2},
		{"one that is not there yet", []Position{at(6, 0)}, 4, 7},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var a Answerer
			got := len(a.Append(nil, store, tc.at, Position{}, 0, 0))
			if want := answerHeaderBytes + tc.pages*partHeaderBytes + tc.events*record; got != want {
				t.Errorf("got %d bytes, want %d: %d events of %d pages", got, want, tc.events, tc.pages)
			}
		})
	}
}

// TestAnswersAreBounded: an answer has so many pages at most, and says whether there are more.
func TestAnswersAreBounded(t *testing.T) {
	for _, tc := range []struct {
		pages, want int
		more        bool
	}{{maxAnswerPages, maxAnswerPages, false}, {maxAnswerPages + 1, maxAnswerPages - 1, true}} {
		t.Run(fmt.Sprint(tc.pages), func(t *testing.T) {
			data := journaltest.New(0)
			j := open(t, data.Store(), 1, 64)
			for range tc.pages {
				decide(t, j, MaxBlocks) // one makes a page
			}
			var writer Answerer
			text := writer.Append(nil, data.Store(), nil, Position{}, 0, 0)
			a, ok := ParseAnswer(text)
			var f Follower
			f.Read(&a, func(*Event, Position) {})
			if got := int(f.Stats().Events); !ok || got != tc.want || a.More != tc.more || len(text) > MaxAnswerBytes {
				t.Errorf("got %d pages, more %v, %d bytes; want %d and %v", got, a.More, len(text), tc.want, tc.more)
			}
		})
	}
}

// TestAnswersLackForeignPages: a slot that has not the page that belongs there is left out.
func TestAnswersLackForeignPages(t *testing.T) {
	tests := []struct {
		name   string
		change func([]byte) []byte
	}{
		{"another log's", func(b []byte) []byte { return reseal(b, func(p *page) { p.epoch++ }) }},
		{"a later page's", func(b []byte) []byte { return reseal(b, func(p *page) { p.number += 16 }) }},
		{"cut short", func(b []byte) []byte { return b[:100] }},
		{"nothing", func(b []byte) []byte { return nil }},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			data := journaltest.New(0)
			store := data.Store()
			j := open(t, data.Store(), 1, 16)
			for range 4 {
				decide(t, j, MaxBlocks)
			}
			var a Answerer
			whole := len(a.Append(nil, store, nil, Position{}, 0, 0))
			value, _, _ := store.Get("pintle/v2/journal/00001")
			want := whole - partHeaderBytes - (len(value) - headerBytes)
			store.Set("pintle/v2/journal/00001", tc.change(bytes.Clone(value)), 0)
			if got := len(a.Append(nil, store, nil, Position{}, 0, 0)); got != want {
				t.Errorf("got %d bytes, want %d of %d", got, want, whole)
			}
		})
	}
}

// afterHead does something once the head has been read.
type afterHead struct {
	Store
	act func()
}

func (a *afterHead) Get(key string) ([]byte, uint32, bool) {
	value, change, ok := a.Store.Get(key)
	if act := a.act; act != nil && key == headKey {
		a.act = nil
		value = bytes.Clone(value)
		act()
	}
	return value, change, ok
}

// TestAnswersWhileOthersWrite: what happens to the head while an answer is written is in it where it can be, and else
// there is more to be had.
func TestAnswersWhileOthersWrite(t *testing.T) {
	tests := []struct {
		name   string
		act    func(t *testing.T, j *Journal, store Store)
		events int
		more   bool
	}{
		{"nothing", func(*testing.T, *Journal, Store) {}, 1, false},
		{"one more event", func(t *testing.T, j *Journal, _ Store) { decide(t, j, 1) }, 2, false},
		{"the page is sealed", func(t *testing.T, j *Journal, _ Store) {
			decide(t, j, MaxBlocks)
			decide(t, j, 1)
		}, 0, true},
		{"another log", func(_ *testing.T, j *Journal, _ Store) { j.create(0) }, 0, false},
		{"something else", func(_ *testing.T, _ *Journal, s Store) { s.Set(headKey, []byte("else"), 0) }, 0, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			data := journaltest.New(0)
			j := open(t, data.Store(), 1, 4)
			decide(t, j, 1)
			var writer Answerer
			store := &afterHead{data.Store(), func() { tc.act(t, j, data.Store()) }}
			a, _ := ParseAnswer(writer.Append(nil, store, nil, Position{}, 0, 0))
			var f Follower
			f.Read(&a, func(*Event, Position) {})
			if got := int(f.Stats().Events); got != tc.events || a.More != tc.more {
				t.Errorf("got %d events, more %v; want %d and %v", got, a.More, tc.events, tc.more)
			}
		})
	}
}

// TestAnswersThatAreNone: what is no answer is refused, and what is no part of a log ends one.
func TestAnswersThatAreNone(t *testing.T) {
	data := journaltest.New(0)
	j := open(t, data.Store(), 1, 4)
	decide(t, j, 1)
	var writer Answerer
	whole := writer.Append(nil, data.Store(), nil, Position{}, 0, 0)
	part := whole[answerHeaderBytes:]
	put := func(at int, n uint32) []byte {
		b := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(b[at:], n)
		return b
	}
	records := uint32(len(part) - partHeaderBytes)
	other := bytes.Clone(whole)
	reseal(other[answerHeaderBytes+8:], func(p *page) { p.epoch++ })
	tests := []struct {
		name   string
		text   []byte
		ok     bool
		events int
	}{
		{"whole", whole, true, 1},
		{"nothing", nil, false, 0},
		{"part of the header", whole[:answerHeaderBytes-1], false, 0},
		{"the header alone", whole[:answerHeaderBytes], true, 0},
		{"another version", put(0, answerMagic+1<<24), false, 0},
		{"part of a part's header", whole[:answerHeaderBytes+partHeaderBytes-1], true, 0},
		{"a part's header alone", whole[:answerHeaderBytes+partHeaderBytes], true, 0},
		{"records that are cut", whole[:len(whole)-1], true, 0},
		{"more records than are there", put(answerHeaderBytes+4, records+1), true, 0},
		{"as many as can be said", put(answerHeaderBytes+4, 1<<32-1), true, 0},
		{"fewer than the page has", put(answerHeaderBytes+4, records-8), true, 0},
		{"an offset that the page has not", put(answerHeaderBytes, 8), true, 0},
		{"an offset that makes up for the length", put(answerHeaderBytes, -uint32(len(part))), true, 0},
		{"another log's page", other, true, 0},
		{"something behind it", append(bytes.Clone(whole), 1, 2, 3), true, 1},
		{"a second one behind it", append(bytes.Clone(whole), part...), true, 1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			a, ok := ParseAnswer(tc.text)
			if ok != tc.ok {
				t.Fatalf("got an answer %v, want %v", ok, tc.ok)
			}
			var f Follower
			f.Read(&a, func(*Event, Position) {})
			if got := f.Stats(); got != (FollowerStats{Events: uint64(tc.events)}) {
				t.Errorf("got %+v, want %d events", got, tc.events)
			}
		})
	}
}
