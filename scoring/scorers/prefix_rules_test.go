package scorers

import (
	"math"
	"slices"
	"testing"
)

// best are the places of the best scores.
func best(scores []float64) (places []int) {
	for i, score := range scores {
		if score == slices.Max(scores) {
			places = append(places, i)
		}
	}
	return places
}

// The busiest endpoint has the whole prompt and may be as busy as it likes. It is best unless the load is not balanced.
// The cases are those of AIBrix's own tests, for a limit of 8.
func TestPrefixImbalance(t *testing.T) {
	tests := []struct {
		name   string
		counts []int
		want   []int
	}{
		{"equal", []int{10, 10, 10, 10}, []int{3}},
		{"spread", []int{0, 10, 20}, []int{0}},
		{"two idle", []int{0, 0, 10, 20}, []int{0, 1}},
		{"at the limit", []int{0, 8}, []int{1}},
		{"just above", []int{0, 9}, []int{0}},
		{"single", []int{7}, []int{0}},
		{"idle", []int{0, 0, 0}, []int{2}},
		{"wide", []int{0, 5, 50, 100}, []int{0}},
		{"within", []int{1, 2, 3, 9}, []int{3}},
		{"two at the least", []int{2, 2, 8, 16}, []int{0, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			matched, scores := make([]int32, len(tt.counts)), make([]float64, len(tt.counts))
			matched[len(matched)-1] = 4
			scorePrefix(tt.counts, matched, 4, 8, 1e6, false, scores)
			if got := best(scores); !slices.Equal(got, tt.want) {
				t.Errorf("scores %v: best are %v, want %v", scores, got, tt.want)
			}
		})
	}
}

// The scores themselves, of four endpoints of which the first two have all and 5 of 11 blocks.
func TestPrefixScores(t *testing.T) {
	for _, tt := range []struct {
		name    string
		counts  []int
		matched []int32
		want    []float64
	}{
		{"matches", []int{4, 2, 0, 1}, []int32{11, 5, 0, 0}, []float64{101. / 102, (46 + 0.4) / 102, 0, 0}},
		{"no match", []int{5, 3, 1, 2}, []int32{0, 0, 0, 0}, []float64{0, 0.5, 1, 0.75}},
		{"no match and equal", []int{3, 3, 3, 3}, []int32{0, 0, 0, 0}, []float64{1, 1, 1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := make([]float64, len(tt.counts))
			scorePrefix(tt.counts, tt.matched, 11, 16, 100, false, got)
			for i, want := range tt.want {
				if !(math.Abs(got[i]-want) <= 1e-12) {
					t.Fatalf("scores %v, want %v", got, tt.want)
				}
			}
		})
	}
}

// The cases are those of AIBrix's own tests: percent is of 100 blocks, -1 no match.
func TestPrefixChoice(t *testing.T) {
	tests := []struct {
		name    string
		counts  []int
		percent []int32
		factor  float64
		want    []int
	}{
		{"longest match", []int{5, 10, 15}, []int32{100, 50, 25}, 1, []int{0}},
		{"busy one is passed over", []int{100, 10, 12}, []int32{100, 80, 60}, 1, []int{1}},
		{"equal matches", []int{20, 10, 30}, []int32{50, 50, 50}, 1, []int{1}},
		{"nobody is free enough", []int{11, 12, 13}, []int32{90, 80, 70}, -10, []int{0}},
		{"no match", []int{10, 20}, []int32{0, 0}, 1, []int{0}},
		{"busy but within two deviations", []int{10, 20}, []int32{75, 0}, 2, []int{0}},
		{"five deviations", []int{11, 10, 12}, []int32{100, 90, 80}, 5, []int{0}},
		{"two of four match", []int{1, 2, 3, 4}, []int32{50, 60, 0, 0}, 1, []int{1}},
		{"least busy of equal matches", []int{1, 2, 3, 4}, []int32{50, 50, 50, 0}, 1, []int{0}},
		{"equal in all", []int{1, 1, 1, 4}, []int32{50, 50, 50, 0}, 1, []int{0, 1, 2}},
		{"longest match is too busy", []int{1, 10, 1, 4}, []int32{50, 100, 0, 0}, 1, []int{0}},
		{"at the limit", []int{4, 4, 4}, []int32{0, 10, 0}, 2, []int{1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			scores := make([]float64, len(tt.counts))
			scorePrefix(tt.counts, tt.percent, 100, 1000, tt.factor, false, scores)
			if got := best(scores); !slices.Equal(got, tt.want) {
				t.Errorf("scores %v: best are %v, want %v", scores, got, tt.want)
			}
			for i, score := range scores {
				if score < 0 || score > 1 {
					t.Errorf("score %d is %v", i, score)
				}
			}
		})
	}
}

// When the load is not balanced, AIBrix's code still prefers a match, among the least busy.
func TestPrefixImbalanceOfSource(t *testing.T) {
	counts, matched := []int{0, 0, 20, 21}, []int32{0, 1, 4, 4}
	for _, tt := range []struct {
		source bool
		want   []int
	}{{false, []int{0, 1}}, {true, []int{1}}} {
		scores := make([]float64, len(counts))
		scorePrefix(counts, matched, 4, 8, 1e6, tt.source, scores)
		if got := best(scores); !slices.Equal(got, tt.want) {
			t.Errorf("source %v: scores %v: best are %v, want %v", tt.source, scores, got, tt.want)
		}
	}
}
