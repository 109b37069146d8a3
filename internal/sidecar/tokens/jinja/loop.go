package jinja

// loopState is what the name loop stands for.
type loopState struct {
	items   []any
	index   int
	changed []any
}

// loop runs a body for each item. Each time it has names of its own.
func (r *renderer) loop(s forLoop) leave {
	over := r.eval(s.over)
	items := list(over)
	if s.cond != nil {
		var kept []any
		for _, item := range items {
			r.step()
			r.inScope(func() { // loop is that of the loop around here
				r.assign(s.target, item)
				if truth(r.eval(s.cond)) {
					kept = append(kept, item)
				}
			})
		}
		items = kept
	}
	state := &loopState{items: items}
	ended := false
	for i, item := range items {
		r.step()
		state.index = i
		var how leave
		r.inScope(func() {
			r.vars.vars["loop"] = state
			r.assign(s.target, item)
			how = r.run(s.body)
		})
		ended = ended || how == atEnd
		if how == byBreak {
			if o, ok := over.(*once); ok {
				o.left = true
			}
			break
		}
	}
	if !ended { // Jinja2 notes at the end of the body that there was an item
		var how leave
		r.inScope(func() { how = r.run(s.other) })
		return how
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
		return int64(1) // only those that are recursive go deeper
	case "depth0":
		return int64(0)
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
