package journal

import (
	"encoding/hex"
	"reflect"
	"testing"
)

// TestStepsLayout: each operation is written as FORMAT.md says, and read as far as it is whole.
func TestStepsLayout(t *testing.T) {
	const one, two, three, four = "0100000000000000", "0200000000000000", "0300000000000000", "0400000000000000"
	tests := []struct {
		name  string
		write func(w *StepsWriter)
		want  string
		told  heardSteps
	}{
		{"a profile", func(w *StepsWriter) { w.Profile(2) }, "50" + two, heardSteps{"profile 2"}},
		{"a removal", func(w *StepsWriter) { w.Removed(2, 1, 1) }, "46" + two + "01" + "0180" + one,
			heardSteps{"2 removed 1"}},
		{"a score", func(w *StepsWriter) { w.Scored(2, 1, 1, 0.5) },
			"53" + two + "01" + "0180" + one + "0000003f", heardSteps{"2 scored 1 0.50"}},
		{"a sum", func(w *StepsWriter) { w.Total(1, 1, 2) }, "54" + "01" + "0180" + one + "00000040",
			heardSteps{"total 1 2.00"}},
		{"a pick", func(w *StepsWriter) { w.Picked(1, 1) }, "4b" + "01" + "0180" + one,
			heardSteps{"picked 1"}},
		{"an endpoint that was told", func(w *StepsWriter) {
			w.Picked(1, 1)
			w.Picked(1, 1)
		}, "4b" + "02" + "0180" + one + "0100", heardSteps{"picked 1", "picked 1"}},
		{"scores of another plug-in", func(w *StepsWriter) {
			w.Scored(2, 1, 1, 0)
			w.Scored(3, 1, 1, 0)
		}, "53" + two + "01" + "0180" + one + "00000000" +
			"53" + three + "01" + "0100" + "00000000", heardSteps{"2 scored 1 0.00", "3 scored 1 0.00"}},
		{"the same plug-in in another profile", func(w *StepsWriter) {
			w.Removed(2, 1, 1)
			w.Profile(4)
			w.Removed(2, 1, 1)
		}, "46" + two + "01" + "0180" + one + "50" + four +
			"46" + two + "01" + "0100", heardSteps{"2 removed 1", "profile 4", "2 removed 1"}},
		{"scores and sums of all", func(w *StepsWriter) {
			w.Picked(1, 1)
			w.Candidates(1)
			w.Candidate(0, 1, 1)
			w.Picked(1, 1)
			w.Scores(2, []float64{0.5})
			w.Picked(1, 1)
			w.Totals([]float64{2})
			w.Picked(1, 1)
			w.Totals([]float64{2})
		}, "4b" + "01" + "0180" + one + "43" + "0100" + "0100" + "4b" + "01" + "0100" +
			"73" + two + "0000003f" + "4b" + "01" + "0100" + "74" + "00000040" + "4b" + "01" + "0100" +
			"74" + "00000040", heardSteps{"picked 1", "picked 1", "2 scored 1 0.50", "picked 1", "total 1 2.00",
			"picked 1", "total 1 2.00"}},
		{"no candidates", func(w *StepsWriter) {
			w.Candidates(0)
			w.Scores(2, nil)
			w.Totals(nil)
		}, "", nil},
		{"a list that ends early", func(w *StepsWriter) {
			w.Candidates(2)
			w.Candidate(0, 0, 1)
			w.Candidate(1, 9, 1)
			w.Totals([]float64{2, 3})
		}, "43" + "0100" + "0080" + one + "74" + "00000040", heardSteps{"total 1 2.00"}},
	}
	var w StepsWriter
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w.Reset(2)
			tc.write(&w)
			steps := w.Bytes()
			if got := hex.EncodeToString(steps); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			for n := range len(steps) + 1 {
				var told heardSteps
				ReadSteps(steps[:n], &told)
				whole := n == len(steps)
				if len(told) > len(tc.told) || whole != (len(told) == len(tc.told)) ||
					len(told) > 0 && !reflect.DeepEqual(told, tc.told[:len(told)]) {
					t.Errorf("of %d bytes of %d: told %q, want %q", n, len(steps), told, tc.told)
				}
			}
		})
	}
}

// TestStepsHaveRoom: an operation is written where it has room, and else not at all.
func TestStepsHaveRoom(t *testing.T) {
	two := []float64{1, 2}
	list := func(w *StepsWriter, n int) {
		w.Candidates(n)
		for i := range 2 {
			w.Candidate(i, i, 1)
		}
	}
	tests := []struct {
		name    string
		write   func(w *StepsWriter)
		left    int // bytes
		written int
	}{
		{"a profile", func(w *StepsWriter) { w.Profile(1) }, 33, 9},
		{"no room for a profile", func(w *StepsWriter) { w.Profile(1) }, 32, 0},
		{"a score", func(w *StepsWriter) { w.Scored(1, 0, 1, 1) }, 33, 24},
		{"no room for a score", func(w *StepsWriter) { w.Scored(1, 0, 1, 1) }, 32, 0},
		{"no room for a sum", func(w *StepsWriter) { w.Total(0, 1, 1) }, 32, 0},
		{"two candidates", func(w *StepsWriter) { list(w, 2) }, 23, 23},
		{"one of two", func(w *StepsWriter) { list(w, 2) }, 22, 13},
		{"none of two", func(w *StepsWriter) { list(w, 2) }, 12, 0},
		{"all that there are", func(w *StepsWriter) { list(w, 1) }, 99, 13},
		{"scores of two", func(w *StepsWriter) { w.listed = 2; w.Scores(1, two) }, 17, 17},
		{"no room for scores of two", func(w *StepsWriter) { w.listed = 2; w.Scores(1, two) }, 16, 0},
		{"sums of two", func(w *StepsWriter) { w.listed = 2; w.Totals(two) }, 9, 9},
		{"no room for sums of two", func(w *StepsWriter) { w.listed = 2; w.Totals(two) }, 8, 0},
	}
	var w StepsWriter
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			w.Reset(2)
			w.more(MaxStepsBytes - tc.left)
			tc.write(&w)
			if got := len(w.Bytes()) - (MaxStepsBytes - tc.left); got != tc.written {
				t.Errorf("wrote %d bytes with %d left, want %d", got, tc.left, tc.written)
			}
		})
	}
}

// TestManyEntries: an operation has as many entries as its count can say, and then begins anew.
func TestManyEntries(t *testing.T) {
	var w StepsWriter
	w.Reset(1)
	const most = 255
	var want heardSteps
	for range most + 2 {
		w.Picked(0, 7)
		want = append(want, "picked 7")
	}
	var told heardSteps
	ReadSteps(w.Bytes(), &told)
	if got := len(w.Bytes()); got != 2*2+8+2*(most+2) || !reflect.DeepEqual(told, want) {
		t.Errorf("got %d bytes and %d picks, want %d in two operations", got, len(told), len(want))
	}
}

// TestCandidatesThatFollow: Candidate says whether the list goes on.
func TestCandidatesThatFollow(t *testing.T) {
	var w StepsWriter
	w.Reset(stepNew + 1)
	for _, tc := range []struct {
		name         string
		place, index int
		want         bool
	}{
		{"the first", 0, 3, true}, {"an index as large as can be", 1, stepNew - 1, true}, {"the last", 2, 0, true},
		{"one too many", 3, 1, false}, {"too large an index", 2, stepNew, false},
	} {
		w.Candidates(3)
		if got := w.Candidate(tc.place, tc.index, 1); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}
