package scorers

import "strings"

// contextRange is a range of context lengths in tokens, both ends included.
type contextRange struct{ min, max float64 }

func (r contextRange) holds(length float64) bool { return length >= r.min && length <= r.max }

// fit is how well the range suits a length that it holds: narrow is better, and so is room above. pointPosition is the
// share for the position in a range of width 0, which has none.
func (r contextRange) fit(length, pointPosition float64) float64 {
	width := r.max - r.min
	score := 0.7 / (1 + width/10000)
	if width == 0 {
		return score + pointPosition
	}
	return score + 0.3*(r.max-length)/width
}

// eachRange calls visit for every range of a label such as "0-2048,8192-16384". It reports whether all of the label
// can be read; visit may have been called before it turns out not to be.
func eachRange(label string, visit func(contextRange)) bool {
	for more := true; more; {
		var one string
		one, label, more = strings.Cut(label, ",")
		low, high, _ := strings.Cut(one, "-")
		least, ok := wholeNumber(strings.TrimSpace(low))
		if !ok {
			return false
		}
		most, ok := wholeNumber(strings.TrimSpace(high))
		if !ok || most < least {
			return false
		}
		visit(contextRange{float64(least), float64(most)})
	}
	return true
}
