package strictjson

import (
	"math"
	"strconv"

	"github.com/tidwall/gjson"
)

// Int reads a whole number from least to most, both included.
func (o *Object) Int(key string, dst *int, least, most int) {
	n := int64(*dst)
	o.Int64(key, &n, int64(least), int64(most))
	*dst = int(n)
}

// Int64 is Int for numbers that an int may be too short for.
func (o *Object) Int64(key string, dst *int64, least, most int64) {
	v, ok := o.find(key, "integer", strconv.FormatInt(*dst, 10))
	if !ok {
		return
	}
	n, whole := wholeNumber(v)
	if !whole || n < least || n > most {
		o.wrong(key, v, "a whole number from "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10))
		return
	}
	*dst = n
}

// Whole returns the whole number that key holds; ok is false for anything else. It does not count as asking for it.
func (o *Object) Whole(key string) (n int64, ok bool) {
	v, _ := o.peek(key)
	return wholeNumber(v)
}

// mostFloat is up to where a float64 is taken for a whole number. Compilers differ in what they make of those that are
// hardly an int64.
const mostFloat = 1 << 62

// wholeNumber is v, which may be written as 1e+06 or 1.0, as templates and YAML do: then it is a float64's.
func wholeNumber(v gjson.Result) (n int64, ok bool) {
	if v.Type != gjson.Number {
		return 0, false
	}
	if n, err := strconv.ParseInt(v.Raw, 10, 64); err == nil {
		return n, true
	}
	n = int64(max(-mostFloat, min(mostFloat, v.Num)))
	return n, float64(n) == v.Num
}

// Float reads a number from least to most, both included. A most of math.MaxFloat64 is no bound.
func (o *Object) Float(key string, dst *float64, least, most float64) {
	v, ok := o.find(key, "number", formatFloat(*dst))
	if !ok {
		return
	}
	if v.Type != gjson.Number || !(v.Num >= least && v.Num <= most) {
		want := "a number from " + formatFloat(least) + " to " + formatFloat(most)
		if most == math.MaxFloat64 {
			want = "a number, at least " + formatFloat(least)
		}
		o.wrong(key, v, want)
		return
	}
	*dst = v.Num
}

// formatFloat writes a number as people do, without an exponent where that stays short.
func formatFloat(f float64) string {
	if math.Abs(f) < 1e9 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
