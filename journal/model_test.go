package journal

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

// model runs a few instances whose store operations a scheduler interleaves at random, one operation at a time. It
// knows what each change of the head appended and so what every instance must read.
type model struct {
	t     *testing.T
	rng   *rand.Rand
	data  *journaltest.Data
	slots int
	// blocks is the most that a decision has.
	blocks int
	now    int64
	truth  []string
	// length is how many bytes of records the head has.
	length int
	actors []*actor
	born   uint64
	// appended counts the appends that an instance was told had succeeded.
	appended map[string]int
}

// actor is one instance. It is a coroutine that stops before each operation of its store.
type actor struct {
	m       *model
	store   Store
	journal *Journal
	next    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	paused  int
	missed  uint64
	leases  []uint32
	open    map[string]bool
	seen    uint64
}

type crashed struct{}

func (a *actor) Get(key string) ([]byte, uint32, bool) {
	a.wait()
	return a.store.Get(key)
}

func (a *actor) Set(key string, value []byte, change uint32) bool {
	a.wait()
	ok := a.store.Set(key, value, change)
	if ok && key == headKey {
		a.m.record(value)
	}
	return ok
}

func (a *actor) wait() {
	if !a.yield(struct{}{}) {
		panic(crashed{})
	}
}

// record notes the last event of a new head.
func (m *model) record(value []byte) {
	p, ok := parsePage(value)
	if !ok {
		m.t.Fatal("a head was written that is none")
	}
	if p.count <= 1 {
		m.length = 0
	}
	var e Event
	if size, ok := decodeRecord(&e, value[headerBytes+m.length:]); p.count != 0 &&
		(!ok || m.length+size != int(p.length)) {
		m.t.Fatal("a head was written that does not end with one new record")
	}
	m.length = int(p.length)
	if p.end() != uint64(len(m.truth))+min(1, uint64(p.count)) {
		m.t.Fatalf("the log goes from %d events to %d", len(m.truth), p.end())
	}
	if p.count != 0 {
		m.truth = append(m.truth, name(&e))
	}
}

func name(e *Event) string {
	if e.Kind == Alive {
		return fmt.Sprintf("a%d", e.Instance)
	}
	return short(e)
}

func (m *model) spawn() *actor {
	m.born++
	a := &actor{m: m, store: m.data.Store(), open: map[string]bool{}}
	j, err := New(a, Options{Instance: m.born << 32, Slots: m.slots})
	if err != nil {
		m.t.Fatal(err)
	}
	a.journal = j
	a.next, a.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil && r != (crashed{}) {
				panic(r)
			}
		}()
		a.yield = yield
		for {
			a.act()
		}
	})
	return a
}

func (a *actor) act() {
	m, j := a.m, a.journal
	a.wait()
	switch m.rng.IntN(5) {
	case 0, 1:
		e := Event{Kind: Decision, Lease: j.NextLease(), Chains: chain(make([]uint64, m.rng.IntN(m.blocks+1)))}
		a.append(&e)
		a.leases = append(a.leases, e.Lease)
	case 2:
		if n := len(a.leases); n != 0 {
			i := m.rng.IntN(n)
			e := Event{Kind: Completion, Lease: a.leases[i]}
			a.leases = append(a.leases[:i], a.leases[i+1:]...)
			a.append(&e)
		}
	case 3:
		a.read(m.rng.IntN(4) == 0)
	case 4:
		a.read(true)
		j.Tick(m.now)
	}
}

func (a *actor) append(e *Event) {
	if !a.journal.Append(e) {
		a.m.t.Fatalf("%s was not appended", short(e))
	}
	a.m.appended[short(e)]++
}

// read checks what it reads against the truth. Without all it may stop midway.
func (a *actor) read(all bool) {
	j, m := a.journal, a.m
	j.Poll()
	for e := j.Next(); e != nil; e = j.Next() {
		if e.Kind == Missed {
			a.missed += e.Missed
			continue
		}
		a.check(e)
		a.apply(e)
		if !all && m.rng.IntN(3) == 0 {
			return
		}
	}
}

// check verifies that e is in its place and that what lies between it and the event before was reported as missed.
func (a *actor) check(e *Event) {
	at, truth := a.journal.reader.seq-1, a.m.truth
	if at < a.seen || at >= uint64(len(truth)) || truth[at] != short(e) {
		a.m.t.Fatalf("instance %d read %s as event %d, after %d of %v", a.journal.Instance(), short(e), at, a.seen,
			truth)
	}
	gap := at - a.seen
	hidden := uint64(0)
	for _, between := range truth[a.seen:at] {
		if between[0] == 'a' {
			hidden++
		}
	}
	fresh := a.journal.stats.Delivered == 1
	if !fresh && (a.missed > gap || a.missed < gap-hidden) {
		a.m.t.Fatalf("instance %d was told of %d missed events in a gap of %d", a.journal.Instance(), a.missed, gap)
	}
	a.seen, a.missed = at+1, 0
}

func (a *actor) apply(e *Event) {
	lease := fmt.Sprint(e.Instance, ".", e.Lease)
	switch e.Kind {
	case Decision:
		a.open[lease] = true
	case Completion:
		delete(a.open, lease)
	case Gone:
		for l := range a.open {
			if len(l) > len(fmt.Sprint(e.Instance)) &&
				l[:len(fmt.Sprint(e.Instance))+1] == fmt.Sprint(e.Instance, ".") {
				delete(a.open, l)
			}
		}
	}
}

func (m *model) run(steps int) {
	for range 3 {
		m.actors = append(m.actors, m.spawn())
	}
	for range steps {
		i := m.rng.IntN(len(m.actors))
		a := m.actors[i]
		m.now += m.rng.Int64N(int64(time.Second))
		if a.paused > 0 {
			a.paused--
			continue
		}
		switch m.rng.IntN(200) {
		case 0:
			a.stop()
			m.actors[i] = m.spawn()
		case 1, 2:
			a.paused = m.rng.IntN(100)
		default:
			a.next()
		}
	}
}

// finish checks the log as a whole and, when nothing was overwritten, that all who are left hold the same state.
func (m *model) finish(lossless bool) (state map[string]bool) {
	counts := map[string]int{}
	gone := map[string]bool{}
	for _, event := range m.truth {
		var instance uint64
		_, _ = fmt.Sscanf(event[1:], "%d", &instance)
		of := fmt.Sprint(instance)
		switch event[0] {
		case 'g':
			if gone[of] && lossless {
				m.t.Fatalf("two verdicts on %s with nothing of it in between: %v", of, m.truth)
			}
			gone[of] = true
		case 'd', 'c':
			counts[event]++
			gone[of] = false
		}
		if counts[event] > 1 {
			m.t.Fatalf("%s is in the log twice", event)
		}
	}
	for event := range m.appended {
		if counts[event] != 1 {
			m.t.Fatalf("%s was appended and is in the log %d times", event, counts[event])
		}
	}
	for i, a := range m.actors {
		a.yield = func(struct{}) bool { return true }
		a.read(true)
		if got := a.journal.reader.seq; got != uint64(len(m.truth)) {
			m.t.Fatalf("instance %d read up to %d of %d", a.journal.Instance(), got, len(m.truth))
		}
		if !lossless {
			continue
		}
		if a.journal.Stats().Missed != 0 || a.journal.Stats().Corrupt != 0 {
			m.t.Fatalf("instance %d missed events that nobody overwrote: %+v", a.journal.Instance(), a.journal.Stats())
		}
		if i != 0 && !reflect.DeepEqual(a.open, m.actors[0].open) {
			m.t.Fatalf("leases of instance %d %v, of another %v", a.journal.Instance(), a.open, m.actors[0].open)
		}
	}
	return m.actors[0].open
}

func TestInterleavings(t *testing.T) {
	tests := []struct {
		name          string
		slots, blocks int
		lossless      bool
		seeds         uint64
	}{
		{"nothing overwritten, small events", 64, 40, true, 1000},
		{"nothing overwritten, large events", 256, MaxBlocks, true, 1000},
		{"ring of 4 overwritten all the time", 4, MaxBlocks, false, 1000},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			seeds := tc.seeds
			if testing.Short() || raceDetector {
				seeds /= 50 // one thing happens at a time here: there is no race to detect
			}
			conflicts, missed, verdicts := uint64(0), uint64(0), 0
			for seed := range seeds {
				m := &model{
					t: t, rng: rand.New(rand.NewPCG(seed, 0)), data: journaltest.New(uint32(seed)*1000 - 500),
					slots:  tc.slots,
					blocks: tc.blocks, appended: map[string]int{},
				}
				m.run(600)
				m.finish(tc.lossless)
				for _, a := range m.actors {
					conflicts += a.journal.Stats().Conflicts
					missed += a.journal.Stats().Missed
					a.stop()
				}
				for _, event := range m.truth {
					if event[0] == 'g' {
						verdicts++
					}
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			t.Logf("%d conflicts, %d missed, %d verdicts", conflicts, missed, verdicts)
			if conflicts == 0 || verdicts == 0 || (missed == 0) != tc.lossless {
				t.Error("the schedules did not reach what this test is for")
			}
		})
	}
}
