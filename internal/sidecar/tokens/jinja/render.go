// Package jinja renders the templates that models have for chats, as Jinja2 in the settings of transformers does. It
// knows what such templates are made of, with Python's own ways: dicts in the order of their keys, floor division, what
// True looks like. What it does not know is a mistake, when the template is read or when it is rendered, and never
// another text.
//
// Source: the manuals of Jinja2 3.1 and Python; its results are tested against Jinja2's.
package jinja

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Template is a template that was read. It is safe for concurrent use.
type Template struct {
	Source string
	body   []stmt
}

// Parse reads a template. The error says what in it is not known here.
func Parse(source string) (*Template, error) {
	body, err := parse(source)
	if err != nil {
		return nil, err
	}
	return &Template{Source: source, body: hidden(body, nil, func(string) bool { return false })}, nil
}

const (
	// mostSteps and mostOutput bound what a template may do.
	mostSteps  = 2_000_000
	mostOutput = 16 << 20
	mostCalls  = 100
)

// errLarge says that a template does too much.
var errLarge = errors.New("the template does too much")

// Result is what a template makes.
type Result struct {
	Text string
	// Timed says that the text tells the time, and is another one later.
	Timed bool
}

// Render renders a template with the variables. Values are those that Decode makes.
func (t *Template) Render(variables *Dict) (result Result, err error) {
	r := &renderer{out: &strings.Builder{}, vars: &scopeVars{vars: map[string]any{}}, now: time.Now}
	variables.Each(func(key, value any) {
		if id, ok := key.(string); ok {
			r.vars.vars[id] = value
		}
	})
	defer func() {
		switch caught := recover().(type) {
		case nil:
		case mistake:
			result, err = Result{}, caught.error
		default: // a mistake of this package: it costs one text, and not the process
			result, err = Result{}, fmt.Errorf("cannot be rendered: %v", caught)
		}
	}()
	r.inScope(func() { r.run(t.body) })
	return Result{r.out.String(), r.timed}, nil
}

// fail ends rendering.
func fail(format string, values ...any) { panic(mistake{fmt.Errorf(format, values...)}) }

// renderer is one rendering.
type renderer struct {
	out   *strings.Builder
	vars  *scopeVars
	steps int
	made  int // bytes of texts
	calls int
	sets  int // fields of namespaces that were set
	now   func() time.Time
	timed bool
}

// scopeVars are the names of a scope.
type scopeVars struct {
	vars   map[string]any
	parent *scopeVars
}

func (s *scopeVars) get(id string) (any, bool) {
	for ; s != nil; s = s.parent {
		if v, ok := s.vars[id]; ok {
			return v, true
		}
	}
	return nil, false
}

func (r *renderer) inScope(do func()) {
	outer := r.vars
	r.vars = &scopeVars{vars: map[string]any{}, parent: outer}
	do()
	r.vars = outer
}

// capture returns what is written meanwhile.
func (r *renderer) capture(do func()) string {
	outer := r.out
	r.out = &strings.Builder{}
	do()
	text := r.out.String()
	r.out = outer
	return text
}

func (r *renderer) step() {
	if r.steps++; r.steps > mostSteps || r.out.Len() > mostOutput {
		panic(mistake{errLarge})
	}
}

// count counts a text that was made of others.
func (r *renderer) count(v any) any {
	if s, ok := v.(string); ok {
		if r.made += len(s); r.made > 4*mostOutput {
			panic(mistake{errLarge})
		}
	}
	return v
}

// leave says how a body was left.
type leave uint8

const (
	atEnd leave = iota
	byBreak
	byContinue
)

func (r *renderer) run(body []stmt) leave {
	for _, s := range body {
		if how := r.one(s); how != atEnd {
			return how
		}
	}
	return atEnd
}

func (r *renderer) one(s stmt) leave {
	r.step()
	switch s := s.(type) {
	case data:
		r.out.WriteString(s.text)
	case output:
		r.out.WriteString(text(r.eval(s.of)))
	case ifElse:
		for i, cond := range s.conds {
			if truth(r.eval(cond)) {
				return r.run(s.then[i])
			}
		}
		return r.run(s.other)
	case forLoop:
		return r.loop(s)
	case set:
		return r.set(s)
	case macro:
		r.vars.vars[s.name] = r.macro(s, r.vars)
	case callBlock:
		a := r.args(s.of.args)
		a.named = append(a.named, "caller")
		a.values = append(a.values, r.macro(s.caller, r.vars))
		r.out.WriteString(text(r.call(r.eval(s.of.of), a)))
	case filterBlock:
		v, how := r.block(s.body)
		if how != atEnd {
			return how
		}
		r.out.WriteString(text(r.filtered(s.filters, v)))
	case with:
		return r.with(s)
	case scope:
		r.inScope(func() { r.run(s.body) })
	case hide:
		for _, id := range s.ids {
			r.vars.vars[id] = undefined{}
		}
	case jump:
		if s.isBreak {
			return byBreak
		}
		return byContinue
	default:
		fail("the statement %T is not known here", s)
	}
	return atEnd
}

func (r *renderer) with(s with) (how leave) {
	values := make([]any, len(s.values))
	for i, e := range s.values {
		values[i] = r.eval(e)
	}
	r.inScope(func() {
		for i, target := range s.targets {
			r.assign(target, values[i])
		}
		how = r.run(s.body)
	})
	return how
}

func (r *renderer) filtered(list []filter, v any) any {
	for _, f := range list {
		v = filters[f.name](r, v, r.args(f.args))
	}
	return v
}

// block returns what a body with names of its own writes. A jump out of it loses that.
func (r *renderer) block(body []stmt) (text string, how leave) {
	r.inScope(func() { text = r.capture(func() { how = r.run(body) }) })
	return text, how
}

func (r *renderer) set(s set) leave {
	if s.of != nil {
		r.assign(s.target, r.eval(s.of))
		return atEnd
	}
	v, how := r.block(s.body)
	if how == atEnd {
		r.assign(s.target, r.filtered(s.filters, v))
	}
	return how
}

func (r *renderer) assign(target expr, v any) {
	switch to := target.(type) {
	case name:
		r.vars.vars[to.id] = v
	case attr:
		ns, ok := r.eval(to.of).(*namespace)
		if !ok {
			fail("what is no namespace has no fields to be set")
		}
		ns.fields.Set(to.name, v)
		r.sets++
	case listOf:
		values := list(v)
		if len(values) != len(to.items) {
			fail("%d values cannot be assigned to %d names", len(values), len(to.items))
		}
		for i, t := range to.items {
			r.assign(t, values[i])
		}
	}
}

// macro makes a function of a macro, which sees the names of the scope in which it stands.
func (r *renderer) macro(m macro, outer *scopeVars) function {
	return func(r *renderer, a callArgs) any {
		if len(a.list) > len(m.params) {
			fail("%s takes %d arguments at most", m.name, len(m.params))
		}
		if r.calls++; r.calls > mostCalls {
			panic(mistake{errLarge})
		}
		back := r.vars
		r.vars = &scopeVars{vars: map[string]any{}, parent: outer}
		given := map[string]any{}
		for i, id := range a.named {
			given[id] = a.values[i]
		}
		for i, id := range m.params {
			v, named := given[id]
			switch delete(given, id); {
			case i < len(a.list) && named:
				fail("%s gets %s twice", m.name, id)
			case i < len(a.list):
				v = a.list[i]
			case !named && i >= len(m.params)-len(m.defaults):
				v = r.eval(m.defaults[i-len(m.params)+len(m.defaults)])
			case !named:
				v = undefined{}
			}
			r.vars.vars[id] = v
		}
		caller, called := given["caller"]
		if delete(given, "caller"); len(given) > 0 {
			fail("%s has no parameter of that name", m.name)
		}
		if r.vars.vars["caller"] = any(undefined{}); called {
			r.vars.vars["caller"] = caller
		}
		text := r.capture(func() { r.run(m.body) })
		r.vars = back
		r.calls--
		return text
	}
}
