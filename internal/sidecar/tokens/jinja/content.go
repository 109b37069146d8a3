package jinja

import (
	"errors"
	"slices"
	"strings"
)

// WantsParts reports whether messages' contents are to be lists of parts, as vLLM finds out: whether the template loops
// over the content of a message. Else contents are texts.
//
// Source: vLLM 0.33, how it detects the content format of a chat template.
func (t *Template) WantsParts() bool {
	parts, err := wantsParts(t.body)
	return err == nil && parts
}

// Mentions reports whether the template's source holds a text.
func (t *Template) Mentions(text string) bool { return strings.Contains(t.Source, text) }

// Names reports whether the template reads a variable of that name anywhere.
func (t *Template) Names(id string) (found bool) {
	walk(t.body, func(node any) {
		if n, ok := node.(name); ok && n.id == id {
			found = true
		}
	})
	return found
}

// errTarget is where vLLM gives up, and takes contents for texts.
var errTarget = errors.New("assigns to more than a name")

func wantsParts(body []stmt) (bool, error) {
	var loops []forLoop
	var macros []macro
	var calls []call
	walk(body, func(node any) {
		switch n := node.(type) {
		case forLoop:
			loops = append(loops, n)
		case macro:
			macros = append(macros, n)
		case call:
			calls = append(calls, n)
		}
	})
	lists := assigned(body, "messages")
	var messages []string
	for _, l := range loops {
		if slices.ContainsFunc(lists, func(id string) bool { return isAccess(l.over, id, "") }) {
			target, ok := l.target.(name)
			if !ok {
				return false, errTarget
			}
			messages = append(messages, target.id)
		}
	}
	isContent := func(e expr) bool {
		return slices.ContainsFunc(messages, func(id string) bool { return isAccess(e, id, "content") })
	}
	inMacros, byParameter := macroLoops(macros, calls, isContent)
	for _, l := range loops {
		over, isName := l.over.(name)
		if !isContent(l.over) && !byParameter[l.id] && (inMacros[l.id] || !isName || over.id != "content") {
			continue
		}
		if _, ok := l.target.(name); !ok {
			return false, errTarget
		}
		return true, nil
	}
	return false, nil
}

// assigned are the names that stand for a variable or some of it: a field of a namespace is called ns.field. What else
// is assigned to, such as several names at once, stands for nothing.
func assigned(body []stmt, id string) (ids []string) {
	ids = []string{id}
	add := func(alias string) {
		if !slices.Contains(ids, alias) {
			ids = append(ids, alias)
		}
	}
	for i := 0; i < len(ids); i++ {
		walk(body, func(node any) {
			s, ok := node.(set)
			if !ok || s.of == nil {
				return
			}
			switch target := s.target.(type) {
			case name:
				if isAccess(s.of, ids[i], "") {
					add(target.id)
				}
				for _, field := range fieldsOf(s.of, ids[i]) {
					add(target.id + "." + field)
				}
			case attr:
				if ns, ok := target.of.(name); ok && isAccess(s.of, ids[i], "") {
					add(ns.id + "." + target.name)
				}
			}
		})
	}
	return ids
}

// fieldsOf are the fields for which a new namespace is given a variable or some of it.
func fieldsOf(e expr, id string) (fields []string) {
	c, ok := e.(call)
	if !ok || c.of != any(name{"namespace"}) {
		return nil
	}
	for i, value := range c.args.named {
		if isAccess(value, id, "") {
			fields = append(fields, c.args.names[i])
		}
	}
	return fields
}

// macroLoops tells which loops, by their ids, are in macros, and which of those go over a parameter
// that a message's content is given for.
func macroLoops(macros []macro, calls []call, isContent func(expr) bool) (inside, byParameter map[int]bool) {
	inside, byParameter = map[int]bool{}, map[int]bool{}
	for _, m := range macros {
		params := contentParams(m, calls, isContent)
		walk(m.body, func(node any) {
			if l, ok := node.(forLoop); ok {
				inside[l.id] = true
				if over, ok := l.over.(name); ok && slices.Contains(params, over.id) {
					byParameter[l.id] = true
				}
			}
		})
	}
	return inside, byParameter
}

// contentParams are the parameters of a macro that a message's content is given for.
func contentParams(m macro, calls []call, isContent func(expr) bool) (params []string) {
	for _, c := range calls {
		if of, ok := c.of.(name); !ok || of.id != m.name {
			continue
		}
		for i, e := range c.args.list {
			if i < len(m.params) && isContent(e) {
				params = append(params, m.params[i])
			}
		}
		for i, e := range c.args.named {
			if slices.Contains(m.params, c.args.names[i]) && isContent(e) {
				params = append(params, c.args.names[i])
			}
		}
	}
	return params
}

// isAccess reports whether an expression is a variable, or a key of it if there is one, with filters, tests and slices
// behind it or not.
func isAccess(e expr, id, key string) bool {
	switch e := e.(type) {
	case filter:
		return e.of != nil && isAccess(e.of, id, key)
	case test:
		return !e.not && isAccess(e.of, id, key)
	case item:
		if _, ok := e.key.(slice); ok {
			return isAccess(e.of, id, key)
		}
		c, ok := e.key.(constant)
		return key != "" && ok && c.value == key && isVariable(e.of, id)
	case attr:
		if key != "" {
			return e.name == key && isVariable(e.of, id)
		}
	}
	return key == "" && isVariable(e, id)
}

// isVariable reports whether an expression is a name of assigned.
func isVariable(e expr, id string) bool {
	switch e := e.(type) {
	case name:
		return e.id == id
	case attr:
		ns, ok := e.of.(name)
		return ok && id == ns.id+"."+e.name
	}
	return false
}
