package jinja

import "math/big"

// tests are what stands behind "is".
var tests map[string]func(r *renderer, v any, a callArgs) bool

func init() {
	tests = map[string]func(*renderer, any, callArgs) bool{}
	for id, is := range map[string]func(any) bool{
		"defined":   func(v any) bool { _, missing := v.(undefined); return !missing },
		"undefined": func(v any) bool { _, missing := v.(undefined); return missing },
		"none":      func(v any) bool { return v == nil },
		"string":    func(v any) bool { _, ok := v.(string); return ok || isMarkup(v) },
		"number":    func(v any) bool { _, ok := numeric(v); return ok },
		"integer":   isInteger,
		"float":     func(v any) bool { _, ok := v.(float64); return ok },
		"boolean":   func(v any) bool { _, ok := v.(bool); return ok },
		"true":      func(v any) bool { return v == true },
		"false":     func(v any) bool { return v == false },
		"mapping":   func(v any) bool { _, ok := v.(*Dict); return ok },
		"iterable":  isIterable,
		"sequence":  isSequence,
		"callable":  isCallable,
		"odd":       func(v any) bool { return rest(v, 2) == 1 },
		"even":      func(v any) bool { return rest(v, 2) == 0 },
		"upper":     func(v any) bool { return stringMethods["isupper"](plain(v), &given{}).(bool) },
		"lower":     func(v any) bool { return stringMethods["islower"](plain(v), &given{}).(bool) },
	} {
		tests[id] = func(_ *renderer, v any, a callArgs) bool {
			(&given{args: a, of: id}).end()
			return is(v)
		}
	}
	for _, c := range []struct {
		ids []string
		is  func(a, b any) bool
	}{
		{[]string{"eq", "equalto", "=="}, equal},
		{[]string{"ne", "!="}, func(a, b any) bool { return !equal(a, b) }},
		{[]string{"lt", "lessthan", "<"}, less},
		{[]string{"gt", "greaterthan", ">"}, func(a, b any) bool { return less(b, a) }},
		{[]string{"le", "<="}, func(a, b any) bool { return !less(b, a) }},
		{[]string{"ge", ">="}, func(a, b any) bool { return !less(a, b) }},
		{[]string{"in"}, func(a, b any) bool { return contains(b, a) }},
		{[]string{"divisibleby"}, func(a, b any) bool { n, _ := b.(int64); return rest(a, n) == 0 }},
	} {
		for _, id := range c.ids {
			tests[id] = func(_ *renderer, v any, a callArgs) bool {
				g := &given{args: a, of: id}
				other := g.need("other")
				g.end()
				return c.is(v, other)
			}
		}
	}
}

func isInteger(v any) bool {
	switch v.(type) {
	case int64, *big.Int:
		return true
	}
	return false
}

// isCallable holds for what is undefined, too: Jinja2 finds out that it is not when it is called.
func isCallable(v any) bool {
	switch v.(type) {
	case function, undefined:
		return true
	}
	return false
}

func isIterable(v any) bool {
	switch v.(type) {
	case undefined, []any, Tuple, view, *Dict, string, *once:
		return true
	case nil, bool, int64, float64, *big.Int:
		return false
	}
	fail("it is not known here whether %T can be gone through", v)
	return false
}

func isSequence(v any) bool {
	switch v.(type) {
	case undefined, []any, Tuple, *Dict, string:
		return true
	case nil, bool, int64, float64, *big.Int:
		return false
	}
	fail("it is not known here whether %T is a sequence", v)
	return false
}

// rest is what is left of v by n.
func rest(v any, n int64) int64 {
	i, ok := v.(int64)
	if !ok || n <= 0 {
		fail("%s cannot be divided so here", typeName(v))
	}
	return ((i % n) + n) % n
}
