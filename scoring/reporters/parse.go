package reporters

import (
	"slices"
	"strconv"
	"strings"
)

// parser reads an expression from left to right.
type parser struct {
	rest    string
	depth   int
	mistake string
}

// mostDepth bounds how deep expressions nest.
const mostDepth = 50

// parse reads an expression; mistake says what is wrong with it.
func parse(text string) (n *node, mistake string) {
	p := &parser{rest: text}
	n = p.choice()
	if p.skip(); p.rest != "" {
		p.wrong("has " + strconv.Quote(p.rest) + " behind its end")
	}
	return n, p.mistake
}

func (p *parser) wrong(text string) *node {
	if p.mistake == "" {
		p.mistake = text
	}
	p.rest = ""
	return &node{op: opConstant}
}

func (p *parser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// take takes the first of the signs that comes next, empty for none.
func (p *parser) take(signs ...string) string {
	p.skip()
	for _, sign := range signs {
		if rest, found := strings.CutPrefix(p.rest, sign); found {
			p.rest = rest
			return sign
		}
	}
	return ""
}

func (p *parser) choice() *node {
	if p.depth++; p.depth > mostDepth {
		return p.wrong("is nested too deep")
	}
	defer func() { p.depth-- }()
	is := p.binary(0)
	if p.take("?") == "" {
		return is
	}
	yes := p.choice()
	if p.take(":") == "" {
		return p.wrong("lacks the colon of ?:")
	}
	return &node{op: "?", a: is, b: yes, c: p.choice()}
}

// operators are by rank, those that bind least first. Longer ones stand before those that they begin with.
var operators = [][]string{{"||"}, {"&&"}, {"==", "!=", "<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}}

func (p *parser) binary(rank int) *node {
	if rank == len(operators) {
		return p.unary()
	}
	n := p.binary(rank + 1)
	for {
		op := p.take(operators[rank]...)
		if op == "" {
			return n
		}
		n = &node{op: op, a: n, b: p.binary(rank + 1)}
	}
}

func (p *parser) unary() *node {
	if p.depth++; p.depth > mostDepth {
		return p.wrong("is nested too deep")
	}
	defer func() { p.depth-- }()
	switch p.take("!", "-", "(") {
	case "!":
		return &node{op: "!", a: p.unary()}
	case "-":
		return &node{op: opNegative, a: p.unary()}
	case "(":
		return p.closed(p.choice())
	}
	if p.rest != "" && p.rest[0] >= '0' && p.rest[0] <= '9' {
		return p.number()
	}
	return p.named()
}

func (p *parser) closed(n *node) *node {
	if p.take(")") == "" {
		return p.wrong("lacks a closing parenthesis")
	}
	return n
}

func (p *parser) number() *node {
	end := 0
	for end < len(p.rest) && (p.rest[end] >= '0' && p.rest[end] <= '9' || p.rest[end] == '.') {
		end++
	}
	number, err := strconv.ParseFloat(p.rest[:end], 64)
	if err != nil {
		return p.wrong("has " + strconv.Quote(p.rest[:end]) + ", which is no number")
	}
	p.rest = p.rest[end:]
	return &node{op: opConstant, value: value{number: number}}
}

// named reads what begins with a letter.
func (p *parser) named() *node {
	switch name := p.word(); name {
	case "true", "false":
		return &node{op: opConstant, value: truth(name == "true")}
	case "usage":
		return &node{op: opField, field: p.field()}
	case "has":
		if p.take("(") == "" || p.word() != "usage" {
			return p.wrong("has has() of something else than a field of usage")
		}
		return p.closed(&node{op: opHas, field: p.field()})
	case "int", "double":
		if p.take("(") == "" {
			return p.wrong("lacks a parenthesis behind " + name)
		}
		return p.closed(&node{op: name, a: p.choice()})
	case "":
		if p.rest == "" {
			return p.wrong("ends too early")
		}
		return p.wrong("has " + strconv.Quote(p.rest[:1]) + " where a number or a name is right")
	default:
		return p.wrong("has " + strconv.Quote(name) + "; known are usage, has, int, double, true and false")
	}
}

func (p *parser) word() string {
	p.skip()
	end := 0
	for end < len(p.rest) && isLetter(p.rest[end]) {
		end++
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= '0' && c <= '9' }

// field reads what stands behind usage.
func (p *parser) field() field {
	path := ""
	for p.take(".") != "" {
		if path != "" {
			path += "."
		}
		path += p.word()
	}
	f, known := fields[path]
	if !known {
		names := make([]string, 0, len(fields))
		for name := range fields {
			names = append(names, name)
		}
		slices.Sort(names)
		p.wrong("has usage." + path + "; known are " + strings.Join(names, ", "))
	}
	return f
}
