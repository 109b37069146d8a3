package yamldoc

import (
	"math"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

func TestRead(t *testing.T) {
	tests := []struct{ name, text, json, err string }{
		{"YAML", "a: 1\nb: [x, true]\n", `{"a":1,"b":["x",true]}`, ""},
		{"JSON", `{"a": 1}`, `{"a":1}`, ""},
		{"numbers keep their value", "a: [0.5, 12345678901234, 1e3]", `{"a":[0.5,12345678901234,1000]}`, ""},
		{"tab", "a:\n\t- b", "", "not valid YAML"},
		{"nothing", "", "", ""},
		{"a comment", "# none\n", "", ""},
		{"null", "null\n", "", ""},
		{"anchors", "a: &x {k: v}\nb: *x\n", `{"a":{"k":"v"},"b":{"k":"v"}}`, ""},
		{"two documents", "a: 1\n---\nb: 2\n", "", "several"},
		{"twice", "a: 1\nb: 2\na: 3\n", "", `line 3: key "a" is given twice`},
		{"two keys twice", "a: 1\na: 3\nb: 2\nb: 2\n", "", "line 2: key \"a\" is given twice\nline 4: key \"b\" is given twice"},
		{"syntax", "a: {\n", "", "not valid YAML: line"},
		{"syntax in a second document", "a: 1\n---\nb: {\n", "", "not valid YAML: line"},
		{"a list as a key", "a: 1\n[b, c]: 2\n", "", "line 2: a key is a list or a mapping"},
		{"a secret as an anchor", "token: *s3cret\n", "", "not valid YAML: unknown anchor ... referenced"},
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

func TestLocate(t *testing.T) {
	const text = `
number: x
list:
- name: a
- name: 5
  labels:
    example.com/a.b: 1
    example.com: x
unknown: 1
last: z
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
	root.Close()
	got := d.Locate(document.Err()).Error()
	want := `line 2: number: "x" is not a whole number from 0 to 2147483647
line 4: list[0](a).address: is missing
line 5: list[1].name: 5 is not a string; in quotes it is one
line 5: list[1].address: is missing
line 7: list[1].labels.example.com/a.b: 1 is not a string; in quotes it is one
line 9: unknown key "unknown"; known are last, number, list
line 10: last: "z" is not a whole number from 0 to 1`
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
	for _, seed := range []string{"a: 1", "a: &x [*x]\n<<: *x\n", "? [a]\n: b", "a:\n- b: {c: d}\n", "\xff", "a: !!binary x", "'a\nb': 1"} {
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
