package jinja

// walk tells all statements and expressions of a body, each before what it is made of.
func walk(body []stmt, tell func(node any)) {
	for _, s := range body {
		tell(s)
		switch s := s.(type) {
		case output:
			walkAll(tell, s.of)
		case ifElse:
			for i, cond := range s.conds {
				walkAll(tell, cond)
				walk(s.then[i], tell)
			}
			walk(s.other, tell)
		case forLoop:
			walkAll(tell, s.target, s.over)
			walk(s.body, tell)
			walk(s.other, tell)
			walkAll(tell, s.cond)
		case set:
			walkAll(tell, s.target, s.of)
			walkFilters(tell, s.filters)
			walk(s.body, tell)
		case macro:
			walkAll(tell, s.defaults...)
			walk(s.body, tell)
		case callBlock:
			walkAll(tell, s.of)
			walkAll(tell, s.caller.defaults...)
			walk(s.caller.body, tell)
		case filterBlock:
			walk(s.body, tell)
			walkFilters(tell, s.filters)
		case with:
			walkAll(tell, s.targets...)
			walkAll(tell, s.values...)
			walk(s.body, tell)
		case scope:
			walk(s.body, tell)
		}
	}
}

func walkFilters(tell func(any), list []filter) {
	for _, f := range list {
		walkAll(tell, f)
	}
}

func walkAll(tell func(node any), list ...expr) {
	for _, e := range list {
		if e == nil {
			continue
		}
		tell(e)
		switch e := e.(type) {
		case attr:
			walkAll(tell, e.of)
		case item:
			walkAll(tell, e.of, e.key)
		case slice:
			walkAll(tell, e.start, e.stop, e.step)
		case call:
			walkAll(tell, e.of)
			walkArgs(tell, e.args)
		case filter:
			walkAll(tell, e.of)
			walkArgs(tell, e.args)
		case test:
			walkAll(tell, e.of)
			walkArgs(tell, e.args)
		case binary:
			walkAll(tell, e.left, e.right)
		case unary:
			walkAll(tell, e.of)
		case compare:
			walkAll(tell, e.first)
			walkAll(tell, e.rest...)
		case choice:
			walkAll(tell, e.cond, e.then, e.other)
		case listOf:
			walkAll(tell, e.items...)
		case dictOf:
			for i := range e.keys {
				walkAll(tell, e.keys[i], e.values[i])
			}
		}
	}
}

func walkArgs(tell func(any), a args) {
	walkAll(tell, a.list...)
	walkAll(tell, a.named...)
}
