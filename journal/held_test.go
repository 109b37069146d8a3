package journal

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

func hold(t testing.TB, j *Journal, lease uint32) {
	t.Helper()
	if !j.Hold(&Event{Kind: Completion, Lease: lease}) {
		t.Fatalf("instance %d: the completion of %d was not held back", j.Instance(), lease)
	}
}

// decideRead decides as who applies his own decisions does, and returns whether it counts as read.
func decideRead(t testing.TB, j *Journal, blocks int) (read bool) {
	t.Helper()
	e := Event{Kind: Decision, Lease: j.NextLease(), Primary: 1, Chains: chain(hashes(blocks))}
	ok, read := j.AppendRead(&e)
	if !ok {
		t.Fatalf("instance %d: lease %d was not appended", j.Instance(), e.Lease)
	}
	return read
}

// TestHeldIsWrittenOnce: what is held back and the event behind it take one write, in their order, and count as read
// where nobody was faster.
func TestHeldIsWrittenOnce(t *testing.T) {
	tests := []struct {
		name string
		act  func(t *testing.T, j, other *Journal) (read bool)
		read bool
		gets int
		left []string // what j reads then
		want []string // what everybody else reads
	}{
		{"a decision alone", func(t *testing.T, j, _ *Journal) bool { return decideRead(t, j, 3) }, true, 0, nil,
			[]string{"d2.1", "d1.1"}},
		{"two behind held completions", func(t *testing.T, j, _ *Journal) bool {
			hold(t, j, 7)
			hold(t, j, 8)
			return decideRead(t, j, 3)
		}, true, 0, nil, []string{"d2.1", "c1.7", "c1.8", "d1.1"}},
		{"flushed", func(t *testing.T, j, _ *Journal) bool { hold(t, j, 7); return j.Flush() }, true, 0, nil,
			[]string{"d2.1", "c1.7"}},
		{"another was faster", func(t *testing.T, j, other *Journal) bool {
			hold(t, j, 7)
			decide(t, other, 3)
			return decideRead(t, j, 3)
		}, false, 1, []string{"d2.2", "c1.7", "d1.1"}, []string{"d2.1", "d2.2", "c1.7", "d1.1"}},
		{"another is faster the next time", func(t *testing.T, j, other *Journal) bool {
			read := decideRead(t, j, 3)
			decide(t, other, 3)
			hold(t, j, 7)
			return j.Flush() && read
		}, true, 1, []string{"d2.2", "c1.7"}, []string{"d2.1", "d1.1", "d2.2", "c1.7"}},
		{"no room for all", func(t *testing.T, j, _ *Journal) bool {
			hold(t, j, 7)
			return decideRead(t, j, MaxBlocks)
		}, true, 0, nil, []string{"d2.1", "c1.7", "d1.1"}},
		{"the page was full", func(t *testing.T, j, other *Journal) bool {
			decide(t, other, MaxBlocks)
			expect(t, j, "d2.2")
			hold(t, j, 7)
			return decideRead(t, j, 3)
		}, false, 2, []string{"c1.7", "d1.1"}, []string{"d2.1", "d2.2", "c1.7", "d1.1"}},
		{"not all was read", func(t *testing.T, j, other *Journal) bool {
			decide(t, other, 3)
			j.Poll()
			return decideRead(t, j, 3)
		}, false, 1, []string{"d2.2", "d1.1"}, []string{"d2.1", "d2.2", "d1.1"}},
		{"a verdict goes before", func(t *testing.T, j, _ *Journal) bool {
			hold(t, j, 7)
			j.write(&Event{Kind: Alive, Instance: 1}, nil)
			return j.Flush()
		}, true, 1, []string{"c1.7"}, []string{"d2.1", "c1.7"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			data := journaltest.New(0)
			store := &counting{Store: data.Store()}
			j, other := open(t, store, 1, 4), open(t, data.Store(), 2, 4)
			decide(t, other, 3)
			expect(t, j, "d2.1")
			store.gets = 0
			if read := tc.act(t, j, other); read != tc.read {
				t.Errorf("got read %v, want %v", read, tc.read)
			}
			if store.gets != tc.gets {
				t.Errorf("got %d reads, want %d", store.gets, tc.gets)
			}
			expect(t, j, tc.left...)
			late := open(t, data.Store(), 3, 4)
			expect(t, late, tc.want...)
			if got := late.Stats(); got.Corrupt != 0 || got.Missed != 0 {
				t.Errorf("got %+v, want nothing corrupt or missed", got)
			}
		})
	}
}

func TestOnlyEndsAndBeginningsAreHeld(t *testing.T) {
	j := open(t, journaltest.New(0).Store(), 1, 4)
	for kind := range Kind(9) {
		if got, want := j.Hold(&Event{Kind: kind}), kind == Completion || kind == Began; got != want {
			t.Errorf("kind %d: got held %v, want %v", kind, got, want)
		}
	}
}

// TestNothingIsReadTwice has VMs hold, append, flush and read in any order. Each knows every event once: of its own by
// what it has written, or by what Next returns.
func TestNothingIsReadTwice(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		data := journaltest.New(0)
		var all []*Journal
		known := make([][]string, 3)
		for i := range known {
			all = append(all, open(t, data.Store(), uint64(i+1), 16))
		}
		for range 200 {
			i := r.IntN(len(all))
			j := all[i]
			switch r.IntN(5) {
			case 0:
				known[i] = append(known[i], others(j, drain(j))...)
			case 1:
				hold(t, j, j.NextLease())
				known[i] = append(known[i], fmt.Sprintf("c%d.%d", i+1, j.lease))
			case 2:
				j.Flush()
			default:
				if r.IntN(4) > 0 {
					known[i] = append(known[i], others(j, drain(j))...)
				}
				if decideRead(t, j, 1+r.IntN(MaxBlocks/8)) {
					known[i] = append(known[i], fmt.Sprintf("d%d.%d", i+1, j.lease))
				}
			}
		}
		for i, j := range all {
			j.Flush()
			known[i] = append(known[i], others(j, drain(j))...)
		}
		late := open(t, data.Store(), 9, 16)
		want := drain(late)
		slices.Sort(want)
		for i, j := range all {
			got := append(known[i], others(j, drain(j))...)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, instance %d: got %d events, want %d:\n%v\n%v", seed, i+1, len(got), len(want), got,
					want)
			}
		}
	}
}

// others leaves out the completions of j itself, which it knew before it wrote them.
func others(j *Journal, read []string) []string {
	own := fmt.Sprintf("c%d.", j.Instance())
	return slices.DeleteFunc(read, func(s string) bool { return len(s) > len(own) && s[:len(own)] == own })
}

// TestHeldAreBounded: what is held back is written without what would make it too much, in its order.
func TestHeldAreBounded(t *testing.T) {
	record := len(appendRecord(nil, &Event{Kind: Completion}))
	// withSteps is an event that takes so many bytes more than one without steps, a multiple of 8 from 24 on.
	withSteps := func(kind Kind, lease uint32, more int) *Event {
		e := &Event{Kind: kind, Lease: lease}
		if more > 0 {
			e.Steps = make([]byte, more-sectionBytes-8)
		}
		return e
	}
	fit := mostHeldBytes / record // that many completions
	rest := mostHeldBytes - fit*record
	tests := []struct {
		name    string
		last    *Event // behind so many completions less one
		written int
	}{
		{"as much as may be", withSteps(Completion, 99, rest), 0},
		{"more", withSteps(Completion, 99, rest+8), fit - 1},
		{"the beginning of an answer", withSteps(Began, 99, rest+8), fit - 1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			data := journaltest.New(0)
			j, other := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
			for i := range fit - 1 {
				hold(t, j, uint32(i+1))
			}
			if !j.Hold(tc.last) {
				t.Fatal("not held back")
			}
			if got := len(drain(other)); got != tc.written || j.Stats().Appended != uint64(got) || !j.Holds() {
				t.Errorf("%d events are written, %+v; want %d, and one held", got, j.Stats(), tc.written)
			}
			j.Flush()
			late := drain(open(t, data.Store(), 3, 4))
			if len(late) != fit || late[fit-1] != short(tc.last) || j.Holds() || j.Stats().Appended != uint64(fit) {
				t.Errorf("got %v, %+v; want all %d in their order", late, j.Stats(), fit)
			}
		})
	}
	j := open(t, journaltest.New(0).Store(), 1, 4)
	if !j.Hold(withSteps(Completion, 1, 2*mostHeldBytes)) || !j.Holds() || j.Stats().Appended != 0 {
		t.Errorf("one that alone is larger: got %+v, want it held", j.Stats())
	}
}

// TestHeldGoBeforeWhatIsLarge: what is held back is written with an event as long as both have room on a page, and else
// before it.
func TestHeldGoBeforeWhatIsLarge(t *testing.T) {
	const held = 3
	record := len(appendRecord(nil, &Event{Kind: Completion}))
	large := Event{Kind: Decision, Lease: 9, Chains: chain(hashes(MaxBlocks))}
	room := maxRecordBytes - held*record - len(appendRecord(nil, &large)) - sectionBytes - 8
	for _, tc := range []struct {
		name  string
		steps int
		sets  uint32
		read  bool
	}{{"with it", room, 1, true}, {"before it", room + 1, 2, false}} {
		t.Run(tc.name, func(t *testing.T) {
			data := journaltest.New(0)
			store := data.Store()
			j := open(t, store, 1, 4)
			decide(t, j, 1)
			expect(t, j, "d1.1")
			_, before, _ := store.Get(headKey)
			for i := range uint32(held) {
				hold(t, j, i+2)
			}
			e := large
			e.Steps = make([]byte, tc.steps)
			ok, read := j.AppendRead(&e)
			_, after, _ := store.Get(headKey)
			if !ok || read != tc.read || after-before != tc.sets || j.Stats().Appended != 1+held+1 {
				t.Errorf("got %v, read %v, %d writes, %+v; want true, %v, %d", ok, read, after-before, j.Stats(),
					tc.read, tc.sets)
			}
			expect(t, open(t, data.Store(), 2, 4), "d1.1", "c1.2", "c1.3", "c1.4", "d1.9")
		})
	}
}

// TestMissedBehindWhatWasPassedOver: who began with an event of his own in an empty log is told what he misses of those
// behind it.
func TestMissedBehindWhatWasPassedOver(t *testing.T) {
	data := journaltest.New(0)
	j, other := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
	take(t, other, relay(Mark{}, Mark{}), Mark{}, true) // there is a log now
	expect(t, j)
	if !decideRead(t, j, 3) {
		t.Fatal("the first event is not passed over")
	}
	for range 10 {
		decide(t, other, MaxBlocks) // each makes a page, and the first is on that of the other event
	}
	expect(t, j, "m6", "d2.7", "d2.8", "d2.9", "d2.10")
}
