package reporters

import (
	"math"

	"github.com/pintle-dev/pintle/openai"
)

// value is a number or, as 0 and 1, a truth value.
type value struct {
	number float64
	isBool bool
}

func truth(is bool) value {
	if is {
		return value{1, true}
	}
	return value{0, true}
}

// variables are what expressions are about.
type variables struct {
	usage          *openai.Usage
	cachedReported bool
}

// field is one number of usage.
type field uint8

const (
	fieldPrompt field = iota
	fieldCompletion
	fieldTotal
	fieldCached
)

// fields are by what stands behind usage.
var fields = map[string]field{
	"prompt_tokens": fieldPrompt, "completion_tokens": fieldCompletion, "total_tokens": fieldTotal,
	"prompt_tokens_details.cached_tokens": fieldCached, "prompt_token_details.cached_tokens": fieldCached,
}

func (v *variables) number(f field) (number float64, known bool) {
	switch f {
	case fieldPrompt:
		return float64(v.usage.PromptTokens), true
	case fieldCompletion:
		return float64(v.usage.CompletionTokens), true
	case fieldTotal:
		return float64(v.usage.TotalTokens), true
	}
	return float64(v.usage.CachedTokens), v.cachedReported
}

// The operators beside those that are written as they are.
const (
	opConstant = "constant"
	opField    = "field"
	opHas      = "has"
	opInt      = "int"
	opDouble   = "double"
	opNegative = "negative"
)

// node is one operation of an expression.
type node struct {
	op      string
	value   value
	field   field
	a, b, c *node
}

// eval computes an expression; ok is false where what it needs is missing, or of the wrong kind.
func (n *node) eval(v *variables) (result value, ok bool) {
	switch n.op {
	case opConstant:
		return n.value, true
	case opField:
		number, known := v.number(n.field)
		return value{number: number}, known
	case opHas:
		_, known := v.number(n.field)
		return truth(known), true
	case "?":
		return n.choose(v)
	case "&&", "||":
		return n.logic(v)
	case "!", opNegative, opInt, opDouble:
		return n.unary(v)
	}
	a, ok := n.a.eval(v)
	if !ok {
		return value{}, false
	}
	b, ok := n.b.eval(v)
	if !ok || a.isBool != b.isBool {
		return value{}, false
	}
	return binary(n.op, a, b)
}

func (n *node) choose(v *variables) (value, bool) {
	is, ok := n.a.eval(v)
	switch {
	case !ok || !is.isBool:
		return value{}, false
	case is.number != 0:
		return n.b.eval(v)
	}
	return n.c.eval(v)
}

// logic is settled by either side, be the other one missing.
func (n *node) logic(v *variables) (value, bool) {
	a, knownA := n.a.eval(v)
	b, knownB := n.b.eval(v)
	settles := float64(0)
	if n.op == "||" {
		settles = 1
	}
	knownA, knownB = knownA && a.isBool, knownB && b.isBool
	switch {
	case knownA && a.number == settles:
		return a, true
	case knownB && b.number == settles:
		return b, true
	}
	return b, knownA && knownB
}

func (n *node) unary(v *variables) (value, bool) {
	a, ok := n.a.eval(v)
	if !ok || a.isBool != (n.op == "!") {
		return value{}, false
	}
	switch n.op {
	case "!":
		return truth(a.number == 0), true
	case opNegative:
		return value{number: -a.number}, true
	case opInt:
		return value{number: math.Trunc(a.number)}, true
	}
	return a, true
}

func binary(op string, a, b value) (value, bool) {
	switch op {
	case "==":
		return truth(a.number == b.number), true
	case "!=":
		return truth(a.number != b.number), true
	}
	if a.isBool {
		return value{}, false
	}
	x, y := a.number, b.number
	switch op {
	case "<":
		return truth(x < y), true
	case "<=":
		return truth(x <= y), true
	case ">":
		return truth(x > y), true
	case ">=":
		return truth(x >= y), true
	case "+":
		return value{number: x + y}, true
	case "-":
		return value{number: x - y}, true
	case "*":
		return value{number: x * y}, true
	case "/":
		return value{number: x / y}, y != 0
	}
	return value{number: math.Mod(x, y)}, y != 0
}
