package jinja

import (
	"bytes"
	"errors"
	"math/big"
	"sort"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/sidecar/tokens/rawjson"
)

// mostValues bounds the values of a document: each takes some hundred bytes, however short it is there.
const mostValues = 1 << 16

// Decode reads a JSON document with the keys of objects in their order.
func Decode(content []byte) (any, error) {
	d := decoder{Reader: rawjson.New(content)}
	v, err := d.value(mostDepth)
	if err != nil {
		return nil, err
	}
	if !d.AtEnd() {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// decoder is a document that is read, with the number of values that there were.
type decoder struct {
	*rawjson.Reader
	values int
}

func (d *decoder) value(depth int) (any, error) {
	if depth == 0 {
		return nil, errors.New("nests too deep")
	}
	if d.values++; d.values > mostValues {
		return nil, errors.New("has too many values")
	}
	switch d.Peek() {
	case '"':
		return d.String()
	case 'n', 't', 'f':
		return d.Literal()
	case '[':
		all := []any{}
		err := d.Array(func() error {
			v, err := d.value(depth - 1)
			all = append(all, v)
			return err
		})
		return all, err
	case '{':
		all := &Dict{}
		err := d.Object(func(key string) error {
			v, err := d.value(depth - 1)
			all.Set(key, v)
			return err
		})
		return all, err
	}
	return d.number()
}

func (d *decoder) number() (any, error) {
	number, err := d.Number()
	if err != nil {
		return nil, err
	}
	if bytes.ContainsAny(number, ".eE") {
		return strconv.ParseFloat(string(number), 64)
	}
	if len(bytes.TrimPrefix(number, []byte("-"))) > mostDigits {
		return nil, errors.New("a number has too many digits")
	}
	n, ok := new(big.Int).SetString(string(number), 10)
	if !ok {
		return nil, errors.New("no number")
	}
	return whole(n), nil
}

// mostDigits bounds those of an integer, as Python does (sys.int_info.default_max_str_digits): their time is quadratic.
const mostDigits = 4300

// writer writes JSON as Python's json.dumps.
type writer struct {
	strings.Builder
	ascii, sorted bool
	// indent is nil for one line.
	indent     *string
	item, pair string
}

// toJSON is the filter of that name, as transformers have it.
func toJSON(v any, g *given) any {
	w := &writer{ascii: g.flag("ensure_ascii"), item: ", ", pair: ": "}
	switch indent := g.or("indent", nil).(type) {
	case nil:
	case int64:
		if indent > 100 {
			fail("tojson: indent is too large")
		}
		w.item, w.indent = ",", new(string)
		*w.indent = strings.Repeat(" ", max(int(indent), 0))
	case string:
		w.item, w.indent = ",", &indent
	default:
		fail("tojson: indent is neither int nor str")
	}
	if between := g.or("separators", nil); between != nil {
		both := list(between)
		if len(both) != 2 {
			fail("tojson: separators are not two")
		}
		w.item, w.pair = text(both[0]), text(both[1])
	}
	w.sorted = g.flag("sort_keys")
	w.value(v, 0)
	return w.String()
}

func (w *writer) value(v any, depth int) {
	switch v := v.(type) {
	case nil:
		w.WriteString("null")
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case int64, *big.Int:
		w.WriteString(text(v))
	case float64:
		s := float(v)
		if s == "nan" || strings.Contains(s, "inf") {
			fail("tojson: %s is no number of JSON", s)
		}
		w.WriteString(s)
	case string:
		w.str(v)
	case []any:
		w.list(v, depth)
	case Tuple:
		w.list(v, depth)
	case *Dict:
		w.dict(v, depth)
	default:
		fail("tojson: %s cannot be written", typeName(v))
	}
}

func (w *writer) newLine(depth int) {
	if w.indent != nil {
		w.WriteByte('\n')
		w.WriteString(strings.Repeat(*w.indent, depth))
	}
}

func (w *writer) list(items []any, depth int) {
	if len(items) == 0 {
		w.WriteString("[]")
		return
	}
	w.WriteByte('[')
	for i, v := range items {
		if i > 0 {
			w.WriteString(w.item)
		}
		w.newLine(depth + 1)
		w.value(v, depth+1)
	}
	w.newLine(depth)
	w.WriteByte(']')
}

func (w *writer) dict(d *Dict, depth int) {
	if d.Len() == 0 {
		w.WriteString("{}")
		return
	}
	order := make([]int, d.Len())
	for i := range order {
		order[i] = i
	}
	if w.sorted {
		sort.SliceStable(order, func(i, j int) bool { return less(d.keys[order[i]], d.keys[order[j]]) })
	}
	w.WriteByte('{')
	for n, i := range order {
		if n > 0 {
			w.WriteString(w.item)
		}
		w.newLine(depth + 1)
		switch key := d.keys[i].(type) {
		case string:
			w.str(key)
		case nil, bool, int64:
			w.WriteByte('"')
			w.value(key, 0)
			w.WriteByte('"')
		default:
			fail("tojson: %s as a key is not known here", typeName(key))
		}
		w.WriteString(w.pair)
		w.value(d.values[i], depth+1)
	}
	w.newLine(depth)
	w.WriteByte('}')
}

var escapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`}

func (w *writer) str(s string) {
	w.WriteByte('"')
	for _, r := range s {
		switch e, known := escapes[r]; {
		case known:
			w.WriteString(e)
		case r < 0x20 || w.ascii && r >= 0x7f && r < 0x10000:
			w.WriteString(`\u` + hex(r, 4))
		case w.ascii && r >= 0x10000:
			r -= 0x10000
			w.WriteString(`\u` + hex(0xd800+r>>10, 4) + `\u` + hex(0xdc00+r&0x3ff, 4))
		default:
			w.WriteRune(r)
		}
	}
	w.WriteByte('"')
}
