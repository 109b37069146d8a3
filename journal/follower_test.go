package journal

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

// ask has the follower read one answer, at its position, and returns what it was told and whether there is more.
func ask(t testing.TB, f *Follower, store Store, kept Position) (told []string, a Answer) {
	t.Helper()
	var writer Answerer
	text := writer.Append(nil, store, []Position{{Epoch: 99, Page: 5}, f.At()}, kept, 7, 8)
	a, ok := ParseAnswer(text)
	if !ok || a.Names != 7 || a.Topology != 8 || len(text) > MaxAnswerBytes {
		t.Fatalf("got %+v, %v and %d bytes", a, ok, len(text))
	}
	f.Read(&a, func(e *Event, at Position) {
		told = append(told, short(e))
		if e.Kind != Missed && at.Epoch != a.Epoch {
			t.Errorf("%s is at %+v, want the epoch %d", short(e), at, a.Epoch)
		}
	})
	return told, a
}

func expectTold(t testing.TB, f *Follower, store Store, want ...string) {
	t.Helper()
	if got, _ := ask(t, f, store, Position{}); !reflect.DeepEqual(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

func TestFollowerReadsWhatIsNew(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	var f Follower
	expectTold(t, &f, store)
	j := open(t, data.Store(), 1, 4)
	expectTold(t, &f, store)
	decide(t, j, 3)
	decide(t, j, 3)
	expectTold(t, &f, store, "d1.1", "d1.2")
	expectTold(t, &f, store)
	complete(t, j, 1)
	if !j.Append(&Event{Kind: Refused}) {
		t.Fatal("not appended")
	}
	expectTold(t, &f, store, "c1.1", "r1")
	for range 20 { // over several pages
		decide(t, j, 100)
	}
	told, a := ask(t, &f, store, Position{})
	if len(told) != 20 || a.More || f.Stats().Missed != 0 {
		t.Errorf("got %v, more %v, %+v, want 20 decisions", told, a.More, f.Stats())
	}
}

// TestFollowerReadsAnothersAnswers: of one that begins before where it stands, or in a page before, it takes what is
// new.
func TestFollowerReadsAnothersAnswers(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	j := open(t, data.Store(), 1, 16)
	var f, other Follower
	read := func(f *Follower, a *Answer) (n int) {
		f.Read(a, func(*Event, Position) { n++ })
		return n
	}
	decide(t, j, 3)
	ask(t, &f, store, Position{})
	ask(t, &other, store, Position{})
	for _, tc := range []struct {
		name                 string
		before, after, times int // prompts' blocks, and how many events
	}{
		{"in the page", 3, 3, 1},
		{"nothing new", 3, 0, 0},
		{"over several pages", 100, 200, 30},
	} {
		for range max(tc.times, 2) {
			decide(t, j, tc.before)
		}
		ask(t, &f, store, Position{})
		for range tc.times {
			decide(t, j, tc.after)
		}
		var writer Answerer
		a, _ := ParseAnswer(writer.Append(nil, store, []Position{other.At()}, Position{}, 0, 0))
		if got := read(&f, &a); got != tc.times {
			t.Errorf("%s: took %d events, want %d", tc.name, got, tc.times)
		}
		if got := read(&f, &a); got != 0 {
			t.Errorf("%s: took %d events a second time", tc.name, got)
		}
		if got, want := read(&other, &a), max(tc.times, 2)+tc.times; got != want {
			t.Errorf("%s: who asked took %d events, want %d", tc.name, got, want)
		}
		if f.At() != other.At() || f.Stats().Missed != 0 {
			t.Errorf("%s: stands at %+v and missed %d, want %+v and none", tc.name, f.At(), f.Stats().Missed,
				other.At())
		}
	}
}

// TestFollowerMissesNothingOfAFastLog has more pages between two questions than an answer takes.
func TestFollowerMissesNothingOfAFastLog(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	var f Follower
	j := open(t, data.Store(), 1, 512)
	const events = 900
	for range events {
		decide(t, j, 256)
	}
	n, answers := 0, 0
	for more := true; more; answers++ {
		told, a := ask(t, &f, store, Position{})
		n, more = n+len(told), a.More
	}
	if n != events || answers < 3 || f.Stats() != (FollowerStats{Events: events}) {
		t.Errorf("got %d events in %d answers, %+v, want %d in several", n, answers, f.Stats(), events)
	}
}

func TestFollowerIsToldWhatItMissed(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	var f Follower
	j := open(t, data.Store(), 1, 4)
	decide(t, j, 3)
	expectTold(t, &f, store, "d1.1")
	for range 100 {
		decide(t, j, 200)
	}
	told, _ := ask(t, &f, store, Position{})
	missed := f.Stats().Missed
	if missed == 0 || told[0] != fmt.Sprintf("m%d", missed) || uint64(len(told)-1)+missed != 100 {
		t.Errorf("told %d of %d missed and %v, want 100 together", missed, len(told)-1, told[0])
	}
	decide(t, j, 3)
	expectTold(t, &f, store, "d1.102")
}

func TestFollowerSeesARestart(t *testing.T) {
	data := journaltest.New(0)
	var f Follower
	j := open(t, data.Store(), 1, 4)
	decide(t, j, 3)
	expectTold(t, &f, data.Store(), "d1.1")
	again := journaltest.New(0)
	expectTold(t, &f, again.Store()) // no log is there yet
	j = open(t, again.Store(), 2, 4)
	decide(t, j, 3)
	expectTold(t, &f, again.Store(), "d2.1")
	if got := f.Stats(); got != (FollowerStats{Events: 2, Restarts: 1}) {
		t.Errorf("got %+v, want 2 events and a restart", got)
	}
}

func TestFollowerGoesOnWhereAnotherEnded(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	j := open(t, data.Store(), 1, 4)
	var first, second, third Follower
	decide(t, j, 3)
	expectTold(t, &first, store, "d1.1")
	complete(t, j, 1)
	second.Resume(first.At())
	expectTold(t, &second, store, "c1.1")
	told, a := ask(t, &third, store, first.At())
	if a.Kept != first.At() || len(told) != 2 {
		t.Errorf("got %v kept and %v, want %v and all", a.Kept, told, first.At())
	}
	elsewhere := first.At()
	elsewhere.Epoch++
	if _, a := ask(t, &third, store, elsewhere); a.Kept != (Position{}) {
		t.Errorf("got %v kept, want nothing of another log", a.Kept)
	}
}

// TestFollowerOutlivesDamage has a page in the log whose events cannot be read.
func TestFollowerOutlivesDamage(t *testing.T) {
	data := journaltest.New(0)
	store := data.Store()
	j := open(t, data.Store(), 1, 8)
	for range 20 {
		decide(t, j, 100)
	}
	head, _, _ := store.Get(headKey)
	p, _ := parsePage(head)
	var key slotKey
	value, _, _ := store.Get(key.of(&p, 1))
	broken := bytes.Clone(value)
	broken[headerBytes+20] ^= 1
	damaged, _ := parsePage(broken)
	store.Set(key.of(&p, 1), broken, 0)
	var f Follower
	told, _ := ask(t, &f, store, Position{})
	if got := f.Stats(); got.Missed != uint64(damaged.count) || got.Events != 20-got.Missed {
		t.Errorf("got %+v and %v, want %d missed", got, told, damaged.count)
	}
}

func FuzzAnswer(f *testing.F) {
	data := journaltest.New(0)
	j := open(f, data.Store(), 1, 4)
	for range 12 {
		decide(f, j, 100)
	}
	var writer Answerer
	f.Add(writer.Append(nil, data.Store(), nil, Position{Epoch: 2}, 1, 2))
	f.Fuzz(func(t *testing.T, src []byte) {
		a, ok := ParseAnswer(src)
		if !ok {
			return
		}
		var f Follower
		events := uint64(0)
		f.Read(&a, func(e *Event, _ Position) {
			if e.Kind != Missed {
				events++
			}
		})
		if got := f.Stats().Events; got != events || events*(checksumBytes+headBytes) > uint64(len(src)) {
			t.Fatalf("got %d events counted, %d told, of %d bytes", got, events, len(src))
		}
	})
}

func TestNamesAreToldOnce(t *testing.T) {
	data := journaltest.New(0)
	a, b := &Names{Store: data.Store()}, &Names{Store: data.Store()}
	for range 3 {
		a.Add(ModelName, HashName("m1"), "m1")
		b.Add(ModelName, HashName("m1"), "m1")
		b.Add(UserName, HashName("m1"), "m1")
		b.Add(ModelName, 0, "")
	}
	store := data.Store()
	value, change := StoredNames(store)
	var got []string
	ReadNames(value, func(kind NameKind, hash uint64, name []byte) {
		got = append(got, fmt.Sprintf("%d %v %s", kind, hash == HashName(string(name)), name))
	})
	if want := []string{"1 true m1", "2 true m1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	a.Add(UserName, HashName("m1"), "m1")
	if _, again := StoredNames(store); again != change {
		t.Error("a name that is there was written again")
	}
}

func TestNamesAreBounded(t *testing.T) {
	data := journaltest.New(0)
	a, b := &Names{Store: data.Store()}, &Names{Store: data.Store()}
	long := string(bytes.Repeat([]byte("x"), 400))
	for i := range 3 * MaxNames {
		for kind := ModelName; kind <= PluginName; kind++ {
			name := fmt.Sprint(i, long)
			a.Add(kind, HashName(name), name)
			b.Add(kind, HashName(name+"b"), name+"b")
		}
	}
	value, _ := StoredNames(data.Store())
	n, longest := 0, 0
	ReadNames(value, func(_ NameKind, _ uint64, name []byte) { n, longest = n+1, max(longest, len(name)) })
	if n != 5*MaxNames || longest != MaxNameBytes {
		t.Errorf("got %d names of up to %d bytes, want %d of %d", n, longest, 5*MaxNames, MaxNameBytes)
	}
	if allocated := testing.AllocsPerRun(100, func() { a.Add(ModelName, 12345, "another") }); allocated != 0 {
		t.Errorf("a name beyond the bound costs %v allocations, want 0", allocated)
	}
}

// TestFollowerSince: of a log that others have read, a new follower misses what came behind them and is no longer
// there.
func TestFollowerSince(t *testing.T) {
	data := journaltest.New(0)
	j := open(t, data.Store(), 1, 4)
	for range 300 {
		decide(t, j, 100)
	}
	var all Follower
	ask(t, &all, data.Store(), Position{})
	epoch, oldest := all.At().Epoch, all.At().Seq-all.Stats().Events
	for _, test := range []struct {
		name  string
		since Position
		want  uint64
	}{
		{"nobody read it", Position{}, 0},
		{"another log was read", Position{Epoch: epoch + 1, Seq: 1}, 0},
		{"read to its beginning", Position{Epoch: epoch}, oldest},
		{"read to before what is there", Position{Epoch: epoch, Seq: oldest - 3}, 3},
		{"read to what is there", Position{Epoch: epoch, Seq: oldest}, 0},
		{"read to its end", Position{Epoch: epoch, Seq: all.At().Seq}, 0},
	} {
		var f Follower
		f.Since(test.since)
		ask(t, &f, data.Store(), Position{})
		if got := f.Stats(); got.Missed != test.want || got.Events != all.Stats().Events || f.At() != all.At() {
			t.Errorf("%s: got %+v at %+v, want %d missed and all of %+v", test.name, got, f.At(), test.want,
				all.Stats())
		}
	}
	if oldest < 3 {
		t.Errorf("the log still has all but %d events, want some gone", oldest)
	}
}
