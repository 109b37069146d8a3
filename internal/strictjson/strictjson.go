// Package strictjson reads configuration documents so that no mistake in them goes unnoticed: unknown keys, repeated
// keys, wrong types and values out of range are collected, each with the path of the key, the value found and what
// would be right.
//
// It needs no reflection and compiles with TinyGo. It is for start-up, not for the request path.
package strictjson

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Document collects the mistakes of one document. Not safe for concurrent use.
type Document struct {
	name     string
	mistakes Mistakes
}

// Parse checks that text is one JSON object and returns it. name stands for the whole document in mistakes.
func Parse(text []byte, name string) (*Object, *Document) {
	d := &Document{name: name}
	if !gjson.ValidBytes(text) {
		d.add("", cmp.Or(excerpt(string(text)), "nothing")+" is not valid JSON; pintle validate says where")
		return d.object("", gjson.Result{}), d
	}
	value := gjson.ParseBytes(text)
	if !value.IsObject() {
		d.add("", excerpt(value.Raw)+" is not an object")
	}
	return d.object("", value), d
}

// Err returns all mistakes found so far, or nil.
func (d *Document) Err() error {
	if len(d.mistakes) == 0 {
		return nil
	}
	return d.mistakes
}

func (d *Document) add(path, text string) {
	if path == "" {
		path = d.name
	}
	d.mistakes = append(d.mistakes, path+": "+text)
}

// object is value as an object, one without members where it is none.
func (d *Document) object(path string, value gjson.Result) *Object {
	o := &Object{document: d, path: path, present: value.IsObject()}
	if !o.present {
		return o
	}
	value.ForEach(func(key, value gjson.Result) bool {
		for i := range o.members {
			if o.members[i].key == key.Str {
				d.add(o.at(key.Str), "is given twice")
			}
		}
		o.members = append(o.members, member{key: key.Str, value: value})
		return true
	})
	return o
}

// Object is one JSON object of a document. A member that is null counts as absent. Getters leave their destination
// alone when the key is absent, so that it keeps its default, or when the value is wrong, which is noted.
type Object struct {
	document *Document
	path     string
	present  bool
	// secret objects hold a secret somewhere: of what is wrong in them no value is shown.
	secret  bool
	members []member
	known   []Key
}

type member struct {
	key   string
	value gjson.Result
	used  bool
}

// Key is one key that a reader asked an object for.
type Key struct {
	Name string
	// Type is what the reader wants: string, boolean, integer, number, duration, list of strings, map of strings,
	// object, list of objects.
	Type string
	// Default is what the destination held, as it would be written in a configuration; empty for none.
	Default string
}

// Empty returns an object without members that notes its mistakes where of does.
func Empty(of *Object) *Object { return of.document.object(of.path, gjson.Result{}) }

// FromPairs is Empty with members that are strings.
func FromPairs(of *Object, pairs []Pair) *Object {
	o := Empty(of)
	for _, p := range pairs {
		value := gjson.Result{Type: gjson.String, Raw: strconv.Quote(p.Value), Str: p.Value}
		o.members = append(o.members, member{key: p.Key, value: value})
	}
	return o
}

// FromText is Empty with the members of a JSON object, which the caller knows to be one.
func FromText(of *Object, text string) *Object { return of.document.object(of.path, gjson.Parse(text)) }

// Present reports whether the object was there at all.
func (o *Object) Present() bool { return o.present }

// Path is where the object stands in its document, as mistakes name it.
func (o *Object) Path() string { return o.path }

// Known returns the keys asked for so far, in order, each once.
func (o *Object) Known() []Key { return o.known }

// Has reports whether key is there and not null. It does not count as asking for it.
func (o *Object) Has(key string) bool {
	for i := range o.members {
		if o.members[i].key == key && o.members[i].value.Type != gjson.Null {
			return true
		}
	}
	return false
}

// Given reports whether key is there, be it null. It does not count as asking for it.
func (o *Object) Given(key string) bool {
	return slices.ContainsFunc(o.members, func(m member) bool { return m.key == key })
}

// Text returns the string that key holds, empty for none. It does not count as asking for it.
func (o *Object) Text(key string) string {
	v, _ := o.peek(key)
	return v.Str
}

// Raw returns the value of key as it is written, empty for none. It does not count as asking for it.
func (o *Object) Raw(key string) string {
	v, _ := o.peek(key)
	return v.Raw
}

// Unasked are the keys that no getter asked for, each once.
func (o *Object) Unasked() (keys []string) {
	for i := range o.members {
		if m := &o.members[i]; !m.used && !slices.Contains(keys, m.key) {
			keys = append(keys, m.key)
		}
	}
	return keys
}

// Drop takes key out of the object, and reports whether it was there.
func (o *Object) Drop(key string) bool {
	before := len(o.members)
	o.members = slices.DeleteFunc(o.members, func(m member) bool { return m.key == key })
	return len(o.members) < before
}

// Member returns the object of key, an empty one for anything else. It does not count as asking for it.
func (o *Object) Member(key string) *Object {
	value, _ := o.peek(key)
	unheard := &Document{}
	return unheard.object(o.at(key), value)
}

// Mentions reports whether text stands anywhere in the values of the object's members.
func (o *Object) Mentions(text string) bool {
	return slices.ContainsFunc(o.members, func(m member) bool { return strings.Contains(m.value.Raw, text) })
}

// LabelBy has the paths of the object and of all in it tell the name that stands in the first of the keys that has one,
// such as plugins[2](queue-scorer).parameters. It does not count as asking for them.
func (o *Object) LabelBy(keys ...string) {
	for _, key := range keys {
		for i := range o.members {
			if m := &o.members[i]; m.key == key && m.value.Type == gjson.String && isName(m.value.Str) {
				o.path += "(" + m.value.Str + ")"
				return
			}
		}
	}
}

// isName reports whether a text can stand in a path: letters, digits, hyphens, underscores, slashes and dots.
func isName(text string) bool {
	for _, c := range []byte(text) {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '-' || c > '9') && c != '_' {
			return false
		}
	}
	return text != "" && len(text) <= 63
}

func (o *Object) at(key string) string {
	// A mistake is one line, whatever the keys of a map hold.
	if strings.ContainsAny(key, "\n\r") {
		key = strconv.Quote(key)
	}
	switch {
	case key == "":
		return o.path
	case o.path == "":
		return key
	}
	return o.path + "." + key
}

// find returns the value of key, and notes that it was asked for.
func (o *Object) find(key, kind, fallback string) (gjson.Result, bool) {
	if !slices.ContainsFunc(o.known, func(k Key) bool { return k.Name == key }) {
		o.known = append(o.known, Key{Name: key, Type: kind, Default: fallback})
	}
	value, found := gjson.Result{}, false
	for i := range o.members {
		m := &o.members[i]
		if m.key != key {
			continue
		}
		m.used = true
		if !found {
			value, found = m.value, true
		}
	}
	return value, found && value.Type != gjson.Null
}

// peek returns the value of key and does not count as asking for it.
func (o *Object) peek(key string) (gjson.Result, bool) {
	for i := range o.members {
		if o.members[i].key == key {
			return o.members[i].value, o.members[i].value.Type != gjson.Null
		}
	}
	return gjson.Result{}, false
}
