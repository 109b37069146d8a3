package yamldoc

import (
	"fmt"
	"math"
	"strings"
	"testing"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

func TestRead(t *testing.T) {
	tests := []struct{ name, text, json, err string }{
		{"YAML", "a: 1\nb: [x, true]\n", `{"a":1,"b":["x",true]}`, ""},
		{"JSON", `{"a": 1}`, `{"a":1}`, ""},
		{"JSON that escapes what is beyond ASCII", `{"a": "\ud83d\ude00 \\ud83d \u00e4"}`, `{"a":"😀 \\ud83d ä"}`, ""},
		{"JSON that escapes slashes", `{"a": "http:\/\/b \\/"}`, `{"a":"http://b \\/"}`, ""},
		{"half a character", `{"a": "\ud83d"}`, "", "line 1: not valid YAML: found invalid Unicode"},
		{"numbers keep their value", "a: [0.5, 12345678901234, 1e3]", `{"a":[0.5,12345678901234,1000]}`, ""},
		{"tab", "a:\n\t- b", "", "not valid YAML"},
		{"nothing", "", "", ""},
		{"a comment", "# none\n", "", ""},
		{"null", "null\n", "", ""},
		{"anchors", "a: &x {k: v}\nb: *x\n", `{"a":{"k":"v"},"b":{"k":"v"}}`, ""},
		{"merged keys", "a: &x {k: v, l: w}\nb: {<<: *x, m: 1}\n",
			`{"a":{"k":"v","l":"w"},"b":{"k":"v","l":"w","m":1}}`, ""},
		{"a merged key given anew", "a: &x {k: v, l: w}\nb:\n  k: 2\n  <<: *x\n  l: 3\n",
			`{"a":{"k":"v","l":"w"},"b":{"k":2,"l":3}}`, ""},
		{"several merged", "a: &x {k: v}\nb: &y {<<: *x, k: 1, l: 2}\nc: {<<: [*x, *y]}\n",
			`{"a":{"k":"v"},"b":{"k":1,"l":2},"c":{"k":"v","l":2}}`, ""},
		{"merged with no mapping", "a: &x [1]\nb:\n  <<: *x\n", "", "line 3: << is followed by something else"},
		{"twice beside an alias", "a: &x 1\nb: *x\nc:\n  d: 1\n  d: *x\n", "", `line 5: key "d" is given twice`},
		{"an alias in itself", "a: 1\nb: &x\n- *x\n", "", "line 3: an alias stands within what it stands for"},
		{"aliases without end", "a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\n" +
			"c: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c]\n" +
			"e: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e]\n" +
			"g: [*f, *f, *f, *f, *f, *f, *f, *f]\n", "", "aliases make the document too large"},
		{"nothing behind a second ---", "a: 1\n---\n# none\n", `{"a":1}`, ""},
		{"nothing before a second ---", "---\n---\na: 1\n", `{"a":1}`, ""},
		{"nothing but ---", "---\n---\n", "", ""},
		{"two documents", "a: 1\n---\n\nb: 2\n", "", "line 4: another YAML document"},
		{"twice", "a: 1\nb: 2\na: 3\n", "", `line 3: key "a" is given twice`},
		{"twice, once in quotes", "a:\n  1: b\n  \"1\": c\n", "", `line 3: key "1" is given twice`},
		{"two keys twice", "a: 1\na: 3\nb: 2\nb: 2\n", "",
			"line 2: key \"a\" is given twice\nline 4: key \"b\" is given twice"},
		{"syntax", "a: {\n", "", "line 1: not valid YAML: brackets"},
		{"syntax in a second document", "a: 1\n---\nb: {\n", "", "line 3: not valid YAML: brackets"},
		{"infinite", "a: 1\nb: -.inf\n", "", "line 2: -.inf is not a number that there is"},
		{"no number", "a: .NaN\n", "", "line 1: .NaN is not a number"},
		{"a word like it", "a: inf\n", `{"a":"inf"}`, ""},
		{"a list as a key", "a: 1\n[b, c]: 2\n", "", "line 2: a key is a list or a mapping"},
		{"null as a key", "a: 1\n~: s3cret\n", "", "line 2: a key is null; a string is right"},
		{"no key", "a: 1\n? \n: s3cret\n", "", "line 2: a key is null"},
		{"an alias of null as a key", "a: &x\nb: {*x : 1}\n", "", "line 2: a key is null"},
		{"a secret as an anchor", "token: *s3cret\n", "",
			"line 1: not valid YAML: an alias (*name) stands for an anchor"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d, err := Read([]byte(test.text))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("got %v, want %q", err, test.err)
				}
				return
			}
			if err != nil || string(d.JSON) != test.json {
				t.Errorf("got %+v, %v, want %s", d, err, test.json)
			}
		})
	}
}

// TestSyntaxErrors: what is no YAML is said in plain words, with the line on which it is.
func TestSyntaxErrors(t *testing.T) {
	tests := []struct {
		name, text string
		line       int
		words      string
	}{
		{"a tab", "a: 1\nb:\n\t- c\n", 3, tab},
		{"a tab behind blanks", "a:\n  \tb: 1\n", 2, tab},
		{"two colons", "x: 1\na: b: c\n", 2, "a colon follows where no key can be"},
		{"too deep", "a: 1\n  b: 2\n", 2, "a colon follows where no key can be"},
		{"between two depths", "plugins:\n- type: a\n  parameters:\n    x: 1\n   y: 2\nz: 1\n", 5, indentation},
		{"an item deeper than its list", "plugins:\n- type: a\n - type: b\n", 3, indentation},
		{"a key among items", "- a\nb: 2\n", 2, "the line stands among the items of a list"},
		{"a brace", "a: 1\nb: {c: 1\nd: 2\n", 2, unclosed},
		{"a bracket", "a: 1\nb: [c, d\n", 2, unclosed},
		{"a bracket too many", "a: 1\nb: [c]]\nd: 1\n", 2, indentation},
		{"a comma", "a: [{b: 1} {c: 2}]\n", 1, unclosed},
		{"a comma in JSON", "{\n\"a\": [\n{\"b\": 1},\n{\"b\": 2}\n{\"b\": 3}\n]\n}\n", 5, unclosed},
		{"a colon in JSON", "\n{\"a\": 1,\n\"b\" {}\n}\n", 3, unclosed},
		{"a quote in JSON", "{\n\"a\": 1,\n\"b\": \"x,\n\"c\": 3\n}\n", 3, unclosed},
		{"a brace at the end of JSON", "{\n\"a\": {\n\"b\": 1\n}\n", 4, unclosed},
		{"a comma among braces of YAML", "{\n\"a\": 1,\nb: 2\n\"c\": 3}\n", 1, unclosed},
		{"a comment among them", "{\n\"a\": 1, # one\n\"b\": 2\n\"c\": 3}\n", 1, unclosed},
		{"a quote", "a: 1\nb: \"x\nc: 2\nd: 3\n", 2, "a quote is not closed"},
		{"a percent sign", "a: 1\n%sb: 2\n", 2, "a line begins with a percent sign"},
		{"a reserved character", "a: 1\nb: @x\n", 2, "a value begins with a character that has a meaning"},
		{"a star", "a: 1\nb: *\n", 2, "a value begins with * or &"},
		{"an alias", "a: 1\nb: *x\nc: 1\n", 2, "an alias (*name) stands for an anchor"},
		{"an escape", "a: 1\nb: \"\\d\"\n", 2, "a backslash in double quotes"},
		{"a list behind its key", "a: 1\nb: - c\n", 2, "a list begins in the line of its key"},
		{"a key without a colon", "a: 1\nb\nc: 3\n", 2, "a key has no colon"},
		{"no text", "a: 1\nb: \x01\n", 2, notText},
		{"no UTF-8", "a: 1\nb: \xff\n", 2, notText},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read([]byte(test.text))
			if want := fmt.Sprintf("line %d: not valid YAML: %s", test.line, test.words); err == nil ||
				!strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// TestLineInALongText: a mistake is found on its line wherever it stands in a text, and however long that is.
func TestLineInALongText(t *testing.T) {
	rest := strings.Repeat("- {type: queue-scorer, parameters: {}}\n", 4000)
	for _, test := range []struct{ name, text, want string }{
		{"at the beginning", "plugins: @\n" + rest, "line 1: not valid YAML"},
		{"at the end", "plugins:\n" + rest + "- @\n", "line 4002: not valid YAML"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Read([]byte(test.text)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestLocate(t *testing.T) {
	const text = `
number: x
list:
- name: a
- name: 5
  labels:
    example.com/a.b: 1
    example.com: x
    example.com/a: x
unknown: 1
last: z
named:
  name: b
  number: w
  other: 1
`
	d, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	root, document := d.Parse()
	var number, last int
	root.Int("last", &last, 0, 1)
	root.Int("number", &number, 0, math.MaxInt32)
	for _, item := range root.Objects("list") {
		name := ""
		var labels []strictjson.Pair
		item.LabelBy("name")
		item.String("name", &name)
		item.StringMap("labels", &labels)
		item.Close()
		item.Mistake("address", "is missing")
	}
	named, name := root.Object("named"), ""
	named.LabelBy("name")
	named.String("name", &name)
	named.Int("number", &number, 0, 1)
	named.Close()
	root.Close()
	got := d.Locate(document.Err()).Error()
	want := `line 2: number: "x" is not a whole number from 0 to 2147483647
line 4: list[0](a).address: is missing
line 5: list[1].name: 5 is not a string; in quotes it is one
line 5: list[1].address: is missing
line 7: list[1].labels.example.com/a.b: 1 is not a string; in quotes it is one
line 10: unknown key "unknown"; known are last, number, list, named
line 11: last: "z" is not a whole number from 0 to 1
line 14: named(b).number: "w" is not a whole number from 0 to 1
line 15: named(b): unknown key "other"; known are name, number`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	list, err := Read([]byte("- a\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, document = list.Parse()
	if got, want := list.Locate(document.Err()).Error(), `line 1: ["a"] is not an object`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"a: 1", "a: &x [*x]\n<<: *x\n", "? [a]\n: b", "a:\n- b: {c: d}\n", "\xff",
		"a: !!binary x", "'a\nb': 1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Read(text)
		if err != nil {
			return
		}
		root, document := d.Parse()
		var items []string
		for _, item := range root.Objects("a") {
			item.Strings("b", &items)
			item.Close()
		}
		root.Close()
		if err := d.Locate(document.Err()); err != nil && document.Err() != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "line ") {
					t.Errorf("got %q, want a line in front", line)
				}
			}
		}
	})
}

// TestLineEnds: a text with the line ends of Windows is read like another one, with its comments.
func TestLineEnds(t *testing.T) {
	const text = "# above\na: 1 # beside\nb: |\n  x\n  y\n"
	write := func(text string) string {
		roots, err := Nodes([]byte(text))
		if err != nil || len(roots) != 1 {
			t.Fatalf("got %d documents, %v, want 1", len(roots), err)
		}
		out, err := goyaml.Marshal(roots[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	got, want := write(strings.ReplaceAll(text, "\n", "\r\n")), write(text)
	if got != want || !strings.Contains(want, "# above") {
		t.Errorf("got %q, want %q", got, want)
	}
}
