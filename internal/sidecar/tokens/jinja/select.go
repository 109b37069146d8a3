package jinja

// mapped is the filter map: of an attribute, or by another filter.
func mapped(r *renderer, v any, a callArgs) any {
	g := &given{args: a, of: "map"}
	if by, ok := g.named("attribute"); ok {
		other, _ := g.named("default")
		g.end()
		return &once{items: each(list(v), func(v any) any {
			found := path(v, by)
			if _, missing := found.(undefined); missing && other != nil { // which None is, too
				return other
			}
			return found
		})}
	}
	if len(a.list) == 0 {
		fail("map needs a filter")
	}
	id, _ := a.list[0].(string)
	do, ok := filters[id]
	if !ok {
		fail("the filter %q is not known here", id)
	}
	a.list = a.list[1:]
	return &once{items: each(list(v), func(v any) any { return do(r, v, a) })}
}

// selecting are the filters select and reject, and those by an attribute.
func selecting(id string, keep, byAttribute bool) func(*renderer, any, callArgs) any {
	return func(r *renderer, v any, a callArgs) any {
		of := func(v any) any { return v }
		if byAttribute {
			if len(a.list) == 0 {
				fail("%s needs an attribute", id)
			}
			by := a.list[0]
			of = func(v any) any { return path(v, by) }
			a.list = a.list[1:]
		}
		holds := func(v any) bool { return truth(v) }
		if len(a.list) > 0 {
			named, _ := a.list[0].(string)
			is, ok := tests[named]
			if !ok {
				fail("the test %q is not known here", named)
			}
			rest := callArgs{list: a.list[1:], named: a.named, values: a.values}
			holds = func(v any) bool { return is(r, v, rest) }
		}
		result := &once{}
		for _, item := range list(v) {
			if holds(of(item)) == keep {
				result.items = append(result.items, item)
			}
		}
		return result
	}
}

func sum(_ *renderer, v any, a callArgs) any {
	g := &given{args: a, of: "sum"}
	by, total := g.or("attribute", nil), g.or("start", int64(0))
	g.end()
	alike := 1 // how many items all releases of Python add alike
	if equal(total, int64(0)) {
		alike = 2
	}
	for i, item := range list(v) {
		if by != nil {
			item = path(item, by)
		}
		x, ok1 := numeric(total)
		y, ok2 := numeric(item)
		if ok1 && ok2 {
			if i >= alike && (x.isFloat || y.isFloat) { // since 3.12 Python adds what rounding took off
				fail("the sum of several numbers that are not all whole is not known here")
			}
			total = arithmetic("+", x, y)
		} else {
			total = join(total, item)
		}
	}
	return total
}

// extreme returns the item before which none comes.
func extreme(id string, before func(a, b any) bool) func(*renderer, any, callArgs) any {
	return func(_ *renderer, v any, a callArgs) any {
		(&given{args: a, of: id}).end()
		var best any = undefined{}
		for i, item := range list(v) {
			if _, isText := item.(string); isText {
				fail("%s of texts is not known here", id)
			}
			if i == 0 || before(item, best) {
				best = item
			}
		}
		return best
	}
}

func unique(v any, g *given) any {
	if g.flag("case_sensitive") {
		fail("unique by case is not known here")
	}
	seen, result := &Dict{}, &once{}
	for _, item := range list(v) {
		key := item
		if s, ok := item.(string); ok {
			key = lower(s)
		}
		if _, known := seen.Get(key); !known {
			seen.Set(key, true)
			result.items = append(result.items, item)
		}
	}
	return result
}

func batch(v any, g *given) any {
	size := g.integer("linecount", 0)
	if size <= 0 {
		fail("batch needs a size")
	}
	items, result := list(v), &once{}
	for len(items) > 0 {
		n := min(size, len(items))
		result.items = append(result.items, append([]any{}, items[:n]...))
		items = items[n:]
	}
	return result
}

// attrOf looks for an attribute that is no key.
func attrOf(v any, g *given) any {
	id := g.str("name")
	if _, ok := v.(*Dict); ok {
		if _, known := dictMethods[id]; !known {
			return undefined{}
		}
	}
	return getAttr(v, id)
}

func formatted(s string, g *given) any {
	g.used = len(g.args.list)
	return percent(s, Tuple(g.args.list))
}
