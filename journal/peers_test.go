package journal

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/journal/journaltest"
)

func TestInstanceGone(t *testing.T) {
	const second = int64(time.Second)
	data := journaltest.New(0)
	dead, idle, a, b := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4), open(t, data.Store(), 3, 4),
		open(t, data.Store(), 4, 4)
	complete(t, idle, decide(t, idle, 0))
	decide(t, dead, 0)
	decide(t, a, 0)
	decide(t, b, 0)
	expect(t, a, "d2.1", "c2.1", "d1.1", "d3.1", "d4.1")
	drain(b)
	var gone []int64
	for now := range 60 * second / second {
		for _, j := range []*Journal{a, b} {
			for _, e := range drain(j) {
				if e != "g1" {
					t.Fatalf("%d s: instance %d read %s, want only g1", now, j.Instance(), e)
				}
				gone = append(gone, now)
			}
			j.Tick(now * second)
		}
	}
	// a writes the verdict at 30 s, b reads it in the same second, a in the next.
	if want := []int64{30, 31}; !reflect.DeepEqual(gone, want) {
		t.Errorf("the verdict was read at %v s, want %v", gone, want)
	}
	if got := dead.Stats().Appended + idle.Stats().Appended; got != 3 {
		t.Errorf("got %d events of the silent, want 3", got)
	}
	// The living one that was silent reads the verdict on itself; what it does then counts again.
	expect(t, dead, "d2.1", "c2.1", "d1.1", "d3.1", "d4.1", "g1")
	decide(t, dead, 0)
	expect(t, a, "d1.2")
}

func TestGoneIsNotWrittenBeforeAllIsRead(t *testing.T) {
	data := journaltest.New(0)
	silent, a := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
	decide(t, silent, 0)
	complete(t, a, 1)
	expect(t, a, "d1.1", "c2.1")
	ticks := func() {
		for now := range int64(60) {
			a.Tick(now * int64(time.Second))
		}
	}
	decide(t, silent, 0)
	ticks()
	expect(t, a, "d1.2")
	a.Tick(60 * int64(time.Second))
	expect(t, a)
}

func TestPassiveInstanceWritesNothing(t *testing.T) {
	data := journaltest.New(0)
	passive, a := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
	decide(t, a, 0)
	expect(t, passive, "d2.1")
	for now := range int64(100) {
		passive.Tick(now * int64(time.Second))
	}
	expect(t, a, "d2.1")
}

func TestClock(t *testing.T) {
	const second = int64(time.Second)
	tests := []struct {
		name  string
		ticks []int64 // seconds
		gone  bool
	}{
		{"30 s in steps of 1 s", steps(0, 1, 31), true},
		{"29 s in steps of 1 s", steps(0, 1, 30), false},
		{"one step of a day", []int64{0, 86400}, false},
		{"a step of a day, then 22 s", append([]int64{0}, steps(86400, 1, 23)...), false},
		{"a step of a day, then 23 s", append([]int64{0}, steps(86400, 1, 24)...), true},
		{"20 s, a step back, 9 s", append(steps(100, 1, 21), steps(10, 1, 10)...), false},
		{"20 s, a step back, 10 s", append(steps(100, 1, 21), steps(10, 1, 11)...), true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			data := journaltest.New(0)
			dead, a := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
			decide(t, dead, 0)
			complete(t, a, 0)
			drain(a)
			for _, now := range tc.ticks {
				a.Tick(now * second)
			}
			if got := len(drain(a)) == 1; got != tc.gone {
				t.Errorf("declared gone: got %v, want %v", got, tc.gone)
			}
		})
	}
}

func steps(from, step int64, n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = from + int64(i)*step
	}
	return all
}

// TestSignsOfLife: who has leases open and is silent for a third of the time tells that he lives, and again after each
// further third.
func TestSignsOfLife(t *testing.T) {
	tests := []struct {
		name string
		at   map[int64]func(t *testing.T, j *Journal) // by second, before the tick
		want []int64
	}{
		{"one decision", map[int64]func(*testing.T, *Journal){
			0: func(t *testing.T, j *Journal) { decide(t, j, 0) }}, []int64{10, 20, 30, 40}},
		{"something written in between", map[int64]func(*testing.T, *Journal){
			0: func(t *testing.T, j *Journal) { decide(t, j, 0) },
			5: func(t *testing.T, j *Journal) { decide(t, j, 0) }}, []int64{14, 24, 34, 44}},
		{"something held back in between", map[int64]func(*testing.T, *Journal){
			0:  func(t *testing.T, j *Journal) { decide(t, j, 0); decide(t, j, 0) },
			12: func(t *testing.T, j *Journal) { hold(t, j, 1); j.Flush() }}, []int64{10, 21, 31, 41}},
		{"nothing open any longer", map[int64]func(*testing.T, *Journal){
			0:  func(t *testing.T, j *Journal) { decide(t, j, 0) },
			15: func(t *testing.T, j *Journal) { complete(t, j, 1) }}, []int64{10}},
		{"one of two ended", map[int64]func(*testing.T, *Journal){
			0: func(t *testing.T, j *Journal) { decide(t, j, 0); decide(t, j, 0); complete(t, j, 1) }},
			[]int64{10, 20, 30, 40}},
		{"more ended than begun", map[int64]func(*testing.T, *Journal){
			0: func(t *testing.T, j *Journal) { complete(t, j, 1); decide(t, j, 0) }}, []int64{10, 20, 30, 40}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			j := open(t, journaltest.New(0).Store(), 1, 4)
			var got []int64
			for now := range int64(45) {
				if act := tc.at[now]; act != nil {
					act(t, j)
				}
				before := j.Stats().Appended
				j.Tick(now * int64(time.Second))
				if j.Stats().Appended != before {
					got = append(got, now)
				}
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("signs of life at %v s, want %v", got, tc.want)
			}
		})
	}
}

// TestManyGoneAtOnce: all who are silent too long are declared gone with one tick, but those without leases.
func TestManyGoneAtOnce(t *testing.T) {
	data := journaltest.New(0)
	a := open(t, data.Store(), 9, 64)
	complete(t, a, 1)
	want := []string(nil)
	for instance := range uint64(6) {
		j := open(t, data.Store(), instance+1, 64)
		lease := decide(t, j, 0)
		if instance == 0 || instance == 1 || instance == 5 {
			complete(t, j, lease)
		} else {
			want = append(want, fmt.Sprint("g", instance+1))
		}
	}
	drain(a)
	for now := range int64(30) {
		a.Tick(now * int64(time.Second))
	}
	expect(t, a)
	a.Tick(30 * int64(time.Second))
	got := drain(a)
	slices.Sort(got)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %v, want %v in any order", got, want)
	}
	if got := len(a.peers.known); got != 0 {
		t.Errorf("%d are known still, want none", got)
	}
}

// TestGoneUnheardOf: a verdict on somebody of whom nothing was read changes nothing.
func TestGoneUnheardOf(t *testing.T) {
	data := journaltest.New(0)
	a, b := open(t, data.Store(), 1, 4), open(t, data.Store(), 2, 4)
	decide(t, a, 0)
	if !a.write(&Event{Kind: Gone, Instance: 77}, nil) {
		t.Fatal("not written")
	}
	expect(t, b, "d1.1", "g77")
	if got := b.peers.known; len(got) != 1 || got[0].instance != 1 || got[0].open != 1 {
		t.Errorf("knows %+v, want instance 1 with a lease", got)
	}
}

// TestPeersAreBounded: of more than can be known the one that was silent longest is forgotten.
func TestPeersAreBounded(t *testing.T) {
	var p peers
	p.init()
	const oldest = maxPeers / 3
	for i := range uint64(maxPeers) {
		p.elapsed = int64(maxPeers-i) + 10
		if i == oldest {
			p.elapsed = 1
		}
		p.read(&Event{Kind: Decision, Instance: i + 1}, 0)
	}
	p.read(&Event{Kind: Decision, Instance: maxPeers + 1}, 0)
	if len(p.known) != maxPeers || p.find(oldest+1) != maxPeers {
		t.Errorf("knows %d, with the oldest at %d; want %d without", len(p.known), p.find(oldest+1), maxPeers)
	}
	for i := range uint64(maxPeers + 1) {
		at := p.find(i + 1)
		if i != oldest && (at == maxPeers || p.known[at].instance != i+1 || p.known[at].open != 1) {
			t.Fatalf("instance %d is at %d, want it with one lease", i+1, at)
		}
	}
}
