package scorers

import (
	"math"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/scoring"
)

// Labels are read with every request, so no error is made of one that holds no number: strconv's allocate.

// wholeNumber reads a whole number of at most 64 bits, 0 or more.
func wholeNumber(text string) (n int64, ok bool) {
	for i := range len(text) {
		digit := int64(text[i]) - '0'
		if digit < 0 || digit > 9 || n > (math.MaxInt64-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, text != ""
}

// number reads a label that holds a decimal number, NaN when it does not.
func number(e *scoring.Endpoint, label string) float64 {
	text, _ := e.Label(label)
	whole, fraction, _ := strings.Cut(text, ".")
	if whole == "" || strings.Trim(whole, "0123456789") != "" || strings.Trim(fraction, "0123456789") != "" {
		return math.NaN()
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(value, 0) {
		return math.NaN()
	}
	return value
}
