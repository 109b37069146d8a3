package jinja

import (
	"maps"
	"slices"
)

// Jinja2 knows which names a body sets before it renders it. One that the body sets first of all, and that no body
// around it has, is undefined until then for the loops and macros in it, whatever it stands for outside.

// refs tells of each name that a body has whether the first thing to happen to it there is that it is set.
type refs map[string]bool

func (r refs) note(id string, set bool) {
	if _, known := r[id]; !known {
		r[id] = set
	}
}

// tell is for walk.
func (r refs) tell(node any) {
	if n, ok := node.(name); ok {
		r.note(n.id, false)
	}
}

func (r refs) read(list ...expr) { walkAll(r.tell, list...) }

func (r refs) target(e expr) {
	switch e := e.(type) {
	case name:
		r.note(e.id, true)
	case attr:
		r.read(e.of)
	case listOf:
		for _, item := range e.items {
			r.target(item)
		}
	}
}

// body notes what happens in a body, and not in those within it that have names of their own.
func (r refs) body(list []stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case output:
			r.read(s.of)
		case ifElse:
			r.branches(s)
		case forLoop:
			r.read(s.over)
		case set:
			r.read(s.of)
			r.target(s.target)
		case macro:
			r.note(s.name, true)
		case callBlock:
			r.read(s.of)
		case with:
			r.read(s.values...)
		}
	}
}

// branches notes no name as set that is only set in a branch.
func (r refs) branches(s ifElse) {
	r.read(s.conds...)
	inner := refs{}
	for _, then := range s.then {
		inner.body(then)
	}
	inner.body(s.other)
	for id := range inner {
		r.note(id, false)
	}
}

// hidden has a body, and those within it, begin with the names that are undefined at first. The params are set before,
// outer tells which names the bodies around it have.
func hidden(body []stmt, params []string, outer func(id string) bool) []stmt {
	own, within := refs{}, refs{}
	for _, id := range params {
		own.note(id, false)
	}
	own.body(body)
	hideAll(body, within, func(id string) bool {
		_, has := own[id]
		return has || outer(id)
	})
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(own)) {
		if _, read := within[id]; read && own[id] && !outer(id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return body
	}
	return append([]stmt{hide{ids}}, body...)
}

// hideAll does so with the bodies within a body, and notes what they read.
func hideAll(body []stmt, within refs, outer func(string) bool) {
	inner := func(list []stmt, params ...string) []stmt {
		walk(list, within.tell)
		return hidden(list, params, outer)
	}
	for i, s := range body {
		switch s := s.(type) {
		case ifElse:
			for _, then := range s.then {
				hideAll(then, within, outer)
			}
			hideAll(s.other, within, outer)
		case forLoop:
			within.read(s.cond)
			s.body, s.other = inner(s.body, append(targets(s.target), "loop")...), inner(s.other)
			body[i] = s
		case set:
			s.body = inner(s.body)
			body[i] = s
		case macro:
			within.read(s.defaults...)
			s.body = inner(s.body, append(s.params, "caller")...)
			body[i] = s
		case callBlock:
			within.read(s.caller.defaults...)
			s.caller.body = inner(s.caller.body, append(s.caller.params, "caller")...)
			body[i] = s
		case filterBlock:
			s.body = inner(s.body)
			body[i] = s
		case with:
			s.body = inner(s.body, targets(s.targets...)...)
			body[i] = s
		case scope:
			s.body = inner(s.body)
			body[i] = s
		}
	}
}

// targets are the names that are set.
func targets(list ...expr) []string {
	r := refs{}
	for _, e := range list {
		r.target(e)
	}
	return slices.Collect(maps.Keys(r))
}
