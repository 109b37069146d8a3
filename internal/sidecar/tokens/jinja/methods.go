package jinja

// dictMethods are those of dict that change nothing: templates may not change what they are given.
var dictMethods = map[string]func(*Dict, *given) any{
	"get": func(d *Dict, g *given) any {
		key, other := g.need("key"), g.or("default", nil)
		if v, ok := d.Get(key); ok {
			return v
		}
		return other
	},
	"keys":   func(d *Dict, _ *given) any { return view(d.keys) },
	"values": func(d *Dict, _ *given) any { return view(d.values) },
	"items":  func(d *Dict, _ *given) any { return view(pairs(d)) },
	"copy":   func(d *Dict, _ *given) any { return d },
}

// pairs are the keys with their values.
func pairs(d *Dict) []any {
	all := make([]any, d.Len())
	for i, key := range d.keys {
		all[i] = Tuple{key, d.values[i]}
	}
	return all
}

var listMethods = map[string]func([]any, *given) any{
	"copy": func(l []any, _ *given) any { return l },
	"index": func(l []any, g *given) any {
		v := g.need("value")
		for i, item := range l {
			if equal(item, v) {
				return int64(i)
			}
		}
		fail("index: not found")
		return nil
	},
	"count": func(l []any, g *given) any {
		v, n := g.need("value"), int64(0)
		for _, item := range l {
			if equal(item, v) {
				n++
			}
		}
		return n
	},
}

// globals are the functions of all templates.
var globals map[string]function

func init() {
	globals = map[string]function{
		"raise_exception": func(_ *renderer, a callArgs) any {
			if len(a.list) == 1 {
				fail("the template refuses: %s", text(a.list[0]))
			}
			fail("raise_exception needs a message")
			return nil
		},
		"range": func(r *renderer, a callArgs) any {
			all := span(&given{args: a, of: "range"})
			r.steps += len(all)
			return all
		},
		"dict": func(_ *renderer, a callArgs) any { return dict(a) },
		"namespace": func(_ *renderer, a callArgs) any {
			return &namespace{dict(a)}
		},
		"strftime_now": func(r *renderer, a callArgs) any {
			g := &given{args: a, of: "strftime_now"}
			layout := g.str("format")
			g.end()
			r.timed = true
			return strftime(r.now(), layout)
		},
	}
}

func dict(a callArgs) *Dict {
	d := &Dict{}
	for _, v := range a.list {
		from, ok := v.(*Dict)
		if !ok || len(a.list) > 1 {
			fail("dict of %s is not known here", typeName(v))
		}
		from.Each(d.Set)
	}
	for i, id := range a.named {
		d.Set(id, a.values[i])
	}
	return d
}

// mostRange bounds a range, as Jinja's sandbox does.
const mostRange = 100_000

func span(g *given) view {
	start, stop, step := 0, g.integer("stop", 0), 1
	if len(g.args.list) > 1 {
		start, stop, step = stop, g.integer("stop", 0), g.integer("step", 1)
	}
	g.end()
	if len(g.args.list) == 0 || step == 0 {
		fail("range needs an end, and a step that is not 0")
	}
	var all view
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(all) == mostRange {
			fail("a range is too long")
		}
		all = append(all, int64(i))
	}
	return all
}
