package jinja

import (
	"math/big"
	"strings"
)

// callArgs are the values of arguments.
type callArgs struct {
	list   []any
	named  []string
	values []any
}

func (r *renderer) args(a args) (c callArgs) {
	for _, e := range a.list {
		c.list = append(c.list, r.eval(e))
	}
	c.named = append(c.named, a.names...)
	for _, e := range a.named {
		c.values = append(c.values, r.eval(e))
	}
	return c
}

func (r *renderer) eval(e expr) any {
	r.step()
	switch e := e.(type) {
	case constant:
		return e.value
	case name:
		return r.lookup(e.id)
	case attr:
		return getAttr(r.eval(e.of), e.name)
	case item:
		of := r.eval(e.of)
		if s, ok := e.key.(slice); ok {
			return r.slice(of, s)
		}
		return getItem(of, r.eval(e.key))
	case call:
		f := r.eval(e.of)
		return r.call(f, r.args(e.args))
	case filter:
		of := r.eval(e.of)
		return r.count(filters[e.name](r, of, r.args(e.args)))
	case test:
		of := r.eval(e.of)
		return tests[e.name](r, of, r.args(e.args)) != e.not
	case binary:
		return r.binary(e)
	case compare:
		return r.compare(e)
	case unary:
		return r.unary(e)
	case choice:
		if truth(r.eval(e.cond)) {
			return r.eval(e.then)
		}
		if e.other == nil {
			return undefined{}
		}
		return r.eval(e.other)
	case listOf:
		values := make([]any, len(e.items))
		for i, of := range e.items {
			values[i] = r.eval(of)
		}
		if e.tuple {
			return Tuple(values)
		}
		return values
	case dictOf:
		d := &Dict{}
		for i, key := range e.keys {
			k := r.eval(key)
			d.Set(k, r.eval(e.values[i]))
		}
		return d
	}
	fail("the expression %T is not known here", e)
	return nil
}

// lookup finds what a name stands for.
func (r *renderer) lookup(id string) any {
	if v, ok := r.vars.get(id); ok {
		return v
	}
	if f, ok := globals[id]; ok {
		return f
	}
	switch id {
	case "self", "varargs", "kwargs", "lipsum", "cycler", "joiner":
		fail("%s is not known here", id)
	}
	return undefined{}
}

func (r *renderer) call(f any, a callArgs) any {
	do, ok := f.(function)
	if !ok {
		fail("%s cannot be called", typeName(f))
	}
	return r.count(do(r, a))
}

func (r *renderer) unary(e unary) any {
	v := r.eval(e.of)
	if e.op == "not" {
		return !truth(v)
	}
	n, ok := numeric(v)
	if !ok {
		fail("%s has no sign", typeName(v))
	}
	if e.op == "+" {
		return arithmetic("*", n, num{n: big.NewInt(1)})
	}
	return arithmetic("*", n, num{n: big.NewInt(-1)})
}

func (r *renderer) binary(e binary) any {
	left := r.eval(e.left)
	switch e.op {
	case "or":
		if truth(left) {
			return left
		}
		return r.eval(e.right)
	case "and":
		if !truth(left) {
			return left
		}
		return r.eval(e.right)
	}
	right := r.eval(e.right)
	if e.op == "~" {
		if isMarkup(left) || isMarkup(right) {
			fail("text that is safe cannot be joined here")
		}
		return r.count(text(left) + text(right))
	}
	x, ok1 := numeric(left)
	y, ok2 := numeric(right)
	if ok1 && ok2 {
		if _, literal := e.right.(constant); e.op == "**" && !literal && x.float() < 0 {
			// Of constants Jinja2 makes Python's -2 ** x, which is -(2 ** x).
			fail("a power of what is below 0 is not known here")
		}
		return arithmetic(e.op, x, y)
	}
	if s, ok := left.(string); ok && e.op == "%" {
		return percent(s, right)
	}
	if e.op == "*" && ok2 {
		return repeat(left, y)
	}
	if e.op == "*" && ok1 {
		return repeat(right, x)
	}
	if e.op == "+" {
		return r.count(join(left, right))
	}
	fail("%s %s %s has no meaning", typeName(left), e.op, typeName(right))
	return nil
}

func isMarkup(v any) bool { _, ok := v.(markup); return ok }

// join is + of what are no numbers.
func join(left, right any) any {
	switch l := left.(type) {
	case string:
		if r, ok := right.(string); ok {
			return l + r
		}
	case []any:
		if r, ok := right.([]any); ok {
			return append(append([]any{}, l...), r...)
		}
	case Tuple:
		if r, ok := right.(Tuple); ok {
			return append(append(Tuple{}, l...), r...)
		}
	}
	fail("%s + %s has no meaning", typeName(left), typeName(right))
	return nil
}

func repeat(v any, n num) any {
	if n.isFloat || !n.n.IsInt64() {
		fail("a part of something is not known here")
	}
	times := max(n.n.Int64(), 0)
	var size int64
	switch v := v.(type) {
	case string:
		size = int64(len(v))
	case []any:
		size = int64(len(v))
	default:
		fail("%s cannot be repeated", typeName(v))
	}
	if times > mostOutput || size*times > mostOutput {
		panic(mistake{errLarge})
	}
	if s, ok := v.(string); ok {
		return strings.Repeat(s, int(times))
	}
	all := []any{}
	for range times {
		all = append(all, v.([]any)...)
	}
	return all
}

func (r *renderer) compare(e compare) any {
	left := r.eval(e.first)
	for i, op := range e.ops {
		right := r.eval(e.rest[i])
		var ok bool
		switch op {
		case "==":
			ok = equal(left, right)
		case "!=":
			ok = !equal(left, right)
		case "<":
			ok = less(left, right)
		case ">":
			ok = less(right, left)
		case "<=":
			ok = less(left, right) || equal(left, right)
		case ">=":
			ok = less(right, left) || equal(left, right)
		case "in":
			ok = contains(right, left)
		case "not in":
			ok = !contains(right, left)
		}
		if !ok {
			return false
		}
		left = right
	}
	return true
}

// contains is whether v is in what.
func contains(what, v any) bool {
	switch w := what.(type) {
	case string:
		s, ok := v.(string)
		if !ok {
			fail("%s cannot be in a str", typeName(v))
		}
		return strings.Contains(w, s)
	case *Dict:
		_, ok := w.Get(v)
		return ok
	case []any, Tuple, view, undefined:
		for _, item := range list(what) {
			if equal(item, v) {
				return true
			}
		}
		return false
	}
	fail("nothing can be in %s", typeName(what))
	return false
}
