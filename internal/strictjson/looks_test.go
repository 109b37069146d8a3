package strictjson

import (
	"errors"
	"reflect"
	"testing"
)

// whole is what Whole returns.
type whole struct {
	N  int64
	OK bool
}

// TestLooks: what looks at an object without asking it for a key finds what is there, and leaves the key unknown.
func TestLooks(t *testing.T) {
	const text = `{"s": "x", "n": 12, "o": {"a": "y"}, "z": null, "twice": 1, "twice": 2}`
	wholeOf := func(o *Object, key string) any { n, ok := o.Whole(key); return whole{n, ok} }
	tests := []struct {
		name string
		look func(o *Object) any
		want any
	}{
		{"text", func(o *Object) any { return o.Text("s") }, "x"},
		{"text of a number", func(o *Object) any { return o.Text("n") }, ""},
		{"text of nothing", func(o *Object) any { return o.Text("q") }, ""},
		{"raw", func(o *Object) any { return o.Raw("o") }, `{"a": "y"}`},
		{"raw of what is there twice", func(o *Object) any { return o.Raw("twice") }, "1"},
		{"raw of nothing", func(o *Object) any { return o.Raw("q") }, ""},
		{"a whole number", func(o *Object) any { return wholeOf(o, "n") }, whole{12, true}},
		{"a string is no whole number", func(o *Object) any { return wholeOf(o, "s") }, whole{}},
		{"a member", func(o *Object) any { return o.Member("o").Text("a") }, "y"},
		{"a member's path", func(o *Object) any { return o.Member("o").Path() }, "o"},
		{"a member that is none", func(o *Object) any { return o.Member("s").Present() }, false},
		{"given", func(o *Object) any { return o.Given("s") }, true},
		{"given as null", func(o *Object) any { return o.Given("z") }, true},
		{"not given", func(o *Object) any { return o.Given("q") }, false},
		{"mentioned within a member", func(o *Object) any { return o.Mentions(`"y"`) }, true},
		{"a key is no mention", func(o *Object) any { return o.Mentions("twice") }, false},
		{"nobody asked", func(o *Object) any { return o.Unasked() }, []string{"s", "n", "o", "z", "twice"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root, document := Parse([]byte(text), "document")
			if got := test.look(root); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %#v, want %#v", got, test.want)
			}
			if known := root.Known(); len(known) != 0 {
				t.Errorf("asked for %v, want nothing", known)
			}
			root.Close()
			var mistakes Mistakes
			if errors.As(document.Err(), &mistakes); len(mistakes) != 1+6 {
				t.Errorf("got %q, want a repetition and six unknown keys", mistakes)
			}
		})
	}
}

func TestUnaskedIsTheRest(t *testing.T) {
	root, _ := Parse([]byte(`{"a": 1, "b": 2, "c": 3, "b": 4}`), "document")
	n := 0
	root.Int("b", &n, 0, 9)
	if got, want := root.Unasked(), []string{"a", "c"}; n != 2 || !reflect.DeepEqual(got, want) {
		t.Errorf("b is %d, unasked %q; want the first, 2, and %q", n, got, want)
	}
}

// TestMistakesOfOthersObjects: objects that are made of texts note their mistakes where the one that they stand for
// does.
func TestMistakesOfOthersObjects(t *testing.T) {
	tests := []struct {
		name string
		of   func(o *Object) *Object
		want []string
	}{
		{"pairs", func(o *Object) *Object { return FromPairs(o, []Pair{{"a", "x"}, {"b", `y"`}}) },
			[]string{`o.b: "y\"" is not one of z`}},
		{"a text", func(o *Object) *Object { return FromText(o, `{"a": "x", "b": 3}`) }, []string{`o.b: 3 is not one of z`}},
		{"nothing", Empty, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, b := "", "z"
			check(t, read(`{"o": {}}`, func(root *Object) {
				o := test.of(root.Object("o"))
				o.String("a", &a)
				o.OneOf("b", &b, "z")
				o.Close()
			}), test.want...)
			if want := map[bool]string{true: "x"}[test.want != nil]; a != want || b != "z" {
				t.Errorf("read %q and %q, want %q and z", a, b, want)
			}
		})
	}
}

// TestEach: each name of an object is read with its object, in the document's order, and what is no object has none.
func TestEach(t *testing.T) {
	var got []string
	check(t, read(`{"e": {"b": {"v": "1"}, "a": 2, "c": {"w": 3}}}`, func(root *Object) {
		root.Each("e", func(name string, o *Object) {
			v := "none"
			o.String("v", &v)
			o.Close()
			got = append(got, name+" "+v)
		})
	}), "e.a: 2 is not an object", `e.c: unknown key "w"; known are v`)
	if want := []string{"b 1", "a none", "c none"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSecrets: of an object that holds a secret no value is shown, whatever is wrong with it.
func TestSecrets(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"right", `{"s": {"a": "hidden"}}`, ""},
		{"absent", `{}`, ""},
		{"null", `{"s": null}`, ""},
		{"in its place", `{"s": "hidden"}`, "s: the value is not an object"},
		{"a value of another type", `{"s": {"a": 54321}}`, "s.a: the value is not a string; in quotes it is one"},
		{"a list", `{"s": {"a": [54321]}}`, "s.a: the value is not a string"},
		{"another key", `{"s": {"b": 54321}}`, `s: unknown key "b"; known are a`},
		{"no blank behind the colon", `{"s": {"a:hidden": null}}`, "s: unknown key without a value; known are a"},
		{"the same where nothing is secret", `{"o": {"a:x": null}}`, `o: unknown key "a:x"; known are a`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			check(t, read(test.text, func(root *Object) {
				for _, o := range []*Object{root.Secret("s"), root.Object("o")} {
					a := ""
					o.String("a", &a)
					o.Close()
				}
			}), want...)
		})
	}
}

// TestQuoteOfSecrets: what looks as if it held a secret is not shown, be it the value of any key.
func TestQuoteOfSecrets(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a token", "Token: x", "the value"},
		{"a token of a URL", "?token=x", "the value"},
		{"a secret", "client_SECRET", "the value"},
		{"a password", "Password x", "the value"},
		{"a header", "authorization", "the value"},
		{"a bearer", "BEARER x", "the value"},
		{"tokens that are counted", "tokens", `"tokens"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Quote(test.text); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	check(t, read(`{"a": ["x", {"token": "hidden"}]}`, func(o *Object) {
		a := ""
		o.String("a", &a)
	}), "a: the value is not a string")
}
