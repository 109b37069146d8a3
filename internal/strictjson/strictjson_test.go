package strictjson

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// read parses text, lets use ask for keys, closes the root and returns the mistakes.
func read(text string, use func(o *Object)) []string {
	root, document := Parse([]byte(text), "document")
	use(root)
	root.Close()
	var mistakes Mistakes
	errors.As(document.Err(), &mistakes)
	return mistakes
}

func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("mistakes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{name: "empty object", text: `{}`},
		{name: "white space around", text: " \n{\t}\r "},
		{name: "nothing", text: ``, want: []string{"document: nothing is not valid JSON; pintle validate says where"}},
		{name: "cut short", text: `{"a": [1, 2`,
			want: []string{`document: {"a": [1, 2 is not valid JSON; pintle validate says where`}},
		{name: "two documents", text: `{} {}`,
			want: []string{"document: {} {} is not valid JSON; pintle validate says where"}},
		{name: "a list", text: `[{"a": 1}]`, want: []string{`document: [{"a": 1}] is not an object`}},
		{name: "a number", text: `7`, want: []string{`document: 7 is not an object`}},
		{name: "null", text: `null`, want: []string{`document: null is not an object`}},
		{
			name: "a long text is cut", text: `"` + strings.Repeat("x", 100) + `"`,
			want: []string{`document: "` + strings.Repeat("x", 59) + `... is not an object`},
		},
		{
			name: "and not within a character",
			text: `"` + strings.Repeat("x", 58) + `äöü` + strings.Repeat("x", 100) + `"`,
			want: []string{`document: "` + strings.Repeat("x", 58) + `... is not an object`},
		},
		{name: "white space shrinks", text: "[1,\n\n   2]", want: []string{`document: [1, 2] is not an object`}},
		{name: "unknown key", text: `{"a": 1}`, want: []string{`document: unknown key "a"; no keys are allowed here`}},
		{
			name: "repeated key", text: `{"a": 1, "b": 1, "a": 2}`,
			want: []string{
				`a: is given twice`,
				`document: unknown key "a"; no keys are allowed here`,
				`document: unknown key "b"; no keys are allowed here`,
				`document: unknown key "a"; no keys are allowed here`,
			},
		},
		{
			name: "repeated key, once escaped", text: `{"a": 1, "\u0061": 2}`,
			want: []string{
				`a: is given twice`,
				`document: unknown key "a"; no keys are allowed here`,
				`document: unknown key "a"; no keys are allowed here`,
			},
		},
		{name: "an unknown null", text: `{"a": null}`,
			want: []string{`document: unknown key "a"; no keys are allowed here`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			check(t, read(test.text, func(*Object) {}), test.want...)
		})
	}
}

func TestErr(t *testing.T) {
	_, document := Parse([]byte(`{}`), "document")
	if err := document.Err(); err != nil {
		t.Errorf("no mistakes: error %v, want nil", err)
	}
	_, document = Parse([]byte(`{"a": 1, "a": 2, "b": 1, "b": 2}`), "document")
	if got, want := document.Err().Error(), "a: is given twice\nb: is given twice"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

func TestObject(t *testing.T) {
	tests := []struct {
		name, text  string
		wantPresent bool
		want        []string
	}{
		{name: "present", text: `{"o": {"a": "x"}}`, wantPresent: true},
		{name: "empty", text: `{"o": {}}`, wantPresent: true},
		{name: "absent", text: `{}`},
		{name: "null", text: `{"o": null}`},
		{name: "a list", text: `{"o": [1, 2]}`, want: []string{`o: [1, 2] is not an object`}},
		{name: "a string", text: `{"o": "x"}`, want: []string{`o: "x" is not an object`}},
		{name: "unknown key", text: `{"o": {"b": 1}}`, wantPresent: true,
			want: []string{`o: unknown key "b"; known are a`}},
		{name: "wrong type", text: `{"o": {"a": 1}}`, wantPresent: true, want: []string{`o.a: 1 is not a string`}},
		{name: "repeated key", text: `{"o": {"a": "x", "a": "y"}}`, wantPresent: true,
			want: []string{`o.a: is given twice`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			check(t, read(test.text, func(root *Object) {
				o, a := root.Object("o"), ""
				o.String("a", &a)
				o.Close()
				if o.Present() != test.wantPresent {
					t.Errorf("present %v, want %v", o.Present(), test.wantPresent)
				}
				if o.Path() != "o" {
					t.Errorf("path %q, want o", o.Path())
				}
			}), test.want...)
		})
	}
}

func TestObjects(t *testing.T) {
	tests := []struct {
		name, text string
		wantNames  []string
		want       []string
	}{
		{name: "two", text: `{"l": [{"a": "x"}, {"a": "y"}]}`, wantNames: []string{"x", "y"}},
		{name: "none", text: `{"l": []}`},
		{name: "absent", text: `{}`},
		{name: "null", text: `{"l": null}`},
		{name: "an object", text: `{"l": {"a": "x"}}`, want: []string{`l: {"a": "x"} is not a list`}},
		{name: "a string", text: `{"l": "x"}`, want: []string{`l: "x" is not a list`}},
		{name: "a number in it", text: `{"l": [{"a": "x"}, 3]}`, wantNames: []string{"x", ""},
			want: []string{`l[1]: 3 is not an object`}},
		{name: "a list in it", text: `{"l": [[1, 2]]}`, wantNames: []string{""},
			want: []string{`l[0]: [1, 2] is not an object`}},
		{name: "a null in it", text: `{"l": [null]}`, wantNames: []string{""},
			want: []string{`l[0]: null is not an object`}},
		{name: "unknown key", text: `{"l": [{"a": "x", "b": 1}]}`, wantNames: []string{"x"},
			want: []string{`l[0]: unknown key "b"; known are a`}},
		{name: "wrong type", text: `{"l": [{}, {"a": 1}]}`, wantNames: []string{"", ""},
			want: []string{`l[1].a: 1 is not a string`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var names []string
			check(t, read(test.text, func(root *Object) {
				for _, o := range root.Objects("l") {
					a := ""
					o.String("a", &a)
					o.Close()
					names = append(names, a)
				}
			}), test.want...)
			if !reflect.DeepEqual(names, test.wantNames) {
				t.Errorf("names %q, want %q", names, test.wantNames)
			}
		})
	}
}

func TestHas(t *testing.T) {
	root, document := Parse([]byte(`{"a": false, "b": null, "c": 1, "c": 2}`), "document")
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": false, "": false} {
		if got := root.Has(key); got != want {
			t.Errorf("Has(%q) = %v, want %v", key, got, want)
		}
	}
	root.Close()
	if got := len(document.Err().(Mistakes)); got != 1+4 {
		t.Errorf("%d mistakes, want 5: one repetition, and Has must not count as asking: %v", got, document.Err())
	}
}

func TestMistake(t *testing.T) {
	check(t, read(`{"o": {}}`, func(root *Object) {
		o := root.Object("o")
		root.Mistake("", "of the root")
		root.Mistake("k", "of its key")
		o.Mistake("", "of an object")
		o.Mistake("k", "of that object's key")
		Empty(o).Mistake("k", "of an empty one in its place")
	}), "document: of the root", "k: of its key", "o: of an object", "o.k: of that object's key",
		"o.k: of an empty one in its place")
}

func TestMissing(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"absent", `{}`, `k: is missing; name it`},
		{"null", `{"k": null}`, `k: is missing; name it`},
		{"empty", `{"k": ""}`, `k: is empty; name it`},
		{"wrong already", `{"k": 1}`, `k: 1 is not a string`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			check(t, read(test.text, func(o *Object) {
				k := ""
				o.String("k", &k)
				o.Missing("k", "name it")
			}), test.want)
		})
	}
	check(t, read(`{"ka": 1}`, func(o *Object) {
		ka, k := "", ""
		o.String("ka", &ka)
		o.String("k", &k)
		o.Missing("k", "name it")
	}), "ka: 1 is not a string", "k: is missing; name it")
}

func TestEmpty(t *testing.T) {
	root, _ := Parse([]byte(`{"a": 1}`), "document")
	if empty := Empty(root); empty.Present() || empty.Has("a") {
		t.Errorf("present %v, has a %v; want neither", empty.Present(), empty.Has("a"))
	}
}

func TestKnown(t *testing.T) {
	var (
		text, none string
		flag       bool
		n          = 30
		f          = 0.5
		d          = 2 * time.Second
		list       []string
		pairs      []Pair
	)
	text = "x"
	root, _ := Parse([]byte(`{}`), "document")
	root.String("a", &text)
	root.String("b", &none)
	root.Bool("c", &flag)
	root.Int("d", &n, 0, 90)
	root.Float("e", &f, 0, 1)
	root.Duration("f", &d, 0)
	root.Strings("g", &list)
	root.StringMap("h", &pairs)
	root.Object("i")
	root.Objects("j")
	root.OneOf("k", &text, "x", "y")
	root.OneOf("l", &none, "x", "y")
	root.String("b", &text) // asked for again
	want := []Key{
		{"a", "string", `"x"`}, {"b", "string", ""}, {"c", "boolean", "false"}, {"d", "integer", "30"},
		{"e", "number", "0.5"},
		{"f", "duration", `"2s"`}, {"g", "list of strings", ""}, {"h", "map of strings", ""}, {"i", "object", ""},
		{"j", "list of objects", ""}, {"k", "string", `"x"`}, {"l", "string", ""},
	}
	if got := root.Known(); !reflect.DeepEqual(got, want) {
		t.Errorf("known keys\n%v, want\n%v", got, want)
	}
}

func TestDrop(t *testing.T) {
	root, document := Parse([]byte(`{"a": 1, "b": 2}`), "document")
	if !root.Drop("a") || root.Drop("a") || root.Drop("c") || root.Has("a") || !root.Has("b") {
		t.Errorf("keys: has a %v, has b %v; want b alone, and one key dropped", root.Has("a"), root.Has("b"))
	}
	root.Close()
	check(t, []string{document.Err().Error()}, `document: unknown key "b"; no keys are allowed here`)
}

func TestLabelBy(t *testing.T) {
	long := strings.Repeat("n", 63)
	tests := []struct{ name, text, want string }{
		{"the first key", `{"name": "a", "type": "b"}`, "(a)"},
		{"the second", `{"type": "b"}`, "(b)"},
		{"neither", `{"kind": "b"}`, ""},
		{"all characters", `{"name": "aZ09-_/."}`, "(aZ09-_/.)"},
		{"a blank", `{"name": "a b", "type": "b"}`, "(b)"},
		{"before the hyphen", `{"name": "a,"}`, ""},
		{"after the digits", `{"name": "a:"}`, ""},
		{"after the letters", `{"name": "a{"}`, ""},
		{"before the letters", "{\"name\": \"a`\"}", ""},
		{"beyond ASCII", `{"name": "ä"}`, ""},
		{"empty", `{"name": ""}`, ""},
		{"a number", `{"name": 1}`, ""},
		{"as long as may be", `{"name": "` + long + `"}`, "(" + long + ")"},
		{"longer", `{"name": "` + long + `n"}`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root, _ := Parse([]byte(`{"o": `+test.text+`}`), "document")
			o := root.Object("o")
			o.LabelBy("name", "type")
			if got, want := o.Path(), "o"+test.want; got != want {
				t.Errorf("path: got %q, want %q", got, want)
			}
		})
	}
}

func TestQuoteOfLongTexts(t *testing.T) {
	whole := strings.Repeat("x", 58) // and two quotes
	tests := []struct{ name, text, want string }{
		{"as long as may be", whole, `"` + whole + `"`},
		{"longer", whole + "x", `"` + whole + `x...`},
		{"cut before a letter of two bytes", whole + "ä", `"` + whole + `...`},
		{"cut after it", whole[1:] + "äx", `"` + whole[1:] + `ä...`},
		{"blanks are one", "a \t b", `"a \t b"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Quote(test.text); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
