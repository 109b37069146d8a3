package rawjson

import (
	"bytes"
	"encoding/json"
	"testing"
)

// values are what is read right or refused as encoding/json does.
var values = []string{`null`, `true`, `false`, `nul`, `truex`, `0`, `-0`, `01`, `-`, `1.`, `.5`, `1.5e+3`, `1e`, `1E5`,
	`""`, `"a"`, `"a`, `"\n"`, `"\x"`, `"\u00e9"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\u12"`, "\"\xff\"", "\"\n\"", `"é日"`,
	`[]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, ` [ 1 , "a" ] `, `[[[]]]`, `[`, `]`, `{}`, `{"a":1}`, `{"a":1,}`, `{"a"}`,
	`{a:1}`, `{"a":{"b":[1,{"c":null}]},"a":2}`, `{"a" : 1 , "\u0062":2}`, `{"a":1}x`, ``, ` `, "\x00", `{"a":1} `,
	"[1\x00]", `"a"b`, "\ufeff1",
	`"\"\\\/\b\f\n\r\t"`, `"\u00E9\uABCD\u0000"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"\ude00\ud83d"`,
	`"\ud83d\n"`, `"é\n日"`, "\"\xff\\n\"", `"0123456789abcdef\n0123456789abcdef"`, "\"0123456789abcdef\n\"",
	"\"01234567\x1f9abcdef\"", `"0123456789\u0041\u00e90123456789é0123456789日0123456789"`, `"0123456789abcdef`}

// read reads a whole value.
func read(r *Reader) (v any, err error) {
	switch r.Peek() {
	case '"':
		return r.String()
	case '[':
		all := []any{}
		err = r.Array(func() error {
			one, err := read(r)
			all = append(all, one)
			return err
		})
		return all, err
	case '{':
		all := map[string]any{}
		err = r.Object(func(key string) error {
			all[key], err = read(r)
			return err
		})
		return all, err
	case 'n', 't', 'f':
		return r.Literal()
	}
	n, err := r.Number()
	return json.Number(n), err
}

func check(t *testing.T, content []byte) {
	t.Helper()
	r := New(content)
	got, err := read(r)
	good := err == nil && r.AtEnd()
	if valid := json.Valid(content); good != valid {
		t.Fatalf("%q: read is %v, valid %v", content, good, valid)
	}
	r = New(content)
	raw, err := r.Skip()
	if skipped := err == nil && r.AtEnd(); skipped != good {
		t.Fatalf("%q: read is %v, skipped %v", content, good, skipped)
	}
	if !good {
		return
	}
	if !bytes.Equal(raw, bytes.Trim(content, " \t\n\r")) {
		t.Errorf("%q: skipped %q", content, raw)
	}
	var want any
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	if err := d.Decode(&want); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(got)
	if b, _ := json.Marshal(want); !bytes.Equal(a, b) {
		t.Errorf("%q: got %s, want %s", content, a, b)
	}
}

// TestAsEncodingJSON: what is valid is read, as the same, and nothing else.
func TestAsEncodingJSON(t *testing.T) {
	for _, v := range values {
		check(t, []byte(v))
		check(t, []byte(`{"k":[`+v+`]}`))
	}
	if _, err := New(bytes.Repeat([]byte("["), 1<<20)).Skip(); err == nil {
		t.Error("a million lists in each other are taken")
	}
}

func FuzzAsEncodingJSON(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if bytes.Count(content, []byte("["))+bytes.Count(content, []byte("{")) < 1000 {
			check(t, content)
		}
	})
}
