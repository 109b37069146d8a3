package jinja

import (
	"math"
	"math/big"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Values are nil, bool, int64, *big.Int (what does not fit into 64 bits), float64, string, []any (a list), Tuple,
// *Dict, and those below.
type (
	// Tuple is a list in parentheses.
	Tuple []any
	// view is what can be gone through again and again, such as the items of a dict.
	view []any
	// once is what can be gone through once, as what map and select make.
	once struct {
		items []any
		gone  bool
		// left says that a loop broke off: how many items are left depends on what it looked at.
		left bool
	}
	// undefined is a name that stands for nothing.
	undefined struct{}
	// markup is text that would be escaped otherwise: it can be written, and little else.
	markup string
	// function is what can be called.
	function func(r *renderer, a callArgs) any
	// namespace has fields that can be set from inner scopes.
	namespace struct{ fields *Dict }
)

// Dict is a dict with its keys in the order in which they came. The zero value is empty.
type Dict struct {
	keys   []any
	values []any
	at     map[any]int
}

// NewDict makes a dict of keys and values.
func NewDict(keysAndValues ...any) *Dict {
	d := &Dict{}
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		d.Set(keysAndValues[i], keysAndValues[i+1])
	}
	return d
}

// hashable is what a key is found by: 1, 1.0 and true are one key.
func hashable(key any) any {
	switch k := key.(type) {
	case nil, string, int64:
		return k
	case bool:
		return asInt(k)
	case float64:
		if k == math.Trunc(k) && math.Abs(k) < 1<<53 {
			return int64(k)
		}
		return k
	}
	fail("%s as a key is not known here", typeName(key))
	return nil
}

func asInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Get returns the value of a key.
func (d *Dict) Get(key any) (any, bool) {
	if i, ok := d.at[hashable(key)]; ok {
		return d.values[i], true
	}
	return nil, false
}

// Set sets the value of a key. A new key is the last one.
func (d *Dict) Set(key, value any) {
	h := hashable(key)
	if i, ok := d.at[h]; ok {
		d.values[i] = value
		return
	}
	if d.at == nil {
		d.at = map[any]int{}
	}
	d.at[h] = len(d.keys)
	d.keys, d.values = append(d.keys, key), append(d.values, value)
}

// Len returns how many keys there are.
func (d *Dict) Len() int { return len(d.keys) }

// Each tells the keys and values in their order.
func (d *Dict) Each(tell func(key, value any)) {
	for i, key := range d.keys {
		tell(key, d.values[i])
	}
}

// whole is an integer, as an int64 if it fits.
func whole(n *big.Int) any {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "None"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case []any:
		return "list"
	case Tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case undefined:
		return "what is undefined"
	}
	return "this"
}

func truth(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case markup:
		return v != ""
	case []any:
		return len(v) > 0
	case Tuple:
		return len(v) > 0
	case view:
		return len(v) > 0
	case *Dict:
		return v.Len() > 0
	}
	return true
}

// list returns what can be gone through.
func list(v any) []any {
	items, ok := items(v)
	if !ok {
		fail("%s cannot be gone through", typeName(v))
	}
	return items
}

func items(v any) ([]any, bool) {
	switch v := v.(type) {
	case undefined:
		return nil, true
	case []any:
		return v, true
	case Tuple:
		return v, true
	case view:
		return v, true
	case *Dict:
		return v.keys, true
	case string:
		all := make([]any, 0, len(v))
		for _, r := range v {
			all = append(all, string(r))
		}
		return all, true
	case *once:
		if v.left {
			fail("what a loop leaves of what map and its like make is not known here")
		}
		if v.gone {
			return nil, true
		}
		v.gone = true
		return v.items, true
	}
	return nil, false
}

// isSpace reports whether Python counts a character as whitespace.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// equal compares as Python does.
func equal(a, b any) bool {
	if isMarkup(a) || isMarkup(b) {
		fail("it is not known here what text that is safe equals")
	}
	if x, ok := numeric(a); ok {
		y, ok := numeric(b)
		return ok && x.compare(y) == 0
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case undefined:
		_, ok := b.(undefined)
		return ok
	case string:
		b, ok := b.(string)
		return ok && a == b
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case Tuple:
		b, ok := b.(Tuple)
		return ok && slices.EqualFunc(a, b, equal)
	case *Dict:
		b, ok := b.(*Dict)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for i, key := range a.keys {
			if other, ok := b.Get(key); !ok || !equal(a.values[i], other) {
				return false
			}
		}
		return true
	}
	fail("it is not known here what %T equals", a)
	return false
}

// less compares what has an order.
func less(a, b any) bool {
	if x, ok := numeric(a); ok {
		if y, ok := numeric(b); ok {
			return x.compare(y) < 0
		}
	}
	x, ok1 := a.(string)
	y, ok2 := b.(string)
	if !ok1 || !ok2 {
		fail("%s and %s have no order", typeName(a), typeName(b))
	}
	return x < y
}

func runes(s string) int { return utf8.RuneCountInString(s) }
