package journal

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// heardSteps writes down what a StepsReader is told.
type heardSteps []string

func (h *heardSteps) say(format string, args ...any) { *h = append(*h, fmt.Sprintf(format, args...)) }

func (h *heardSteps) Profile(hash uint64)             { h.say("profile %d", hash) }
func (h *heardSteps) Removed(plugin, endpoint uint64) { h.say("%d removed %d", plugin, endpoint) }
func (h *heardSteps) Scored(plugin, endpoint uint64, s float64) {
	h.say("%d scored %d %.2f", plugin, endpoint, s)
}
func (h *heardSteps) Total(endpoint uint64, total float64) { h.say("total %d %.2f", endpoint, total) }
func (h *heardSteps) Picked(endpoint uint64)               { h.say("picked %d", endpoint) }

func TestSteps(t *testing.T) {
	var w StepsWriter
	for range 2 { // the memory is used again
		w.Reset(3)
		w.Profile(7)
		w.Removed(8, 2, 102)
		for i := range 2 {
			w.Scored(9, i, uint64(100+i), 0.25*float64(i+1))
		}
		w.Scored(10, 0, 100, 1)
		w.Total(1, 101, 2.5)
		w.Profile(11)
		w.Candidates(3)
		w.Candidate(0, 2, 102)
		w.Candidate(1, 0, 100)
		w.Candidate(2, 3, 103) // beyond the pool
		w.Scores(9, []float64{0.25, 0.5})
		w.Scores(10, []float64{1, 0})
		w.Totals([]float64{2.5, 1})
		w.Picked(1, 101)
		w.Picked(0, 100)
		w.Picked(3, 103) // beyond the pool
		want := heardSteps{
			"profile 7", "8 removed 102", "9 scored 100 0.25", "9 scored 101 0.50", "10 scored 100 1.00",
			"total 101 2.50", "profile 11", "9 scored 102 0.25", "9 scored 100 0.50", "10 scored 102 1.00",
			"10 scored 100 0.00", "total 102 2.50", "total 100 1.00", "picked 101", "picked 100",
		}
		for _, kind := range []Kind{Decision, Completion, Refused} {
			e := Event{Kind: kind, Steps: w.Bytes(), Chains: chain(hashes(5))}
			var read Event
			if size, ok := read.Decode(AppendEvent(nil, &e)); !ok || size%8 != 0 ||
				!bytes.Equal(read.Steps, w.Bytes()) {
				t.Fatalf("got %d bytes, %v and %x, want %x", size, ok, read.Steps, w.Bytes())
			}
			var got heardSteps
			if ReadSteps(read.Steps, &got); !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

func TestStepsAreBounded(t *testing.T) {
	var w StepsWriter
	w.Reset(1000)
	for scorer := range uint64(10) {
		for i := range 1000 {
			w.Scored(scorer, i, uint64(i), 0.5)
		}
	}
	if n := len(w.Bytes()); n > MaxStepsBytes || n < MaxStepsBytes-64 {
		t.Errorf("got %d bytes, want %d at most", n, MaxStepsBytes)
	}
	for _, endpoints := range []int{150, 1000} {
		w.Reset(1000)
		w.Candidates(endpoints)
		n := 0
		for w.Candidate(n, n, uint64(n)) && n < endpoints-1 {
			n++
		}
		for scorer := range uint64(10) {
			w.Scores(scorer, make([]float64, 1000))
			w.Totals(make([]float64, 1000))
		}
		if len(w.Bytes()) > MaxStepsBytes {
			t.Errorf("%d candidates: got %d bytes, want %d at most", endpoints, len(w.Bytes()), MaxStepsBytes)
		}
		var got heardSteps
		if ReadSteps(w.Bytes(), &got); len(got)%min(n+1, endpoints) != 0 {
			t.Errorf("%d candidates: got %d steps of %d, want whole lists", endpoints, len(got), n)
		}
	}
	full := Event{Kind: Decision, Chains: chain(hashes(MaxBlocks)), Steps: w.Bytes()}
	encoded := AppendEvent(nil, &full)
	var read Event
	if _, ok := read.Decode(encoded); !ok || len(encoded) > maxEventBytes || len(blocksOf(&read)) != MaxBlocks ||
		!bytes.HasPrefix(w.Bytes(), read.Steps) {
		t.Errorf("got an event of %d bytes with %d blocks, want all of them", len(encoded), len(blocksOf(&read)))
	}
	w.Reset(8)
	if allocated := testing.AllocsPerRun(100, func() { w.Reset(8); w.Scored(1, 2, 3, 0.5) }); allocated != 0 {
		t.Errorf("got %v allocations for a decision, want none", allocated)
	}
}

func FuzzSteps(f *testing.F) {
	var w StepsWriter
	w.Reset(3)
	w.Profile(7)
	w.Removed(8, 2, 102)
	w.Scored(9, 0, 100, 0.5)
	w.Total(0, 100, 0.5)
	w.Candidates(1)
	w.Candidate(0, 1, 101)
	w.Scores(9, []float64{0.5})
	w.Totals([]float64{0.5})
	w.Picked(0, 100)
	f.Add(w.Bytes())
	f.Fuzz(func(t *testing.T, src []byte) {
		var got heardSteps
		if ReadSteps(src, &got); len(got) > len(src) {
			t.Fatalf("got %d steps of %d bytes", len(got), len(src))
		}
	})
}
