package jinja

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// filters are what stands behind |.
var filters map[string]func(r *renderer, v any, a callArgs) any

// simple makes a filter of a function of its arguments.
func simple(id string, do func(v any, g *given) any) func(*renderer, any, callArgs) any {
	return func(_ *renderer, v any, a callArgs) any {
		g := &given{args: a, of: id}
		result := do(v, g)
		g.end()
		return result
	}
}

func init() {
	filters = map[string]func(*renderer, any, callArgs) any{}
	for id, do := range map[string]func(any, *given) any{
		"tojson": toJSON, "default": orDefault, "d": orDefault, "length": length, "count": length, "join": joined,
		"sort": sorted, "dictsort": dictSort, "items": itemsOf, "indent": indent, "int": toInt, "round": round,
		"unique": unique, "batch": batch, "attr": attrOf,
		"upper":      func(v any, _ *given) any { return upper(plain(v)) },
		"lower":      func(v any, _ *given) any { return lower(plain(v)) },
		"capitalize": func(v any, _ *given) any { return capitalize(plain(v)) },
		"float":      toFloat,
		"trim":       func(v any, g *given) any { return strip(plain(v), g.or("chars", nil), true, true) },
		"string":     func(v any, _ *given) any { return plain(v) },
		"safe":       func(v any, _ *given) any { return markup(plain(v)) },
		"list":       func(v any, _ *given) any { return append([]any{}, list(v)...) },
		"first":      first,
		"last":       func(v any, _ *given) any { l := ordered(v); return at(l, len(l)-1) },
		"reverse":    reverse,
		"format":     func(v any, g *given) any { return formatted(plain(v), g) },
		"replace": func(v any, g *given) any {
			s, old, with := plain(v), plain(g.need("old")), plain(g.need("new"))
			return strings.Replace(s, old, with, g.integer("count", -1))
		},
		"abs": func(v any, _ *given) any {
			n, ok := numeric(v)
			if !ok {
				fail("abs: %s is no number", typeName(v))
			}
			if n.isFloat {
				return math.Abs(n.f)
			}
			return whole(new(big.Int).Abs(n.n))
		},
	} {
		filters[id] = simple(id, do)
	}
	filters["map"], filters["sum"] = mapped, sum
	filters["min"], filters["max"] = extreme("min", less), extreme("max", func(a, b any) bool { return less(b, a) })
	for id, keep := range map[string]bool{"select": true, "reject": false} {
		filters[id] = selecting(id, keep, false)
		filters[id+"attr"] = selecting(id+"attr", keep, true)
	}
}

// plain is a value as a string, which is not marked as safe.
func plain(v any) string {
	if isMarkup(v) {
		fail("text that is safe cannot be changed here")
	}
	return text(v)
}

func orDefault(v any, g *given) any {
	other, strict := g.or("default_value", ""), g.flag("boolean")
	if _, missing := v.(undefined); missing || strict && !truth(v) {
		return other
	}
	return v
}

func length(v any, _ *given) any {
	switch v := v.(type) {
	case string:
		return int64(runes(v))
	case []any, Tuple, view, *Dict, undefined:
		return int64(len(list(v)))
	}
	fail("%s has no length", typeName(v))
	return nil
}

func joined(v any, g *given) any {
	between := plain(g.or("d", ""))
	items := list(v)
	if by, ok := g.take("attribute"); ok && by != nil {
		items = each(items, func(v any) any { return path(v, by) })
	}
	parts := make([]string, len(items))
	for i, item := range items {
		parts[i] = plain(item)
	}
	return strings.Join(parts, between)
}

func each(items []any, do func(any) any) []any {
	all := make([]any, len(items))
	for i, v := range items {
		all[i] = do(v)
	}
	return all
}

// path follows an attribute such as a.b.0; what is not there is undefined.
func path(v, by any) any {
	id, ok := by.(string)
	if !ok {
		return getItem(v, by)
	}
	for part := range strings.SplitSeq(id, ".") {
		if n, err := strconv.ParseInt(part, 10, 64); err == nil && n >= 0 {
			v = getItem(v, n)
		} else {
			v = getItem(v, part)
		}
	}
	return v
}

func at(items []any, i int) any {
	if i < 0 || i >= len(items) {
		return undefined{}
	}
	return items[i]
}

// first takes one of what can be gone through once, and leaves the others.
func first(v any, _ *given) any {
	items := list(v)
	if o, ok := v.(*once); ok && len(items) > 1 {
		o.items, o.gone = items[1:], false
	}
	return at(items, 0)
}

// ordered are the items of what can be gone through from behind.
func ordered(v any) []any {
	if _, ok := v.(*once); ok {
		fail("what map and its like make cannot be gone through from behind")
	}
	return list(v)
}

func reverse(v any, _ *given) any {
	items := slices.Clone(ordered(v))
	slices.Reverse(items)
	if _, ok := v.(string); ok {
		return joined(items, &given{})
	}
	return &once{items: items}
}

// sorted sorts without regard to case, unless it is asked for.
func sorted(v any, g *given) any {
	backwards, cased, by := g.flag("reverse"), g.flag("case_sensitive"), g.or("attribute", nil)
	return inOrder(list(v), backwards, cased, func(v any) any {
		if by == nil {
			return v
		}
		return path(v, by)
	})
}

func inOrder(items []any, backwards, cased bool, key func(any) any) []any {
	order := append([]any{}, items...)
	keyed := func(v any) any {
		v = key(v)
		if s, ok := v.(string); ok && !cased {
			return lower(s)
		}
		return v
	}
	slices.SortStableFunc(order, func(a, b any) int {
		x, y := keyed(a), keyed(b)
		if backwards {
			x, y = y, x
		}
		if less(x, y) {
			return -1
		} else if less(y, x) {
			return 1
		}
		return 0
	})
	return order
}

func dictSort(v any, g *given) any {
	d, ok := v.(*Dict)
	cased, by, backwards := g.flag("case_sensitive"), g.or("by", "key"), g.flag("reverse")
	if !ok || by != "key" && by != "value" {
		fail("dictsort of %s is not known here", typeName(v))
	}
	place := map[any]int{"key": 0, "value": 1}[by]
	return inOrder(pairs(d), backwards, cased, func(v any) any { return v.(Tuple)[place] })
}

func itemsOf(v any, _ *given) any {
	if _, missing := v.(undefined); missing {
		return &once{}
	}
	d, ok := v.(*Dict)
	if !ok {
		fail("items of %s are not known here", typeName(v))
	}
	return &once{items: pairs(d)}
}

func indent(v any, g *given) any {
	s, isText := v.(string)
	if !isText {
		fail("indent: %s is no str", typeName(v))
	}
	width := g.or("width", int64(4))
	first, blank := g.flag("first"), g.flag("blank")
	by, ok := width.(string)
	if n, isInt := width.(int64); isInt && n >= 0 && n < 1000 {
		by, ok = strings.Repeat(" ", int(n)), true
	}
	if !ok {
		fail("indent: width is neither int nor str")
	}
	lines := strings.Split(s, "\n")
	if len(splitLines(s)) < len(lines)-1 || strings.ContainsAny(s, "\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029") {
		fail("indent: such lines are not known here")
	}
	for i, line := range lines {
		if i > 0 && (line != "" || blank) || i == 0 && first {
			lines[i] = by + line
		}
	}
	return strings.Join(lines, "\n")
}

func toInt(v any, g *given) any {
	other := g.or("default", int64(0))
	switch v := v.(type) {
	case int64:
		return v
	case bool:
		return asInt(v)
	case float64:
		if math.Abs(v) < 1<<62 {
			return int64(v)
		}
	case string:
		if n, err := strconv.ParseInt(strings.TrimFunc(v, isSpace), 10, 64); err == nil {
			return n
		}
		if all(v, func(r rune) bool { return r >= 'a' && r <= 'z' || r == ' ' }) && v != "nan" && v != "inf" {
			return other
		}
	}
	fail("int of this %s is not known here", typeName(v))
	return nil
}

func toFloat(v any, _ *given) any {
	if n, ok := numeric(v); ok {
		return n.float()
	}
	s, _ := v.(string)
	f, err := strconv.ParseFloat(strings.TrimFunc(s, isSpace), 64)
	if err != nil || strings.ContainsAny(s, "_xXpPnN") {
		fail("float of this %s is not known here", typeName(v))
	}
	return f
}

func round(v any, g *given) any {
	digits := g.integer("precision", 0)
	if g.or("method", "common") != "common" || digits < 0 || digits > 15 {
		fail("round: such rounding is not known here")
	}
	n, ok := numeric(v)
	if !ok || !n.isFloat {
		fail("round of %s is not known here", typeName(v))
	}
	f, _ := strconv.ParseFloat(strconv.FormatFloat(n.f, 'f', digits, 64), 64)
	return f
}
