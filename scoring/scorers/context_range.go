package scorers

import (
	"strconv"
	"strings"
)

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
		low, high, ok := strings.Cut(one, "-")
		least, err := strconv.ParseInt(strings.TrimSpace(low), 10, 64)
		if !ok || err != nil || least < 0 {
			return false
		}
		most, err := strconv.ParseInt(strings.TrimSpace(high), 10, 64)
		if err != nil || most < least {
			return false
		}
		visit(contextRange{float64(least), float64(most)})
	}
	return true
}
