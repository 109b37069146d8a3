package strictjson

import (
	"math"
	"reflect"
	"testing"
	"time"
)

// A getter is tried on values of its type, at its bounds and of other types. The destination keeps its default unless
// the value is right.
func TestGetters(t *testing.T) {
	getString := func(o *Object) any { v := "default"; o.String("k", &v); return v }
	oneOf := func(o *Object) any { v := "a"; o.OneOf("k", &v, "a", "b"); return v }
	getBool := func(o *Object) any { v := true; o.Bool("k", &v); return v }
	getInt := func(o *Object) any { v := 5; o.Int("k", &v, -1, 10); return v }
	port := func(o *Object) any { v := 8080; o.Int("k", &v, 1024, 65535); return v }
	getInt64 := func(o *Object) any { v := int64(5); o.Int64("k", &v, -1, math.MaxInt64); return v }
	getFloat := func(o *Object) any { v := 0.25; o.Float("k", &v, 0, 1); return v }
	unbounded := func(o *Object) any { v := 0.25; o.Float("k", &v, 0, math.MaxFloat64); return v }
	duration := func(o *Object) any { v := time.Second; o.Duration("k", &v, time.Millisecond); return v }
	longDuration := func(o *Object) any { v := time.Minute; o.Duration("k", &v, time.Second); return v }
	anyDuration := func(o *Object) any { v := time.Second; o.Duration("k", &v, 0); return v }
	scalar := func(o *Object) any { v := "default"; o.Scalar("k", &v); return v }
	header := func(o *Object) any { v := "X-Default"; o.HeaderName("k", &v); return v }
	headers := func(o *Object) any { v := []string{"default"}; o.HeaderNames("k", &v); return v }
	list := func(o *Object) any { v := []string{"default"}; o.Strings("k", &v); return v }
	texts := func(o *Object) any { v := []string{"default"}; o.Texts("k", &v); return v }
	scalars := func(o *Object) any { v := []string{"default"}; o.Scalars("k", &v); return v }
	million := func(o *Object) any { v := 0.25; o.Float("k", &v, 0, 2e6); return v }
	billion := func(o *Object) any { v := 0.25; o.Float("k", &v, 0, 1e9); return v }
	pairs := func(o *Object) any { v := []Pair{{"default", ""}}; o.StringMap("k", &v); return v }
	kept := []string{"default"}
	keptPairs := []Pair{{"default", ""}}
	const noHeader = ` is not the name of a header; one such as x-session-id is right`
	wantDuration := ` is not a duration such as "2m" or "500ms", at least 1ms`
	tests := []struct {
		name    string
		get     func(*Object) any
		value   string // of key k; empty leaves it out
		want    any
		mistake string
	}{
		{"string", getString, `"x"`, "x", ""},
		{"string, empty", getString, `""`, "", ""},
		{"string, escaped", getString, `"a\"\u00e9\n"`, "a\"é\n", ""},
		{"string, absent", getString, ``, "default", ""},
		{"string, null", getString, `null`, "default", ""},
		{"string, number", getString, `1`, "default", `k: 1 is not a string`},
		{"string, boolean", getString, `true`, "default", `k: true is not a string`},
		{"string, list", getString, `["x"]`, "default", `k: ["x"] is not a string`},

		{"header", header, `"X-A_1"`, "x-a_1", ""},
		{"header, the ends of the alphabet", header, `"azAZ"`, "azaz", ""},
		{"header, a zero", header, `"x-0"`, "x-0", ""},
		{"header, all characters", header, "\"a!#$%&'*+-.^_`|~9\"", "a!#$%&'*+-.^_`|~9", ""},
		{"header, absent", header, ``, "x-default", ""},
		{"header, empty", header, `""`, "", ""},
		{"header, number", header, `1`, "x-default", `k: 1 is not a string`},
		{"header, of HTTP/2's own", header, `":path"`, "x-default", `k: ":path"` + noHeader},
		{"header, two words", header, `"a b"`, "x-default", `k: "a b"` + noHeader},
		{"header, beyond ASCII", header, `"xä"`, "x-default", `k: "xä"` + noHeader},
		{"header, between the letters", header, `"x[@"`, "x-default", `k: "x[@"` + noHeader},
		{"header, before the letters", header, `"x@"`, "x-default", `k: "x@"` + noHeader},
		{"header, behind them", header, `"x{"`, "x-default", `k: "x{"` + noHeader},
		{"header, a secret", header, `"Bearer x y"`, "x-default", `k: the value` + noHeader},

		{"headers", headers, `["A", "b"]`, []string{"a", "b"}, ""},
		{"headers, absent", headers, ``, kept, ""},
		{"headers, a string", headers, `"a"`, kept, `k: "a" is not a list of strings`},
		{"headers, one of them none", headers, `["A", "b:", "c"]`, []string{"a", "c"}, `k: "b:"` + noHeader},
		{"headers, one of them empty", headers, `[""]`, []string{}, `k: ""` + noHeader},

		{"one of, first", oneOf, `"a"`, "a", ""},
		{"one of, second", oneOf, `"b"`, "b", ""},
		{"one of, absent", oneOf, ``, "a", ""},
		{"one of, other", oneOf, `"c"`, "a", `k: "c" is not one of a, b`},
		{"one of, other case", oneOf, `"B"`, "a", `k: "B" is not one of a, b`},
		{"one of, empty", oneOf, `""`, "a", `k: "" is not one of a, b`},
		{"one of, number", oneOf, `1`, "a", `k: 1 is not one of a, b`},

		{"bool, false", getBool, `false`, false, ""},
		{"bool, true", getBool, `true`, true, ""},
		{"bool, absent", getBool, ``, true, ""},
		{"bool, null", getBool, `null`, true, ""},
		{"bool, string", getBool, `"false"`, true, `k: "false" is not true or false`},
		{"bool, number", getBool, `0`, true, `k: 0 is not true or false`},

		{"int, least", getInt, `-1`, -1, ""},
		{"int, most", getInt, `10`, 10, ""},
		{"int, absent", getInt, ``, 5, ""},
		{"int, below", getInt, `-2`, 5, `k: -2 is not a whole number from -1 to 10`},
		{"int, above", getInt, `11`, 5, `k: 11 is not a whole number from -1 to 10`},
		{"int, fraction", getInt, `1.5`, 5, `k: 1.5 is not a whole number from -1 to 10`},
		{"int, exponent", getInt, `1e+01`, 10, ""},
		{"int, point", getInt, `3.0`, 3, ""},
		{"int, exponent and fraction", getInt, `25e-1`, 5, `k: 25e-1 is not a whole number from -1 to 10`},
		{"int, below a long bound", port, `1023`, 8080, `k: 1023 is not a whole number from 1024 to 65535`},
		{"int, larger than 64 bits", getInt, `99999999999999999999`, 5,
			`k: 99999999999999999999 is not a whole number from -1 to 10`},
		{"int64, most", getInt64, `9223372036854775807`, int64(math.MaxInt64), ""},
		{"int64, exponent", getInt64, `1e18`, int64(1e18), ""},
		{"int64, exponent, the most", getInt64, `4611686018427387904.0`, int64(1 << 62), ""},
		{"int64, exponent, above", getInt64, `9e18`, int64(5), `k: 9e18 is not a whole number from -1 to 9223372036854775807`},
		{"int64, one more than the most", getInt64, `9223372036854775808`, int64(5),
			`k: 9223372036854775808 is not a whole number from -1 to 9223372036854775807`},
		{"int64, below", getInt64, `-2`, int64(5), `k: -2 is not a whole number from -1 to 9223372036854775807`},
		{"int, string", getInt, `"3"`, 5, `k: "3" is not a whole number from -1 to 10`},
		{"int, boolean", getInt, `true`, 5, `k: true is not a whole number from -1 to 10`},

		{"float, least", getFloat, `0`, 0.0, ""},
		{"float, most", getFloat, `1`, 1.0, ""},
		{"float, exponent", getFloat, `5e-1`, 0.5, ""},
		{"float, absent", getFloat, ``, 0.25, ""},
		{"float, below", getFloat, `-0.1`, 0.25, `k: -0.1 is not a number from 0 to 1`},
		{"float, above", getFloat, `1.0001`, 0.25, `k: 1.0001 is not a number from 0 to 1`},
		{"float, string", getFloat, `"0.5"`, 0.25, `k: "0.5" is not a number from 0 to 1`},
		{"float, no upper bound", unbounded, `1e300`, 1e300, ""},
		{"float, no upper bound, below", unbounded, `-1`, 0.25, `k: -1 is not a number, at least 0`},
		{"float, a long bound", million, `-1`, 0.25, `k: -1 is not a number from 0 to 2000000`},
		{"float, a bound too long to be written out", billion, `-1`, 0.25, `k: -1 is not a number from 0 to 1e+09`},
		{"float, infinite", unbounded, `1e999`, 0.25, `k: 1e999 is not a number, at least 0`},

		{"duration", duration, `"1.5s"`, 1500 * time.Millisecond, ""},
		{"duration, least", duration, `"1ms"`, time.Millisecond, ""},
		{"duration, absent", duration, ``, time.Second, ""},
		{"duration, below", duration, `"999us"`, time.Second, `k: "999us"` + wantDuration},
		{"duration, negative", duration, `"-2m"`, time.Second, `k: "-2m"` + wantDuration},
		{"duration, no unit", duration, `"2"`, time.Second, `k: "2"` + wantDuration},
		{"duration, number", duration, `2`, time.Second, `k: 2` + wantDuration},
		{"duration, below a second", longDuration, `"500ms"`, time.Minute,
			`k: "500ms" is not a duration such as "2m" or "1s", at least 1s`},
		{"duration, words", duration, `"two minutes"`, time.Second, `k: "two minutes"` + wantDuration},
		{"duration, empty", duration, `""`, time.Second, `k: ""` + wantDuration},
		{"duration, none at the least", anyDuration, `"0s"`, time.Duration(0), ""},
		{"duration, none at the least, words", anyDuration, `"soon"`, time.Second,
			`k: "soon" is not a duration such as "2m" or "500ms", at least 0s`},
		{"duration, none at the least, a number", anyDuration, `0`, time.Second,
			`k: 0 is not a duration such as "2m" or "500ms", at least 0s`},

		{"strings", list, `["a", "b"]`, []string{"a", "b"}, ""},
		{"strings, none", list, `[]`, []string{}, ""},
		{"strings, absent", list, ``, kept, ""},
		{"strings, null", list, `null`, kept, ""},
		{"strings, one of them a number", list, `["a", 1]`, kept, `k: ["a", 1] is not a list of strings`},
		{"strings, one of them null", list, `[null, "a"]`, kept, `k: [null, "a"] is not a list of strings`},
		{"strings, a string", list, `"a"`, kept, `k: "a" is not a list of strings`},
		{"strings, an object", list, `{"a": "b"}`, kept, `k: {"a": "b"} is not a list of strings`},

		{"texts, one", texts, `"a"`, []string{"a"}, ""},
		{"texts, two", texts, `["a", "b"]`, []string{"a", "b"}, ""},
		{"texts, empty", texts, `""`, kept, ""},
		{"texts, absent", texts, ``, kept, ""},
		{"texts, a number", texts, `1`, kept, `k: 1 is not a string`},

		{"scalars", scalars, `["a", 1.50, "2"]`, []string{"a", "1.50", "2"}, ""},
		{"scalars, one of them a boolean", scalars, `["a", true]`, kept,
			`k: ["a", true] is not a list of strings and numbers`},

		{"scalar, a string", scalar, `"a"`, "a", ""},
		{"scalar, a number", scalar, `1.50`, "1.50", ""},
		{"scalar, absent", scalar, ``, "default", ""},
		{"scalar, a boolean", scalar, `true`, "default", `k: true is not a string or a number`},

		{"map", pairs, `{"b": "1", "a": "2"}`, []Pair{{"b", "1"}, {"a", "2"}}, ""},
		{"map, empty", pairs, `{}`, []Pair(nil), ""},
		{"map, absent", pairs, ``, keptPairs, ""},
		{"map, null", pairs, `null`, keptPairs, ""},
		{"map, of numbers", pairs, `{"a": "1", "b": 2}`, keptPairs, `k.b: 2 is not a string`},
		{"map, repeated key", pairs, `{"a": "1", "a": "2"}`, []Pair{{"a", "1"}, {"a", "2"}}, `k.a: is given twice`},
		{"map, key of two lines", pairs, `{"a\nb": 2}`, keptPairs, `k."a\nb": 2 is not a string`},
		{"map, list", pairs, `["a"]`, keptPairs, `k: ["a"] is not a map of strings`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := `{}`
			if test.value != "" {
				text = `{"k": ` + test.value + `}`
			}
			var got any
			mistakes := read(text, func(o *Object) { got = test.get(o) })
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %#v, want %#v", got, test.want)
			}
			var want []string
			if test.mistake != "" {
				want = []string{test.mistake}
			}
			check(t, mistakes, want...)
		})
	}
}
