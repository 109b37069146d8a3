package journal

import (
	"reflect"
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
