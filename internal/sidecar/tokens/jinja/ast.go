package jinja

// expr is an expression, stmt what stands between {% and %} or outside of them.
type (
	expr interface{}
	stmt interface{}
)

type (
	constant struct{ value any }
	name     struct{ id string }
	listOf   struct {
		items []expr
		tuple bool
	}
	dictOf struct{ keys, values []expr }
	unary  struct {
		op string
		of expr
	}
	binary struct {
		op          string
		left, right expr
	}
	// compare is a chain such as a < b < c.
	compare struct {
		first expr
		ops   []string
		rest  []expr
	}
	// choice is "then if cond else other"; other may be nil.
	choice struct{ cond, then, other expr }
	attr   struct {
		of   expr
		name string
	}
	item struct {
		of  expr
		key expr
	}
	slice struct{ start, stop, step expr } // nil where left out
	call  struct {
		of   expr
		args args
	}
	filter struct {
		of   expr // nil in a filter block
		name string
		args args
	}
	test struct {
		of   expr
		name string
		args args
		not  bool
	}
)

// args are those of a call.
type args struct {
	list  []expr
	names []string
	named []expr
}

type (
	data   struct{ text string }
	output struct{ of expr }
	ifElse struct {
		conds []expr
		then  [][]stmt
		other []stmt
	}
	forLoop struct {
		id     int
		target expr
		over   expr
		cond   expr // nil for all
		body   []stmt
		other  []stmt
	}
	// set assigns of, or what body writes when of is nil.
	set struct {
		target  expr
		of      expr
		body    []stmt
		filters []filter
	}
	macro struct {
		name     string
		params   []string
		defaults []expr // of the last parameters
		body     []stmt
	}
	callBlock struct {
		of     call
		caller macro
	}
	filterBlock struct {
		filters []filter
		body    []stmt
	}
	with struct {
		targets, values []expr
		body            []stmt
	}
	// scope is a body with names of its own.
	scope struct{ body []stmt }
	jump  struct{ isBreak bool }
	// hide is put in front of a body for names that are undefined there until they are set.
	hide struct{ ids []string }
)
