package jinja

import "strings"

// getAttr is v.id: a method, else a key.
func getAttr(v any, id string) any {
	if strings.HasPrefix(id, "_") {
		fail("%s is not for templates", id)
	}
	switch v := v.(type) {
	case undefined:
		fail("what is undefined has no %s", id)
	case *loopState:
		return v.attr(id)
	case *namespace:
		if f, ok := v.fields.Get(id); ok {
			return f
		}
		return undefined{}
	case string:
		return method(v, id, stringMethods, "capitalize casefold "+
			"center count encode endswith expandtabs find format format_map index "+
			"isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable "+
			"isspace istitle isupper join ljust lower lstrip maketrans partition removeprefix "+
			"removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines "+
			"startswith strip swapcase title translate upper zfill")
	case *Dict:
		m := method(v, id, dictMethods, "clear copy fromkeys get items keys pop popitem setdefault update values")
		if m != (undefined{}) {
			return m
		}
		if f, ok := v.Get(id); ok {
			return f
		}
		return undefined{}
	case []any:
		return method(v, id, listMethods, "append clear copy count extend index insert pop remove reverse sort")
	case Tuple:
		return method([]any(v), id, listMethods, "count index")
	case nil:
		return undefined{}
	default:
		fail("%s.%s is not known here", typeName(v), id)
	}
	return nil
}

// method returns a bound method. One that Python has and this has not is a mistake.
func method[T any](v T, id string, known map[string]func(T, *given) any, all string) any {
	do, ok := known[id]
	if !ok {
		if strings.Contains(" "+all+" ", " "+id+" ") {
			fail("the method %s is not known here", id)
		}
		return undefined{}
	}
	return function(func(_ *renderer, a callArgs) any {
		g := &given{args: a, of: id}
		result := do(v, g)
		g.end()
		return result
	})
}

// getItem is v[key]: a key or an index, else a method.
func getItem(v, key any) any {
	if _, ok := v.(undefined); ok {
		fail("what is undefined has no items")
	}
	if d, ok := v.(*Dict); ok {
		if found, ok := d.Get(key); ok {
			return found
		}
	}
	if n, ok := numeric(key); ok {
		if n.isFloat {
			return undefined{}
		}
		return atIndex(v, n)
	}
	if id, ok := key.(string); ok {
		return getAttr(v, id)
	}
	return undefined{}
}

func atIndex(v any, n num) any {
	var items []any
	switch v := v.(type) {
	case []any:
		items = v
	case Tuple:
		items = v
	case string:
		items = list(v)
	case nil, *Dict, bool, int64, float64:
		return undefined{}
	default:
		fail("the items of this have no numbers here")
	}
	if !n.n.IsInt64() {
		return undefined{}
	}
	i := n.n.Int64()
	if i < 0 {
		i += int64(len(items))
	}
	if i < 0 || i >= int64(len(items)) {
		return undefined{}
	}
	return items[i]
}

// slice is v[start:stop:step].
func (r *renderer) slice(v any, s slice) any {
	bound := func(e expr) (int, bool) {
		if e == nil {
			return 0, false
		}
		v := r.eval(e)
		n, ok := numeric(v)
		if v == nil {
			return 0, false
		}
		if !ok || n.isFloat || !n.n.IsInt64() || n.n.BitLen() > 40 {
			fail("%s is no place in a slice", typeName(v))
		}
		return int(n.n.Int64()), true
	}
	start, hasStart := bound(s.start)
	stop, hasStop := bound(s.stop)
	step, hasStep := bound(s.step)
	if !hasStep {
		step = 1
	}
	if step == 0 {
		fail("a slice has a step of 0")
	}
	var all []any
	switch v := v.(type) {
	case []any:
		all = v
	case Tuple:
		all = v
	case string:
		all = list(v)
	default:
		fail("%s has no slices", typeName(v))
	}
	picked := pick(all, start, stop, step, hasStart, hasStop)
	switch v.(type) {
	case string:
		var b strings.Builder
		for _, c := range picked {
			b.WriteString(c.(string))
		}
		return b.String()
	case Tuple:
		return Tuple(picked)
	}
	return picked
}

func pick(all []any, start, stop, step int, hasStart, hasStop bool) []any {
	low, high := 0, len(all)
	if step < 0 {
		low, high = -1, len(all)-1
	}
	place := func(i int, given bool, other int) int {
		if !given {
			return other
		}
		if i < 0 {
			i += len(all)
		}
		return min(max(i, low), high)
	}
	picked := []any{}
	if step > 0 {
		for i := place(start, hasStart, low); i < place(stop, hasStop, high); i += step {
			picked = append(picked, all[i])
		}
		return picked
	}
	for i := place(start, hasStart, high); i > place(stop, hasStop, low); i += step {
		picked = append(picked, all[i])
	}
	return picked
}

// given takes the arguments of a function one after the other.
type given struct {
	args callArgs
	of   string
	next int
	used int
}

// take returns an argument by its place or name.
func (g *given) take(id string) (any, bool) {
	i := g.next
	g.next++
	if i < len(g.args.list) {
		g.used++
		return g.args.list[i], true
	}
	return g.named(id)
}

// named returns an argument that has no place.
func (g *given) named(id string) (any, bool) {
	for i, known := range g.args.named {
		if known == id {
			g.used++
			return g.args.values[i], true
		}
	}
	return nil, false
}

func (g *given) or(id string, other any) any {
	if v, ok := g.take(id); ok {
		return v
	}
	return other
}

func (g *given) need(id string) any {
	v, ok := g.take(id)
	if !ok {
		fail("%s needs %s", g.of, id)
	}
	return v
}

func (g *given) str(id string) string {
	s, ok := g.need(id).(string)
	if !ok {
		fail("%s: %s is no str", g.of, id)
	}
	return s
}

// integer returns an argument that is a number, other if it is not given.
func (g *given) integer(id string, other int) int {
	v, ok := g.take(id)
	if !ok {
		return other
	}
	n, ok := v.(int64)
	if !ok || n > mostOutput || n < -mostOutput {
		fail("%s: %s is no int", g.of, id)
	}
	return int(n)
}

func (g *given) flag(id string) bool { return truth(g.or(id, false)) }

// end fails when there are arguments that were not taken.
func (g *given) end() {
	if g.used != len(g.args.list)+len(g.args.named) {
		fail("%s has arguments that are not known here", g.of)
	}
}
