package yamldoc

import (
	"strings"
	"testing"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/strictjson"
)

// TestOf: a part of a text is read as a text of its own would be, and its mistakes have the lines of the whole.
func TestOf(t *testing.T) {
	for _, c := range []struct{ name, text, json, err string }{
		{"a mapping", "x: 1\n---\na: [1, b]\n", `{"a":[1,"b"]}`, ""},
		{"an anchor of its own", "x: 1\n---\na: &y {b: 1}\nc: *y\n", `{"a":{"b":1},"c":{"b":1}}`, ""},
		{"infinite", "x: 1\n---\na: .inf\n", "", "line 3: .inf is not a number that there is; a finite one is right"},
		{"a list as a key", "x: 1\n---\n[a]: 1\n", "", "line 3: a key is a list or a mapping; a string is right"},
		{"twice", "x: 1\n---\na: 1\na: 2\n", "", `line 4: key "a" is given twice`},
	} {
		t.Run(c.name, func(t *testing.T) {
			roots, err := Nodes([]byte(c.text))
			if err != nil || len(roots) != 2 {
				t.Fatalf("got %d documents, %v, want 2", len(roots), err)
			}
			d, err := Of(roots[1])
			switch {
			case c.err != "":
				if err == nil || err.Error() != c.err {
					t.Errorf("got %v, want %s", err, c.err)
				}
			case err != nil || string(d.JSON) != c.json:
				t.Errorf("got %+v, %v, want %s", d, err, c.json)
			}
		})
	}
}

// TestWrittenOut: where a document with aliases is written again, nothing of them is left, and each comment is there
// once.
func TestWrittenOut(t *testing.T) {
	d, err := Read([]byte("a: &x # of a\n  # of b\n  b: 1 # beside b\nc: *x\nd: {<<: *x, e: 2}\n"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := goyaml.Marshal(d.Root())
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	for _, left := range []string{"&", "*", "<<"} {
		if strings.Contains(text, left) {
			t.Errorf("got %q, want it without %s", text, left)
		}
	}
	for _, comment := range []string{"# of b", "# beside b"} {
		if n := strings.Count(text, comment); n != 1 {
			t.Errorf("got %q, want %s once, not %d times", text, comment, n)
		}
	}
}

// TestReadWithin: all of a text that stands in one line is on that line.
func TestReadWithin(t *testing.T) {
	_, err := ReadWithin(7, []byte("a: 1\nb: @\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "line 7: not valid") {
		t.Errorf("got %v, want a mistake on line 7", err)
	}
	d, err := ReadWithin(7, []byte("a: 1\nb: [x, {c: 1}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	mistakes := strictjson.Mistakes{"a: is wrong", "b[1].c: is wrong"}
	if got, want := d.Locate(mistakes).Error(), "line 7: a: is wrong\nline 7: b[1].c: is wrong"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEmptyKey: a key that is empty is on no path.
func TestEmptyKey(t *testing.T) {
	d, err := Read([]byte("a: {b: 1,\n  \"\": 2}\n"))
	if err != nil {
		t.Fatal(err)
	}
	mistakes := strictjson.Mistakes{"a: is wrong", "a.b: is wrong"}
	if got, want := d.Locate(mistakes).Error(), "line 1: a: is wrong\nline 1: a.b: is wrong"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
