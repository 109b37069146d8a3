package jinja

// tuple reads an expression, or several with commas between them. A condition behind them is read if conds is set.
func (p *parser) tuple(conds bool) expr {
	read := p.expression
	if !conds {
		read = p.or
	}
	first := read()
	if !p.now().is(",") {
		return first
	}
	list := []expr{first}
	for p.skip(",") {
		if t := p.now(); t.kind == kindEnd || t.is(")") || t.is("if") {
			break
		}
		list = append(list, read())
	}
	return listOf{list, true}
}

func (p *parser) expression() expr {
	defer p.nest()()
	e := p.or()
	for p.skip("if") {
		c := choice{then: e, cond: p.or()}
		if p.skip("else") {
			c.other = p.expression()
		}
		e = c
	}
	return e
}

func (p *parser) or() expr {
	e := p.and()
	for p.skip("or") {
		e = binary{"or", e, p.and()}
	}
	return e
}

func (p *parser) and() expr {
	e := p.not()
	for p.skip("and") {
		e = binary{"and", e, p.not()}
	}
	return e
}

func (p *parser) not() expr {
	if p.now().kind == kindName && p.skip("not") {
		defer p.nest()()
		return unary{"not", p.not()}
	}
	return p.compare()
}

func (p *parser) compare() expr {
	c := compare{first: p.sum()}
	for {
		op := p.now().text
		switch t := p.now(); {
		case t.kind == kindSign && (op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">="):
			p.next()
		case t.kind == kindName && op == "in":
			p.next()
		case t.kind == kindName && op == "not" && p.tokens[p.at+1].is("in"):
			p.next()
			p.next()
			op = "not in"
		default:
			if len(c.ops) == 0 {
				return c.first
			}
			return c
		}
		c.ops = append(c.ops, op)
		c.rest = append(c.rest, p.sum())
	}
}

// level reads a chain of operators of one rank, of which the leftmost are done first.
func (p *parser) level(lower func() expr, ops ...string) expr {
	e := lower()
next:
	for {
		for _, op := range ops {
			if p.now().kind == kindSign && p.skip(op) {
				e = binary{op, e, lower()}
				continue next
			}
		}
		return e
	}
}

func (p *parser) sum() expr     { return p.level(p.concat, "+", "-") }
func (p *parser) concat() expr  { return p.level(p.product, "~") }
func (p *parser) product() expr { return p.level(p.power, "*", "//", "/", "%") }
func (p *parser) power() expr   { return p.level(func() expr { return p.unary(true) }, "**") }

func (p *parser) unary(filters bool) expr {
	defer p.nest()()
	var e expr
	switch {
	case p.skip("-"):
		e = unary{"-", p.unary(false)}
	case p.skip("+"):
		e = unary{"+", p.unary(false)}
	default:
		e = p.primary()
	}
	e = p.postfix(e)
	if !filters {
		return e
	}
	for {
		switch t := p.now(); {
		case p.skip("|"):
			e = p.filter(e)
		case t.kind == kindName && p.skip("is"):
			e = p.test(e)
		case t.is("("):
			e = call{e, p.args()}
		default:
			return e
		}
	}
}

func (p *parser) primary() expr {
	switch t := p.next(); {
	case t.kind == kindName:
		switch t.text {
		case "true", "True":
			return constant{true}
		case "false", "False":
			return constant{false}
		case "none", "None":
			return constant{nil}
		}
		return name{t.text}
	case t.kind == kindString:
		text := t.text
		for p.now().kind == kindString {
			text += p.next().text
		}
		return constant{text}
	case t.kind == kindNumber:
		return constant{t.value}
	case t.is("("):
		if p.skip(")") {
			return listOf{nil, true}
		}
		e := p.tuple(true)
		p.expect(")")
		return e
	case t.is("["):
		return p.list()
	case t.is("{"):
		return p.dict()
	}
	p.at--
	p.fail("unexpected %q", p.now().text)
	return nil
}

func (p *parser) list() expr {
	var l listOf
	for !p.skip("]") {
		if len(l.items) > 0 {
			if p.expect(","); p.skip("]") {
				break
			}
		}
		l.items = append(l.items, p.expression())
	}
	return l
}

func (p *parser) dict() expr {
	var d dictOf
	for !p.skip("}") {
		if len(d.keys) > 0 {
			if p.expect(","); p.skip("}") {
				break
			}
		}
		d.keys = append(d.keys, p.expression())
		p.expect(":")
		d.values = append(d.values, p.expression())
	}
	return d
}

func (p *parser) postfix(e expr) expr {
	for {
		switch {
		case p.skip("."):
			if t := p.next(); t.kind == kindName {
				e = attr{e, t.text}
			} else if index, ok := t.value.(int64); ok {
				e = item{e, constant{index}}
			} else {
				p.at--
				p.fail("got %q, want a name", t.text)
			}
		case p.skip("["):
			e = item{e, p.subscript()}
			p.expect("]")
		case p.now().is("("):
			e = call{e, p.args()}
		default:
			return e
		}
	}
}

// subscript reads what stands in brackets: an expression or a slice.
func (p *parser) subscript() expr {
	var parts [3]expr
	n, colons := 0, 0
	for ; n < 3 && !p.now().is("]"); n++ {
		if !p.now().is(":") {
			parts[n] = p.expression()
		}
		if !p.skip(":") {
			break
		}
		colons++
	}
	if colons == 0 {
		if parts[0] == nil {
			p.fail("unexpected %q", p.now().text)
		}
		return parts[0]
	}
	return slice{parts[0], parts[1], parts[2]}
}

func (p *parser) args() (a args) {
	p.expect("(")
	for first := true; !p.skip(")"); first = false {
		if !first {
			if p.expect(","); p.skip(")") {
				break
			}
		}
		if p.now().kind == kindName && p.tokens[p.at+1].is("=") {
			a.names = append(a.names, p.next().text)
			p.next()
			a.named = append(a.named, p.expression())
			continue
		}
		if len(a.names) > 0 {
			p.fail("an argument without a name follows one that has it")
		}
		a.list = append(a.list, p.expression())
	}
	return a
}

func (p *parser) filter(of expr) filter {
	f := filter{of: of, name: p.expectName()}
	if _, known := filters[f.name]; !known {
		p.fail("the filter %q is not known here", f.name)
	}
	if p.now().is("(") {
		f.args = p.args()
	}
	return f
}

// test reads what stands behind "is". An argument needs no parentheses.
func (p *parser) test(of expr) expr {
	t := test{of: of, not: p.skip("not"), name: p.expectName()}
	if _, known := tests[t.name]; !known {
		p.fail("the test %q is not known here", t.name)
	}
	switch now := p.now(); {
	case now.is("("):
		t.args = p.args()
	case now.kind == kindString || now.kind == kindNumber || now.is("[") || now.is("{") ||
		now.kind == kindName && now.text != "else" && now.text != "or" && now.text != "and":
		if now.is("is") {
			p.fail("tests cannot be chained")
		}
		t.args.list = []expr{p.postfix(p.primary())}
	}
	return t
}
