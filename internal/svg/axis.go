package svg

import (
	"math"
	"strconv"
)

// Palette can be told apart by people who do not see all colours: Okabe and Ito, "Color Universal Design", 2008.
var Palette = []string{"#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9"}

// Axis maps values to parts of a length.
type Axis struct {
	From, To    float64
	Logarithmic bool
}

// Decades is a logarithmic axis of whole powers of ten that holds least and most, both above 0.
func Decades(least, most float64) Axis {
	low := math.Floor(math.Log10(least))
	high := max(math.Ceil(math.Log10(most)), low+1)
	return Axis{From: math.Pow(10, low), To: math.Pow(10, high), Logarithmic: true}
}

// Part is where a value stands, 0 to 1. What is outside stands at the end.
func (a Axis) Part(v float64) float64 {
	if a.Logarithmic {
		v, a.From, a.To = math.Log(max(v, a.From)), math.Log(a.From), math.Log(a.To)
	}
	return min(max((v-a.From)/(a.To-a.From), 0), 1)
}

// Ticks are the values that are marked: powers of ten, or about five steps.
func (a Axis) Ticks() []float64 {
	var ticks []float64
	if a.Logarithmic {
		for v := a.From; v < a.To*1.5; v *= 10 {
			ticks = append(ticks, v)
		}
		return ticks
	}
	for i := range 100 {
		v := float64(i) * step(a.To)
		if v > a.To*1.0001 {
			break
		}
		ticks = append(ticks, v)
	}
	return ticks
}

// step is 1, 2 or 5 times a power of ten, a fourth to a tenth of top.
func step(top float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(top/4)))
	for _, factor := range []float64{5, 2} {
		if factor*power <= top/4 {
			return factor * power
		}
	}
	return power
}

// NiceTop is the next step above or at most.
func NiceTop(most float64) float64 {
	if most <= 0 {
		return 1
	}
	return math.Ceil(most/step(most)-1e-9) * step(most)
}

// Number writes a tick's value.
func Number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }
