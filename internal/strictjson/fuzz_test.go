package strictjson

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// everything is one of each kind of value.
type everything struct {
	String string
	OneOf  string
	Bool   bool
	Int    int
	Float  float64
	// Nanos is written as a duration.
	Nanos   time.Duration
	Strings []string
	Map     []Pair
	Objects []string
}

// readEverything asks o for each of them.
func readEverything(o *Object) everything {
	var e everything
	o.String("string", &e.String)
	o.OneOf("oneOf", &e.OneOf, "a", "b")
	o.Bool("bool", &e.Bool)
	o.Int("int", &e.Int, math.MinInt, math.MaxInt)
	o.Float("float", &e.Float, -math.MaxFloat64, math.MaxFloat64)
	o.Duration("duration", &e.Nanos, math.MinInt64)
	o.Strings("strings", &e.Strings)
	o.StringMap("map", &e.Map)
	inner := o.Object("object")
	inner.Has("x")
	inner.Close()
	for _, item := range o.Objects("objects") {
		name := ""
		item.String("name", &name)
		item.Close()
		e.Objects = append(e.Objects, name)
	}
	o.Close()
	return e
}

// Whatever the bytes, reading them does not panic, ends in mistakes or in what encoding/json reads, and mistakes are
// one line each.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"string": "x", "strings": ["a"]}`, `{"int": 1e400}`, `{"duration": "1m"}`,
		`{"objects": [{}, null, [1]]}`,
		`{"map": {"a": "b"}, "object": {}}`, `{"object": null}`, "{\"string\": \"\xff\"}", `{"string": "\ud800"}`,
		`{"oneOf": "c"}`, `{"map": {"a\nb": 1}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		root, document := Parse(text, "document")
		got := readEverything(root)
		if err := document.Err(); err != nil {
			for _, mistake := range err.(Mistakes) {
				if mistake == "" || strings.ContainsAny(mistake, "\n\r") {
					t.Errorf("%q: mistake %q is not one line", text, mistake)
				}
			}
			return
		}
		// A lone surrogate and what is not UTF-8 are repaired in more than one way.
		if !utf8.Valid(text) || bytes.Contains(bytes.ToLower(text), []byte(`\ud`)) {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("no mistakes in %q, but encoding/json says %v", text, err)
		}
		same(t, text, want["string"], got.String)
		same(t, text, want["bool"], got.Bool)
		same(t, text, want["int"], got.Int)
		same(t, text, want["float"], got.Float)
		if len(got.Strings) > 0 {
			same(t, text, want["strings"], got.Strings)
		}
	})
}

// same checks that encoding/json reads got from raw, if that is there at all.
func same[T any](t *testing.T, text, raw []byte, got T) {
	t.Helper()
	if raw == nil {
		return
	}
	var want T
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Errorf("%q: %q was read without a mistake as %v, but encoding/json says %v", text, raw, got, err)
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q: %q was read as %v, encoding/json reads %v", text, raw, got, want)
	}
}

// What encoding/json writes is read back as it was, without a mistake.
func FuzzReadBack(f *testing.F) {
	f.Add("x", "key", true, 1, 0.5, int64(time.Second))
	f.Add("", "", false, math.MinInt, math.Copysign(0, -1), int64(math.MinInt64))
	f.Add("\u2028<&>\"\\\x00", "a.b[0]", true, math.MaxInt, math.MaxFloat64, int64(-1))
	f.Fuzz(func(t *testing.T, text, key string, flag bool, n int, number float64, nanos int64) {
		if !utf8.ValidString(text) || !utf8.ValidString(key) || math.IsNaN(number) || math.IsInf(number, 0) {
			t.Skip("not for JSON")
		}
		want := everything{
			String: text, OneOf: "b", Bool: flag, Int: n, Float: number, Nanos: time.Duration(nanos),
			Strings: []string{text, key}, Map: []Pair{{key, text}}, Objects: []string{key, text},
		}
		encoded, err := json.Marshal(map[string]any{
			"string": text, "oneOf": "b", "bool": flag, "int": n, "float": number, "duration": want.Nanos.String(),
			"strings": want.Strings, "map": map[string]string{key: text}, "object": map[string]string{},
			"objects": []map[string]string{{"name": key}, {"name": text}},
		})
		if err != nil {
			t.Fatal(err)
		}
		root, document := Parse(encoded, "document")
		got := readEverything(root)
		if err := document.Err(); err != nil {
			t.Fatalf("mistakes in %s: %v", encoded, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nread as %+v\nwant    %+v", encoded, got, want)
		}
	})
}
