package scoring

import (
	"math"
	"slices"
	"testing"
)

// The cases are those of AIBrix's own tests of soft scoring; where less is better the values are negated.
func TestNormalise(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		name         string
		values, want []float64
	}{
		{"most", []float64{10, 20, 30}, []float64{0, 0.5, 1}},
		{"least", []float64{-10, -20, -30}, []float64{1, 0.5, 0}},
		{"one is not scored", []float64{100, 50, nan}, []float64{1, 0, 0}},
		{"none is scored", []float64{nan, nan, nan}, []float64{0, 0, 0}},
		{"equal ones and one that is not scored", []float64{10, 10, nan}, []float64{1, 1, 0}},
		{"infinite", []float64{inf, 20, 10, -inf}, []float64{0, 1, 0, 0}},
		{"requests of the example", []float64{-1, -50, -10}, []float64{1, 0, 1 - 9.0/49}},
		{"tokens of the example", []float64{15, 1500, 150}, []float64{0, 1, 135.0 / 1485}},
		{"nobody", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := slices.Clone(tt.values)
			normalise(got)
			for i := range got {
				if !(math.Abs(got[i]-tt.want[i]) <= 1e-12) {
					t.Fatalf("got %v, want %v", got, tt.want)
				}
			}
		})
	}
}
