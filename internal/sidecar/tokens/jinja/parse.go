package jinja

import (
	"fmt"
	"slices"
)

// parser makes statements of tokens. Its errors are mistakes, which end it.
type parser struct {
	tokens []token
	at     int
	loops  int // around the place
	ids    int
	depth  int
}

// mistake is what a parser panics with.
type mistake struct{ error }

// mostDepth bounds how deep expressions and statements nest.
const mostDepth = 200

func (p *parser) fail(format string, values ...any) {
	panic(mistake{fmt.Errorf("line %d: %s", p.now().line, fmt.Sprintf(format, values...))})
}

func (p *parser) now() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != kindEOF {
		p.at++
	}
	return t
}

// skip goes past a sign or name if it is there.
func (p *parser) skip(text string) bool {
	if p.now().is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.skip(text) {
		p.fail("got %q, want %q", p.now().text, text)
	}
}

func (p *parser) expectName() string {
	if p.now().kind != kindName {
		p.fail("got %q, want a name", p.now().text)
	}
	return p.next().text
}

func (p *parser) expectEnd() {
	if p.now().kind != kindEnd {
		p.fail("unexpected %q", p.now().text)
	}
	p.at++
}

// nest is called when something begins that others may nest in.
func (p *parser) nest() func() {
	if p.depth++; p.depth > mostDepth {
		p.fail("nests too deep")
	}
	return func() { p.depth-- }
}

// parse makes the statements of a template.
func parse(source string) (body []stmt, err error) {
	tokens, err := lex(source)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	defer func() {
		if m, ok := recover().(mistake); ok {
			err = m.error
		} else if p.at < len(p.tokens)-1 && err == nil {
			err = fmt.Errorf("line %d: cannot be read", p.now().line)
		}
	}()
	return p.body(), nil
}

// body reads statements up to a tag that begins with one of the ends, and goes past {% and that name.
func (p *parser) body(ends ...string) (list []stmt) {
	defer p.nest()()
	for {
		switch t := p.next(); t.kind {
		case kindData:
			list = append(list, data{t.text})
		case kindBegin:
			if t.text == "{{" {
				list = append(list, output{p.tuple(true)})
				p.expectEnd()
				continue
			}
			if p.now().kind == kindName && slices.Contains(ends, p.now().text) {
				return list
			}
			list = append(list, p.statement())
		case kindEOF:
			if len(ends) > 0 {
				p.fail("got the end of the template, want %s", ends[0])
			}
			return list
		default:
			p.fail("unexpected %q", t.text)
		}
	}
}

// bodyTo reads a body with its one end, past that tag.
func (p *parser) bodyTo(end string) []stmt {
	p.expectEnd()
	list := p.body(end)
	p.next()
	p.expectEnd()
	return list
}

// function reads a body that Jinja2 makes a function of: no loop around it can be left from inside.
func (p *parser) function(end string) []stmt {
	loops := p.loops
	p.loops = 0
	body := p.bodyTo(end)
	p.loops = loops
	return body
}

func (p *parser) statement() stmt {
	switch word := p.expectName(); word {
	case "if":
		return p.ifElse()
	case "for":
		return p.forLoop()
	case "set":
		return p.set()
	case "macro":
		return p.macro()
	case "call":
		return p.callBlock()
	case "filter":
		return p.filterBlock()
	case "with":
		return p.with()
	case "generation":
		return scope{p.function("endgeneration")}
	case "break", "continue":
		if p.loops == 0 {
			p.fail("%s is outside of a loop", word)
		}
		p.expectEnd()
		return jump{word == "break"}
	default:
		p.fail("the statement %q is not known here", word)
		return nil
	}
}

func (p *parser) ifElse() stmt {
	var s ifElse
	for {
		s.conds = append(s.conds, p.tuple(false))
		p.expectEnd()
		s.then = append(s.then, p.body("elif", "else", "endif"))
		switch p.next().text {
		case "elif":
			continue
		case "else":
			s.other = p.bodyTo("endif")
		default:
			p.expectEnd()
		}
		return s
	}
}

func (p *parser) forLoop() stmt {
	p.ids++
	s := forLoop{id: p.ids}
	s.target = p.target("in")
	p.expect("in")
	s.over = p.tuple(false)
	if p.skip("if") {
		s.cond = p.expression()
	}
	p.expectEnd()
	p.loops++
	s.body = p.body("endfor", "else")
	p.loops--
	if p.next().text == "else" {
		s.other = p.bodyTo("endfor")
	} else {
		p.expectEnd()
	}
	return s
}

// target reads what is assigned to: a name, several, or a field of a namespace.
func (p *parser) target(end string) expr {
	var names []expr
	tuple := false
	for {
		if p.skip("(") {
			names = append(names, p.target(")"))
			p.expect(")")
		} else {
			id := p.expectName()
			if slices.Contains([]string{"true", "false", "none", "True", "False", "None"}, id) {
				p.fail("cannot assign to %s", id)
			}
			if p.skip(".") {
				names = append(names, attr{name{id}, p.expectName()})
			} else {
				names = append(names, name{id})
			}
		}
		if !p.skip(",") {
			break
		}
		if tuple = true; p.now().is(end) {
			break
		}
	}
	if !tuple {
		return names[0]
	}
	return listOf{names, true}
}

func (p *parser) set() stmt {
	s := set{target: p.target("=")}
	if p.skip("=") {
		s.of = p.tuple(true)
		p.expectEnd()
		return s
	}
	for p.skip("|") {
		s.filters = append(s.filters, p.filter(nil))
	}
	s.body = p.bodyTo("endset")
	return s
}

// signature reads the parameters of a macro.
func (p *parser) signature(m *macro) {
	p.expect("(")
	for !p.skip(")") {
		if len(m.params) > 0 {
			p.expect(",")
			if p.skip(")") {
				return
			}
		}
		m.params = append(m.params, p.expectName())
		if p.skip("=") {
			m.defaults = append(m.defaults, p.expression())
		} else if len(m.defaults) > 0 {
			p.fail("a parameter without a default follows one that has it")
		}
	}
}

func (p *parser) macro() stmt {
	m := macro{name: p.expectName()}
	p.signature(&m)
	m.body = p.function("endmacro")
	return m
}

func (p *parser) callBlock() stmt {
	s := callBlock{caller: macro{name: "caller"}}
	if p.now().is("(") {
		p.signature(&s.caller)
	}
	of, ok := p.expression().(call)
	if !ok {
		p.fail("call is of no macro")
	}
	s.of = of
	s.caller.body = p.function("endcall")
	return s
}

func (p *parser) filterBlock() stmt {
	s := filterBlock{filters: []filter{p.filter(nil)}}
	for p.skip("|") {
		s.filters = append(s.filters, p.filter(nil))
	}
	s.body = p.bodyTo("endfilter")
	return s
}

func (p *parser) with() stmt {
	var s with
	for p.now().kind != kindEnd {
		if len(s.targets) > 0 {
			p.expect(",")
		}
		s.targets = append(s.targets, p.target("="))
		p.expect("=")
		s.values = append(s.values, p.expression())
	}
	s.body = p.bodyTo("endwith")
	return s
}
