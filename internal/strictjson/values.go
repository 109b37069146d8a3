package strictjson

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// String reads a string.
func (o *Object) String(key string, dst *string) {
	fallback := ""
	if *dst != "" {
		fallback = strconv.Quote(*dst)
	}
	v, ok := o.find(key, "string", fallback)
	if !ok {
		return
	}
	if v.Type != gjson.String {
		o.wrong(key, v, "a string")
		return
	}
	*dst = v.Str
}

// SecretString is String for a secret: of one that is wrong no value is shown.
func (o *Object) SecretString(key string, dst *string) {
	defer func(before bool) { o.secret = before }(o.secret)
	o.secret = true
	o.String(key, dst)
}

// HeaderName reads the name of an HTTP header, in lower case as HTTP/2 and Envoy have it; what dst held is made so,
// too. An empty one is read like any other: whether that stands for something is the caller's to say.
func (o *Object) HeaderName(key string, dst *string) {
	name := *dst
	o.String(key, &name)
	*dst = strings.ToLower(*dst)
	if name == "" || o.headerName(key, name) {
		*dst = strings.ToLower(name)
	}
}

// HeaderNames reads a list of names as HeaderName reads one, and takes no empty ones.
func (o *Object) HeaderNames(key string, dst *[]string) {
	o.Strings(key, dst)
	names := (*dst)[:0]
	for _, name := range *dst {
		if o.headerName(key, name) {
			names = append(names, strings.ToLower(name))
		}
	}
	*dst = names
}

// headerName reports whether name is one, and notes where it is none.
func (o *Object) headerName(key, name string) bool {
	if IsHeaderName(name) {
		return true
	}
	o.Mistake(key, Quote(name)+" is not the name of a header; one such as x-session-id is right")
	return false
}

// IsHeaderName reports whether name can be that of an HTTP header: a token of RFC 9110, section 5.6.2. The pseudo
// headers of HTTP/2 are none.
func IsHeaderName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return name != ""
}

// OneOf reads a string that must be one of allowed.
func (o *Object) OneOf(key string, dst *string, allowed ...string) {
	fallback := ""
	if *dst != "" {
		fallback = strconv.Quote(*dst)
	}
	v, ok := o.find(key, "string", fallback)
	if !ok {
		return
	}
	if v.Type != gjson.String || !slices.Contains(allowed, v.Str) {
		o.wrong(key, v, "one of "+strings.Join(allowed, ", "))
		return
	}
	*dst = v.Str
}

// Bool reads true or false.
func (o *Object) Bool(key string, dst *bool) {
	v, ok := o.find(key, "boolean", strconv.FormatBool(*dst))
	if !ok {
		return
	}
	if !v.IsBool() {
		o.wrong(key, v, "true or false")
		return
	}
	*dst = v.Bool()
}

// Duration reads a duration as Go writes it, such as "2m" or "1.5s", from least up.
func (o *Object) Duration(key string, dst *time.Duration, least time.Duration) {
	v, ok := o.find(key, "duration", strconv.Quote(dst.String()))
	if !ok {
		return
	}
	d, err := time.ParseDuration(v.Str)
	if v.Type != gjson.String || err != nil || d < least {
		short := max(least, 500*time.Millisecond)
		o.wrong(key, v, `a duration such as "2m" or "`+short.String()+`", at least `+least.String())
		return
	}
	*dst = d
}

// Strings reads a list of strings.
func (o *Object) Strings(key string, dst *[]string) {
	o.list(key, "list of strings", dst, func(item gjson.Result) (text string, ok bool) {
		return item.Str, item.Type == gjson.String
	})
}

// Texts reads a string or a list of strings.
func (o *Object) Texts(key string, dst *[]string) {
	if v, ok := o.peek(key); !ok || v.IsArray() {
		o.Strings(key, dst)
		return
	}
	text := ""
	if o.String(key, &text); text != "" {
		*dst = []string{text}
	}
}

// Scalars reads a list of strings and numbers, as they are written.
func (o *Object) Scalars(key string, dst *[]string) {
	o.list(key, "list of strings and numbers", dst, func(item gjson.Result) (text string, ok bool) {
		if item.Type == gjson.Number {
			return item.Raw, true
		}
		return item.Str, item.Type == gjson.String
	})
}

// Scalar reads a string, or a number as it is written.
func (o *Object) Scalar(key string, dst *string) {
	v, ok := o.find(key, "string or number", "")
	switch {
	case !ok:
	case v.Type == gjson.Number:
		*dst = v.Raw
	case v.Type == gjson.String:
		*dst = v.Str
	default:
		o.wrong(key, v, "a string or a number")
	}
}

// list reads a list of what kind says, each item by read.
func (o *Object) list(key, kind string, dst *[]string, read func(item gjson.Result) (text string, ok bool)) {
	v, ok := o.find(key, kind, "")
	if !ok {
		return
	}
	list := []string{}
	right := v.IsArray()
	v.ForEach(func(_, item gjson.Result) bool {
		text, ok := read(item)
		right = right && ok
		list = append(list, text)
		return right
	})
	if !right {
		o.wrong(key, v, "a "+kind)
		return
	}
	*dst = list
}

// Pair is one entry of a map, in the document's order.
type Pair struct{ Key, Value string }

// StringMap reads an object whose values are all strings.
func (o *Object) StringMap(key string, dst *[]Pair) {
	v, ok := o.find(key, "map of strings", "")
	if !ok {
		return
	}
	if !v.IsObject() {
		o.wrong(key, v, "a map of strings")
		return
	}
	inner := o.document.object(o.at(key), v)
	var pairs []Pair
	for _, m := range inner.members {
		if m.value.Type != gjson.String {
			inner.wrong(m.key, m.value, "a string")
			return
		}
		pairs = append(pairs, Pair{m.key, m.value.Str})
	}
	*dst = pairs
}

// Secret reads an object that holds a secret: of what is wrong in it, or in place of it, no value is shown.
func (o *Object) Secret(key string) *Object {
	v, ok := o.find(key, "object", "")
	if ok && !v.IsObject() {
		o.Mistake(key, "the value is not an object")
	}
	inner := o.document.object(o.at(key), v)
	inner.secret = true
	return inner
}

// Each reads an object whose keys are names, and calls read with each name and what stands there.
func (o *Object) Each(key string, read func(name string, inner *Object)) {
	all := o.Object(key)
	for i := range all.members {
		read(all.members[i].key, all.Object(all.members[i].key))
	}
}

// Object reads an object. It is never nil; an absent one has no members and is not Present.
func (o *Object) Object(key string) *Object {
	v, ok := o.find(key, "object", "")
	if ok && !v.IsObject() {
		o.wrong(key, v, "an object")
	}
	return o.document.object(o.at(key), v)
}

// Objects reads a list of objects.
func (o *Object) Objects(key string) []*Object {
	v, ok := o.find(key, "list of objects", "")
	if !ok {
		return nil
	}
	if !v.IsArray() {
		o.wrong(key, v, "a list")
		return nil
	}
	var list []*Object
	v.ForEach(func(_, item gjson.Result) bool {
		path := o.at(key) + "[" + strconv.Itoa(len(list)) + "]"
		if !item.IsObject() {
			o.document.add(path, excerpt(item.Raw)+" is not an object")
		}
		list = append(list, o.document.object(path, item))
		return true
	})
	return list
}
