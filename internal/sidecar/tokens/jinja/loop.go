package jinja

// loopState is what the name loop stands for.
type loopState struct {
	items   []any
	index   int
	depth   int
	changed []any
}

// loop runs a body for each item. Each time it has names of its own.
func (r *renderer) loop(s forLoop) leave {
	items := list(r.eval(s.over))
	if s.cond != nil {
		var kept []any
		for _, item := range items {
			r.step()
			r.inScope(func() {
				r.assign(s.target, item)
				r.vars.vars["loop"] = undefined{}
				if truth(r.eval(s.cond)) {
					kept = append(kept, item)
				}
			})
		}
		items = kept
	}
	if len(items) == 0 {
		var how leave
		r.inScope(func() { how = r.run(s.other) })
		return how
	}
	state := &loopState{items: items, depth: 1}
	if outer, ok := r.vars.get("loop"); ok {
		if l, ok := outer.(*loopState); ok {
			state.depth = l.depth + 1
		}
	}
	for i, item := range items {
		r.step()
		state.index = i
		var how leave
		r.inScope(func() {
			r.vars.vars["loop"] = state
			r.assign(s.target, item)
			how = r.run(s.body)
		})
		if how == byBreak {
			break
		}
	}
	return atEnd
}

// attr returns what a loop knows of itself.
func (l *loopState) attr(id string) any {
	n := len(l.items)
	switch id {
	case "index":
		return int64(l.index + 1)
	case "index0":
		return int64(l.index)
	case "revindex":
		return int64(n - l.index)
	case "revindex0":
		return int64(n - l.index - 1)
	case "first":
		return l.index == 0
	case "last":
		return l.index == n-1
	case "length":
		return int64(n)
	case "depth":
		return int64(l.depth)
	case "depth0":
		return int64(l.depth - 1)
	case "previtem":
		if l.index == 0 {
			return undefined{}
		}
		return l.items[l.index-1]
	case "nextitem":
		if l.index == n-1 {
			return undefined{}
		}
		return l.items[l.index+1]
	case "cycle":
		return function(func(_ *renderer, a callArgs) any {
			if len(a.list) == 0 || len(a.named) > 0 {
				fail("cycle needs values")
			}
			return a.list[l.index%len(a.list)]
		})
	case "changed":
		return function(func(_ *renderer, a callArgs) any {
			same := l.changed != nil && equal(l.changed, a.list)
			l.changed = append([]any{}, a.list...)
			return !same
		})
	}
	fail("loop.%s is not known here", id)
	return nil
}
