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
	all := list(over)
	items, places := all, []int(nil)
	if s.cond != nil {
		items = nil
		for i, item := range all {
			if r.chosen(s, item) {
				items, places = append(items, item), append(places, i)
			}
		}
	}
	state := &loopState{items: items}
	ended, sets := false, r.sets
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
		if s.cond != nil && r.sets != sets {
			r.stay(s, all, places, i)
		}
	}
	if !ended { // Jinja2 notes at the end of the body that there was an item
		var how leave
		r.inScope(func() { how = r.run(s.other) })
		return how
	}
	return atEnd
}

// chosen reports whether the condition of a loop lets an item through.
func (r *renderer) chosen(s forLoop, item any) (is bool) {
	r.step()
	r.inScope(func() { // loop is that of the loop around here
		r.assign(s.target, item)
		is = truth(r.eval(s.cond))
	})
	return is
}

// stay fails when the body of a loop has changed which item comes behind that of places[i]: Jinja2 asks the condition
// of each when its turn comes.
func (r *renderer) stay(s forLoop, all []any, places []int, i int) {
	next := len(all)
	if i+1 < len(places) {
		next = places[i+1]
	}
	for at := places[i] + 1; at <= next && at < len(all); at++ {
		if r.chosen(s, all[at]) != (at == next) {
			fail("a loop that changes which items it goes over is not known here")
		}
	}
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
